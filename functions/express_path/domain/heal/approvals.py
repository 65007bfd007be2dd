"""Approval of a heal: whether to ask for it, the message, what it approves, and how long it is valid."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from express_path.domain.heal.ledger_records import (
    Approval,
    ApprovalState,
    StartedBy,
    TableRecord,
)
from express_path.domain.heal.ownership import policy_hash
from express_path.domain.heal.records import FULL_ACCESS, Blocker, Concern, HealSettings, Plan, PlanAction

ANSWER_SECONDS = 86_400
"""How long the approvers have to answer, in seconds: the timeout of the runbook's approval step."""
REQUEST_SECONDS = ANSWER_SECONDS + 3_600
"""How long a request is valid, in seconds: until the approvers' answer is recorded."""
APPROVED_SECONDS = 3_600
"""How long an approval is valid, in seconds. It is valid for one heal."""

_OPEN = frozenset({ApprovalState.REQUESTED, ApprovalState.APPROVED})


def plan_fingerprint(table_id: str, subnet_ids: Iterable[str], endpoint_id: str, policy: str) -> str:
    """Return a hash of what approvers approve: a route table, its subnets, the endpoint, and the endpoint's policy.

    endpoint_id is empty if a heal creates the endpoint, or has created it: these are not told apart, because approved
    heals of several route tables share the endpoint that the first one creates.
    """
    approved = [table_id, sorted(subnet_ids), endpoint_id, policy_hash(policy)]
    return hashlib.sha256(json.dumps(approved).encode()).hexdigest()


def why_not_approved(record: TableRecord, fingerprint: str, now: datetime) -> str:
    """Return why the last request to approve a heal does not approve this plan; empty if it does, and was not used."""
    approval = record.approval
    if approval is None:
        return f"no heal of {record.route_table_id} has been approved"
    if approval.state is not ApprovalState.APPROVED:
        return f"the last request, run {approval.run_id}, is {approval.state}"
    if not approval.is_current(now):
        return f"the approval of run {approval.run_id} has expired"
    if approval.fingerprint != fingerprint:
        return (
            f"the plan has changed since the approval of run {approval.run_id}: another endpoint, another policy, or other "
            f"subnets in {record.route_table_id}"
        )
    return ""


@dataclass(frozen=True, slots=True)
class ApprovalRun:
    """What Systems Manager shows of the run that, as the ledger says, asked for an approval.

    document and version are what it ran, default_version is the document's version that starts now, and plan_function is the
    name or ARN of the function that made its plan. status, message, and approvers are those of its approval step, which ended
    at decided_at. used_by is another heal of the route table since then, empty if there is none.
    """

    document: str
    version: str
    default_version: str
    plan_function: str
    status: str = ""
    message: str = ""
    approvers: frozenset[str] = frozenset()
    decided_at: datetime | None = None
    used_by: str = ""


def why_not_confirmed(run: ApprovalRun | None, fingerprint: str, now: datetime, settings: HealSettings) -> str:
    """Return why Systems Manager does not confirm that this plan was approved; empty if it does.

    What the ledger says is not enough: it may have been made again, with an approval that nobody gave.
    """
    if run is None:
        return "Systems Manager lists no run that asked for the approval in the ledger"
    expected = (settings.approval_document, run.default_version)
    if (run.document, run.version) != expected or not _is_function(run.plan_function, settings.plan_function):
        return (
            f"the approval in the ledger is from a run of {run.document}, version {run.version}, with {run.plan_function}, "
            f"and must be from {settings.approval_document}, version {run.default_version}, with {settings.plan_function}"
        )
    if run.status != "Approved" or run.approvers != frozenset(settings.approvers):
        return f"no approver of the stack approved in the run that the ledger names (status: {run.status or 'none'})"
    # The whole line, because the message also quotes what others wrote.
    if _plan_line(fingerprint) not in run.message.split("\n"):
        return "the run that the ledger names asked the approvers about another plan"
    if run.decided_at is None or not 0 <= (now - run.decided_at).total_seconds() < APPROVED_SECONDS:
        return "the approval of the run that the ledger names has expired"
    if run.used_by:
        return f"run {run.used_by} has used the approval of the run that the ledger names"
    return ""


def _is_function(named: str, function: str) -> bool:
    """Return whether a name or an ARN is that of a function, which is given as Region:account:function:name.

    A version or an alias of the function is another function, and so is one of the same name in another account.
    """
    return named == function.rpartition(":")[2] or (
        named.startswith("arn:") and named.partition(":lambda:")[2] == function
    )


def _plan_line(fingerprint: str) -> str:
    """Return the line of the message that says what is approved."""
    return f"Plan: {fingerprint}"


class ApprovalStep(StrEnum):
    """What a run that may ask for approval does next."""

    ASK = "ASK"
    ASK_AGAIN = "ASK_AGAIN"
    """Plan again: another run recorded a request first."""
    PENDING = "PENDING"
    """Nothing: another run has asked about this route table and is still running."""
    DENIED = "DENIED"
    """Fail: an approver rejected the last request, whose run may not have recorded that."""
    DONE = "DONE"
    """Nothing: the subnet needs no heal, or this is a dry run."""
    STOPPED = "STOPPED"
    """Nothing, because somebody stopped all heals."""


def open_request_run_id(approval: Approval | None, run_id: str, now: datetime) -> str:
    """Return the other run whose request or approval is valid; empty if there is none.

    A request also ends with its run; Systems Manager shows whether that has ended.
    """
    if approval is None or approval.state not in _OPEN or approval.run_id == run_id or not approval.is_current(now):
        return ""
    return approval.run_id


def denial(record: TableRecord, started_by: StartedBy) -> Concern | None:
    """Return why AWS Config must not ask about a route table again: an approver rejected the last request."""
    approval = record.approval
    if started_by is not StartedBy.CONFIG or approval is None or approval.state is not ApprovalState.DENIED:
        return None
    return Concern(
        Blocker.APPROVAL_DENIED,
        record.route_table_id,
        f"the heal of {record.route_table_id} that run {approval.run_id} requested was rejected",
        "to ask again, start the approval runbook yourself (StartedBy=PERSON)",
    )


def next_step(plan: Plan, *, dry_run: bool, is_pending: bool) -> ApprovalStep:
    """Return what a run does after its plan, which is not blocked unless this is a dry run."""
    if dry_run or plan.action is PlanAction.NOTHING_TO_DO:
        return ApprovalStep.DONE
    return ApprovalStep.PENDING if is_pending else ApprovalStep.ASK


MAX_MESSAGE_LENGTH = 4096
"""The longest message of aws:approve, in characters
(https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html)."""
LISTED_SUBNETS = 20
"""How many subnets the message names."""
LONGEST_LINE = 600
"""The longest line about one concern, in characters; a dry run shows the complete text."""
_LINK = re.compile(r":(?=//)|(?<=\S)[.\u3002\uff0e\uff61](?=[^\W\d_])")
"""What a mail program makes a link of: a colon before two slashes, and a dot before a letter, also a full-width one."""


def approval_message(plan: Plan, moved: Sequence[str]) -> str:
    """Return the request to approve a plan that creates or associates an endpoint.

    moved are the ids of the route table's subnets. Concerns that do not fit are counted.
    """
    verdict = plan.verdict
    lines = [
        f"Approve to change the route to S3 Express One Zone in account {verdict.account_id}, {verdict.region}.",
        "",
        "If you approve:",
        f"- {_endpoint(plan)}",
        f"- Route table {verdict.route_table_id} is associated with it. {_subnets(moved)}",
        "- Open TCP connections from these subnets to S3 Express drop once; clients must connect again.",
        "- After that, bucket policies see private source addresses instead of the NAT's public address.",
        "- You can undo the heal: express-path heals shows the command.",
        "",
        f"Reason: {_quoted(verdict.annotation)} ({verdict.subnet_id})",
        _plan_line(plan.fingerprint),
    ]
    return _with_concerns("\n".join(lines), plan.warnings)


def _endpoint(plan: Plan) -> str:
    if plan.action is not PlanAction.CREATE_AND_ASSOCIATE:
        return f"Gateway endpoint {plan.endpoint_id} in {plan.verdict.vpc_id} is used. Only its route tables change."
    policy = "full access" if plan.policy == FULL_ACCESS else "the stack's endpoint policy"
    return f"Gateway endpoint {plan.service_name} is created in {plan.verdict.vpc_id}, with {policy}. It is free."


def _subnets(moved: Sequence[str]) -> str:
    """Say which subnets' traffic changes its path; the message names LISTED_SUBNETS of them."""
    named = ", ".join(moved[:LISTED_SUBNETS])
    more = f" and {len(moved) - LISTED_SUBNETS} more" if len(moved) > LISTED_SUBNETS else ""
    subnets = "1 subnet" if len(moved) == 1 else f"{len(moved)} subnets"
    return f"S3 Express traffic of {subnets} no longer uses the NAT: {named}{more}."


def _with_concerns(message: str, concerns: Sequence[Concern]) -> str:
    """Return the message with as many concerns as fit, and the number of the others."""
    if not concerns:
        return message
    message += f"\n\nWarnings ({len(concerns)}):"
    for number, line in enumerate(map(_line, concerns)):
        last_line = _unlisted_line(len(concerns) - number - 1)
        if len(message) + len(line) + len(last_line) > MAX_MESSAGE_LENGTH:
            return message + _unlisted_line(len(concerns) - number)
        message += line
    return message


def _line(concern: Concern) -> str:
    return f"\n- {concern.code}: {_quoted(f'{concern.evidence}; {concern.fix}')}"


def _unlisted_line(number: int) -> str:
    """Say how many concerns are not listed, and where to see them."""
    return f"\n- {number} more: run the heal with DryRun=true to see them." if number else ""


def _quoted(text: str) -> str:
    """Return a text in quotes, in one line: cut, and without links, control characters, and quotes of its own.

    It may contain what the owner of a resource wrote, such as the Sid of a statement, which must not look like the request.
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = _LINK.sub(r"[\g<0>]", printable.replace('"', "'"))
    return f'"{line}"' if len(line) <= LONGEST_LINE else f'"{line[: LONGEST_LINE - 3]}..."'
