"""What a heal of one subnet would do, as the runbook's function would plan it."""

from datetime import UTC, datetime
from typing import NamedTuple

from express_path.adapters.heal_evidence import evidence_for
from express_path.domain.heal.evidence import Evidence
from express_path.domain.heal.plan import PlanContext, is_healable, make_plan
from express_path.domain.heal.quotas import counts_against_quota
from express_path.domain.heal.records import HealSettings, Plan
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path_cli.account_region import AccountRegion
from express_path_cli.problems import LocatedError, naming

UNCHECKED = (
    "security groups, network ACLs, endpoint and bucket policies, DNS attributes",
    "the change calendar",
)
"""What a plan from a dump has not looked at, and what none made here has."""


class Proposal(NamedTuple):
    """A plan, what it has not looked at, and the read that failed, if one did."""

    plan: Plan
    unchecked: tuple[str, ...]
    failure: LocatedError | None = None


def propose(evaluator: Evaluator, verdict: Verdict, place: AccountRegion | None) -> Proposal:
    """Plan with the settings of a stack that has none of its own; without a place, or where it fails, no pre-flight."""
    needs_evidence = verdict.compliance is Compliance.NON_COMPLIANT and is_healable(verdict)
    unchecked: tuple[str, ...] = UNCHECKED if needs_evidence else ()
    looked, failure = _counted(evaluator), None
    if place and needs_evidence:
        try:
            with naming(place):
                looked, unchecked = evidence_for(place.aws, evaluator, verdict, calendar_open=True), UNCHECKED[1:]
        except LocatedError as error:
            failure = error
    plan = make_plan(evaluator, verdict.subnet_id, PlanContext(looked, HealSettings(), datetime.now(UTC)))
    return Proposal(plan, unchecked, failure)


def _counted(evaluator: Evaluator) -> Evidence:
    """What a snapshot alone tells: how many gateway endpoints count against the quota."""
    endpoints = evaluator.snapshot.vpc_endpoints.values()
    return Evidence(
        gateway_endpoints=sum(
            each.endpoint_type == "gateway" and counts_against_quota(each.state) for each in endpoints
        )
    )
