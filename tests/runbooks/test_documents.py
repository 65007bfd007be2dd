"""The runbook files: Systems Manager accepts them, their claims last long enough, and each change follows a check.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-authoring-runbooks.html
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from config_rule_sandbox.ssm import script_host
from config_rule_sandbox.ssm.reading import read
from express_path.adapters.heal_requests import CONTRACT
from express_path.domain.heal.approvals import ANSWER_SECONDS, REQUEST_SECONDS
from express_path.domain.heal.claims import CLAIM_SECONDS
from express_path.handlers.plan_heal import parse_request
from org.expansion import runbook
from tests.support.heals import APPROVED, HEAL, UNDO, all_steps, called

Step = dict[str, Any]

REFERENCE = re.compile(r"\{\{\s*([\w.:-]+)\s*\}\}")
API_SECONDS = 25
"""https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAwsApi.html"""
FIRST_CLAIMED = {HEAL: "confirmPlan", UNDO: "checkClaim"}
RELEASE = {HEAL: "recordFailed", UNDO: "markFailed"}
"""The step that releases the claim after a failure. The steps `explain` and `fail` come after it."""
CHANGES = {HEAL: {"associate": "step:verifyPath"}, UNDO: {"disassociate": "step:findRest"}}
"""The changes that are looked for even if the call failed, and the step that looks."""
SAMPLE = {
    "subnetId": "subnet-1",
    "routeTableId": "rtb-1",
    "seenRun": "run-0",
    "seenState": "HEALED",
    "runId": "run-1",
    "undoRunId": "run-1",
    "startedAt": "2026-11-21T12:00:00.000+00:00",
    "startedBy": "CONFIG",
    "vpcId": "vpc-1",
    "dryRun": "true",
}

LOOP = ("seeTurn", "claim", "pause")
"""The steps inside of the loop of a runbook."""

each_runbook = pytest.mark.parametrize("name", [HEAL, APPROVED, UNDO])
with_claim = pytest.mark.parametrize("name", [HEAL, UNDO])


def calls(name: str, *actions: str) -> list[Step]:
    """Return the steps of a runbook that use the given actions."""
    return [step for step in all_steps(name).values() if step["action"] in actions]


def claimed(name: str) -> list[Step]:
    """Return the steps of a runbook from its claim to the release of the claim, without branches."""
    steps: list[Step] = runbook(name)["mainSteps"]
    names = [step["name"] for step in steps]
    during = steps[names.index(FIRST_CLAIMED[name]) : names.index(RELEASE[name])]
    return [step for step in during if step["action"] != "aws:branch"]


def strings(node: object) -> Iterator[str]:
    """Yield every string in part of a runbook."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from strings(child)


@each_runbook
def test_systems_manager_accepts_the_document(name: str) -> None:
    """The sandbox checks elements, actions, inputs, selectors, references, and the order of steps as AWS documents them.

    A document is far below the limit of 64 KB, because the parameters of an execution count toward it too.
    """
    text = json.dumps(runbook(name))
    read(text, "YAML")
    assert len(text) < 40 * 1024


@each_runbook
def test_parameters_are_constrained_and_used(name: str) -> None:
    """Each parameter limits its values, a pattern is about the whole value, and a step or the role uses it."""
    document = runbook(name)
    assert document["assumeRole"] == "{{ AutomationAssumeRole }}"
    used = set(REFERENCE.findall("\n".join(strings([document["assumeRole"], document["mainSteps"]]))))
    assert used >= document["parameters"].keys()
    for parameter, definition in document["parameters"].items():
        assert {"allowedPattern", "allowedValues"} & definition.keys(), parameter
        pattern = definition.get("allowedPattern", "^$")
        assert (pattern[0], pattern[-1]) == ("^", "$"), parameter


@each_runbook
def test_all_double_braces_are_references(name: str) -> None:
    """A misspelled reference would be passed on as text."""
    for text in strings(runbook(name)["mainSteps"]):
        assert not re.search(r"\{\{|\}\}", REFERENCE.sub("", text)), text


@each_runbook
def test_plan_function_accepts_the_payloads(name: str) -> None:
    """The function's own parser accepts each payload, which has the version of the contract."""
    steps = calls(name, "aws:invokeLambdaFunction")
    assert steps
    for step in steps:
        payload = step["inputs"]["InputPayload"]
        event = {key: SAMPLE.get(key, "") if REFERENCE.search(value) else value for key, value in payload.items()}
        assert (parse_request(event).action, payload["contract"]) == (payload["action"], CONTRACT), step["name"]


@each_runbook
def test_one_script_reads_every_answer(name: str) -> None:
    """AWS documents only the output Payload, not whether it is text or an object, so a script accepts both."""
    inputs = [step["inputs"] for step in all_steps(name).values()]
    handlers = [found["Handler"] for found in inputs if found.get("Handler", "").startswith("record")]
    [script] = {found["Script"] for found in inputs if found.get("Handler") in handlers}
    answer = {"next": "DONE", "ledger": []}
    for given in (answer, json.dumps(answer), json.dumps(json.dumps(answer))):
        for handler in handlers:
            found = script_host.run(script, handler, {"answer": given}, lambda service: ["no client", service])
            assert json.loads(found) == {"next": "DONE"}


@each_runbook
def test_waits_are_bounded(name: str) -> None:
    """Every step that waits has its own timeout."""
    waiting = calls(name, "aws:approve", "aws:executeAutomation", "aws:invokeLambdaFunction")
    assert [step["name"] for step in waiting if "timeoutSeconds" not in step] == []


@with_claim
def test_claim_lasts_longer_than_all_steps_after_it(name: str) -> None:
    """A claim does not expire during a run, even if each attempt of each step takes as long as it can."""
    steps = [*claimed(name), all_steps(name)[RELEASE[name]]]
    assert len(steps) > 10
    seconds = [step.get("timeoutSeconds", API_SECONDS) * step.get("maxAttempts", 1) for step in steps]
    assert sum(seconds) < CLAIM_SECONDS


def test_request_lasts_longer_than_all_steps_until_the_answer_is_recorded() -> None:
    """A request for approval does not expire while an approver can still answer it."""
    seconds = {step["name"]: step.get("timeoutSeconds", 0) for step in runbook(APPROVED)["mainSteps"]}
    assert seconds["approve"] == ANSWER_SECONDS
    before_the_heal = sum(duration for name, duration in seconds.items() if name != "heal")
    assert ANSWER_SECONDS < before_the_heal < REQUEST_SECONDS


@with_claim
def test_failures_after_a_claim_release_it(name: str) -> None:
    """A failed step releases the claim. A change that failed is looked for first, because its answer may be lost."""
    leading = {step["name"]: step["onFailure"] for step in claimed(name)}
    assert leading == dict.fromkeys(leading, f"step:{RELEASE[name]}") | CHANGES[name]


@with_claim
def test_message_of_a_failed_run_is_that_of_its_last_step(name: str) -> None:
    """The last step of a failed run says what the step before it found out, so the steps that lead to these are not critical.

    AWS does not document which step's message becomes that of the run if a failed step leads to another step. Nor does it
    document whether a step of a loop can lead to a step outside, so loops are critical: if the run ends there, it has failed.
    """
    steps = {key: step for key, step in all_steps(name).items() if key not in (*LOOP, "takeTurn")}
    assert [key for key, step in all_steps(name).items() if key not in steps and "isCritical" in step] == []
    names = list(steps)
    assert names[names.index(RELEASE[name]) + 1 :][:2] == ["explain", "fail"]
    leading = [step for step in steps.values() if step.get("onFailure") in (f"step:{RELEASE[name]}", "step:explain")]
    assert len(leading) > 10
    assert [step["name"] for step in [steps[RELEASE[name]], *leading] if step.get("isCritical") is not False] == []


@with_claim
def test_each_ec2_change_follows_a_check_of_the_claim(name: str) -> None:
    """Before each change, the plan function confirms that this run holds the claim and that the change is needed."""
    is_checked, changed = False, []
    for step in claimed(name):
        if any(call.startswith("ec2:") for call in called(step)):
            assert is_checked, step["name"]
            is_checked = False
            changed.append(step["name"])
        is_checked = is_checked or step["action"] == "aws:invokeLambdaFunction"
    assert changed == {HEAL: ["create", "associate"], UNDO: ["disassociate", "deleteEndpoint"]}[name]


@each_runbook
def test_every_write_of_a_step_to_the_ledger_has_a_condition(name: str) -> None:
    """A step writes only over its own run's claim or request, or adds to the VPC's item if the run was elected."""
    writes = [step["inputs"] for step in calls(name, "aws:executeAwsApi") if step["inputs"]["Service"] == "dynamodb"]
    assert writes
    for write in writes:
        assert (write["Api"], bool(write["ConditionExpression"])) == ("UpdateItem", True)
