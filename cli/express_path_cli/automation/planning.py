"""Plan a heal here, with the permissions of the caller and the function that the deployed stack plans with."""

from dataclasses import dataclass
from datetime import UTC, datetime

from express_path.adapters.heal_reader import evidence_for
from express_path.domain.heal.endpoints import counts_against_quota
from express_path.domain.heal.plan import PlanContext, is_healable, make_plan
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import HealSettings, Plan
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.terminal.errors import LocatedError, locating_errors

_CALENDAR = "the change calendar"
_NOT_IN_A_DUMP = "security groups, network ACLs, endpoint and bucket policies, DNS attributes"


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """A plan, the evidence for it, what was not checked, and the read that failed, if one did."""

    plan: Plan
    evidence: Evidence
    unchecked: tuple[str, ...]
    failure: LocatedError | None


def plan_heal(evaluator: Evaluator, verdict: Verdict, account_region: AccountRegion | None) -> LocalPlan:
    """Plan the heal with default settings; without account_region, or if a read fails there, without a pre-flight."""
    table = evaluator.table_of(verdict) if verdict.is_flagged and is_healable(verdict) else None
    unchecked: tuple[str, ...] = (_NOT_IN_A_DUMP, _CALENDAR) if table else ()
    evidence, failure = _evidence_in(evaluator), None
    if account_region and table:
        try:
            with locating_errors(account_region):
                evidence = evidence_for(account_region.aws, evaluator, verdict, table, calendar_open=True)
                unchecked = (_CALENDAR,)
        except LocatedError as error:
            failure = error
    plan = make_plan(evaluator, verdict.subnet_id, PlanContext(evidence, HealSettings(), datetime.now(UTC)))
    return LocalPlan(plan, evidence, unchecked, failure)


def _evidence_in(evaluator: Evaluator) -> Evidence:
    """Return what the snapshot itself shows: how many gateway endpoints count against the quota."""
    endpoints = evaluator.snapshot.vpc_endpoints.values()
    return Evidence(
        gateway_endpoints=sum(
            endpoint.endpoint_type == "gateway" and counts_against_quota(endpoint.state) for endpoint in endpoints
        )
    )
