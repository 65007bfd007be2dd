"""What the runbook asks the plan function, and what it gets: plain JSON, so that a step can select from it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from express_path.adapters.answers import verdict_answer
from express_path.adapters.event_checks import checked
from express_path.domain.healing import Finding, Plan
from express_path.domain.undo import Refusal, Undo
from express_path.errors import EventError

PLAN, VERIFY = "plan", "verify"
NONE = "NONE"
"""Stands for an empty value, which no parameter of a runbook can have (botocore model: ssm AutomationParameterMap)."""
_FIELDS = frozenset(
    {
        "action",
        "subnetId",
        "dryRun",
        "calendarState",
        "policyParameter",
        "runId",
        "undoRunId",
        "disassociated",
        "unsuccessful",
    }
)


@dataclass(frozen=True, slots=True)
class HealRequest:
    """One question of the runbook.

    A dry run gets a blocked plan as an answer, a real one as a failure. policy_parameter names the SSM parameter that
    holds the endpoint's policy, empty for none. run_id is the run that asks. undo_run_id asks for the plan of an undo
    instead, of one run: disassociated once the association is taken away; refusals are what EC2 would not delete.
    """

    action: str
    subnet_id: str
    dry_run: bool = False
    calendar_open: bool = True
    policy_parameter: str = ""
    run_id: str = ""
    undo_run_id: str = ""
    disassociated: bool = False
    refusals: tuple[Refusal, ...] = ()


def parse_request(event: Mapping[str, Any]) -> HealRequest:
    """Read the runbook's question; raises EventError naming the field that is wrong."""
    checked(event, "event")
    unknown = sorted(set(event) - _FIELDS)
    if unknown:
        raise EventError(unknown[0], event[unknown[0]], "one of the fields " + ", ".join(sorted(_FIELDS)))
    action = _one_of(event, "action", (PLAN, VERIFY))
    undo_run_id = _optional_text(event, "undoRunId")
    if undo_run_id and action == PLAN:
        disassociated = _one_of(event, "disassociated", ("false", "true")) == "true"
        return HealRequest(action, "", undo_run_id=undo_run_id, disassociated=disassociated, refusals=_refusals(event))
    subnet_id = event.get("subnetId")
    if not isinstance(subnet_id, str) or not subnet_id.startswith("subnet-"):
        raise EventError("subnetId", subnet_id, "a subnet's id")
    return HealRequest(
        action,
        subnet_id,
        dry_run=_one_of(event, "dryRun", ("false", "true")) == "true",
        calendar_open=_one_of(event, "calendarState", ("OPEN", "CLOSED")) == "OPEN",
        policy_parameter=_optional_text(event, "policyParameter"),
        run_id=_optional_text(event, "runId"),
    )


def _optional_text(event: Mapping[str, Any], field: str) -> str:
    found = event.get(field) or ""
    if not isinstance(found, str):
        raise EventError(field, found, "a string, or nothing")
    return "" if found == NONE else found


def _refusals(event: Mapping[str, Any]) -> tuple[Refusal, ...]:
    """The list Unsuccessful of DeleteVpcEndpoints, as such or as the JSON text that Automation may make of it.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_UnsuccessfulItem.html
    """
    found = event.get("unsuccessful") or []
    try:
        items = json.loads(found) if isinstance(found, str) else found
        return tuple(Refusal(each["ResourceId"], each["Error"]["Code"], each["Error"]["Message"]) for each in items)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise EventError("unsuccessful", found, "the list Unsuccessful of ec2:DeleteVpcEndpoints") from error


def _one_of(event: Mapping[str, Any], field: str, allowed: tuple[str, str]) -> str:
    """A field that must hold one of two words; absent or empty means the first. Automation passes booleans as such."""
    found = event.get(field)
    word = str(found).lower() if isinstance(found, bool) else found or (None if field == "action" else allowed[0])
    if word not in allowed:
        raise EventError(field, found, " or ".join(allowed))
    return str(word)


def plan_answer(plan: Plan, rule_name: str, healed_at: str) -> dict[str, Any]:
    """A plan as JSON; what does not apply is an empty string, since a step's selector must find something."""
    return {
        "action": plan.action.value,
        "subnetId": plan.verdict.subnet_id,
        "vpcId": plan.verdict.vpc_id,
        "routeTableId": plan.verdict.route_table_id or "",
        "endpointId": plan.endpoint_id or "",
        "serviceName": plan.service_name,
        "policy": plan.policy,
        "ipAddressType": plan.ip_address_type,
        "clientToken": plan.client_token,
        "unfinished": str(plan.is_unfinished).lower(),
        "ruleName": rule_name,
        "healedAt": healed_at,
        "blockers": [_finding(each) for each in plan.blockers],
        "warnings": [_finding(each) for each in plan.warnings],
        "patches": dict(plan.patches),
        "verdict": verdict_answer(plan.verdict),
        "summary": summary(plan),
    }


def _finding(finding: Finding) -> dict[str, str]:
    return {"name": finding.blocker.value, "evidence": finding.evidence, "cure": finding.cure}


def undo_answer(undo: Undo) -> dict[str, Any]:
    """The plan of an undo as JSON."""
    return {
        "routeTableId": undo.route_table_id,
        "endpointId": undo.endpoint_id,
        "action": "DISASSOCIATE" if undo.disassociate else "DELETE_ENDPOINT" if undo.delete_endpoint else "UNTAG",
    }


def summary(plan: Plan) -> str:
    """A plan in one line, with every blocker and warning by name and what to do about it."""
    line = f"{plan.action} for {plan.verdict.subnet_id}: {plan.verdict.annotation}"
    line += "".join(f" | {each.blocker}: {each.evidence}; {each.cure}" for each in plan.blockers)
    return line + "".join(f" | warning {each.blocker}: {each.evidence}; {each.cure}" for each in plan.warnings)
