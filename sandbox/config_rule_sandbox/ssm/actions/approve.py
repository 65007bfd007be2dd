"""aws:approve: wait until enough of the named principals have approved, or one has rejected.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html
"""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from config_rule_sandbox.answers import RejectedStatus
from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import ApprovalRejectedError, FaultyDocumentError, StepFailedError
from config_rule_sandbox.ssm.references import only_reference
from config_rule_sandbox.ssm.shapes import Types

DEFAULT_SECONDS = 604_800
LOOK_EVERY = 1.0
MAXIMUM_APPROVERS = 10
MAXIMUM_MESSAGE = 4096
TOPIC_PREFIX = "Automation"
OPTIONAL = {"NotificationArn": "String", "Message": "String", "MinRequiredApprovals": "Integer"}
PREDEFINED = {"ApprovalStatus": "String", "ApproverDecisions": "MapList"}


def _check(step: Step, types: Types) -> None:
    """Check who may approve, how many must, and the topic that notifies them."""
    check_keys(step, ("Approvers",), tuple(OPTIONAL))
    for key, expected in {**OPTIONAL, "Approvers": "StringList"}.items():
        reference = only_reference(step.inputs.get(key))
        if reference is not None and types.type_of(place(step), reference) != expected:
            raise FaultyDocumentError(f"{place(step)}.{key}", f"{step.inputs[key]} is not a {expected}")
    try:
        _check_values({key: value for key, value in step.inputs.items() if only_reference(value) is None})
    except ValueError as error:
        raise FaultyDocumentError(place(step), str(error)) from error


def _check_values(inputs: Mapping[str, Any]) -> None:
    """Raise ValueError for a value that the action does not take."""
    approvers = inputs.get("Approvers", ["someone"])
    if not isinstance(approvers, list) or not 1 <= len(approvers) <= MAXIMUM_APPROVERS:
        raise ValueError(f"Approvers: between 1 and {MAXIMUM_APPROVERS} are needed, not {approvers!r}")
    minimum = inputs.get("MinRequiredApprovals", 1)
    highest = len(approvers) if "Approvers" in inputs else MAXIMUM_APPROVERS
    if not isinstance(minimum, int) or not 1 <= minimum <= highest:
        raise ValueError(f"MinRequiredApprovals: {minimum!r} is not between 1 and the number of Approvers")
    topic = inputs.get("NotificationArn", f":{TOPIC_PREFIX}")
    if not str(topic).rpartition(":")[2].startswith((TOPIC_PREFIX, "{{")):
        raise ValueError(f"NotificationArn: the name of the topic {topic!r} does not begin with {TOPIC_PREFIX}")
    if len(str(inputs.get("Message", ""))) > MAXIMUM_MESSAGE:
        raise ValueError(f"Message: it is longer than {MAXIMUM_MESSAGE} characters")


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    try:
        _check_values(inputs)
    except ValueError as error:
        raise StepFailedError(str(error)) from error
    running.waiting()
    _notify(inputs, running)
    waited = 0.0
    while True:
        decisions = [(who, what) for who, what in running.signals.decisions() if may_decide(who, inputs["Approvers"])]
        if "Reject" in {what for _, what in decisions}:
            raise ApprovalRejectedError(_outputs_of_rejection(running.answers.rejected_status, decisions))
        if len({who for who, _ in decisions}) >= inputs.get("MinRequiredApprovals", 1):
            return Outcome({"ApprovalStatus": "Approved", "ApproverDecisions": _shown(decisions)})
        pause = max(LOOK_EVERY, waited / 100)  # the step may last days
        running.pause(pause)
        waited += pause


def may_decide(principal: str, approvers: list[str]) -> bool:
    """Return True if a principal's ARN is among the approvers: by user name, user, role or assumed role."""
    account, _, resource = principal.partition("::")[2].partition(":")
    kind, _, path = resource.partition("/")
    names = {principal}
    if kind == "user":
        names.add(path.rpartition("/")[2])
    elif kind == "assumed-role":
        names.add(f"arn:{principal.split(':')[1]}:iam::{account}:role/{path.partition('/')[0]}")
    return bool(names & set(approvers))


def _notify(inputs: Mapping[str, Any], running: Running) -> None:
    if "NotificationArn" not in inputs:
        return
    message = {"step": running.step.name, "approvers": inputs["Approvers"], "message": inputs.get("Message", "")}
    try:
        running.client("sns").publish(TopicArn=inputs["NotificationArn"], Message=json.dumps(message))
    except (BotoCoreError, ClientError) as error:
        raise StepFailedError.of(error) from error


def _outputs_of_rejection(status: RejectedStatus, decisions: list[tuple[str, str]]) -> dict[str, Any]:
    if status is RejectedStatus.ABSENT:
        return {}
    return {"ApprovalStatus": status.capitalize(), "ApproverDecisions": _shown(decisions)}


def _shown(decisions: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"Approver": who, "Decision": what} for who, what in decisions]


APPROVE = Action(_check, _run, predefined_outputs=PREDEFINED, seconds=DEFAULT_SECONDS, waits=True)
