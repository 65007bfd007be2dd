"""The network for which tests plan heals: subnet-1, whose route table rtb-1 sends all traffic to a NAT gateway."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from express_path.domain.heal.approvals import ApprovalRun
from express_path.domain.heal.ledger_records import (
    NO_RECORDS,
    LedgerView,
    RunRecord,
    StartedBy,
    TableRecord,
    TableState,
    VpcRecord,
)
from express_path.domain.heal.plan import PlanContext, make_plan
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import Blocker, HealSettings, Plan
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList, Route, Subnet, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.make import EXPRESS_LIST, REGION, by_id, route, snapshot, subnet, table

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""When plans are made: the first second of a time bucket of client tokens."""

EXPRESS_LIST_6 = PrefixList(
    "pl-express6", f"com.amazonaws.{REGION}.ipv6.s3express", Family.IPV6, (parse_cidr("2001:db8::/36"),)
)
TO_NAT = route("0.0.0.0/0", "nat-1")
BOTH = (EXPRESS_LIST, EXPRESS_LIST_6)
DUAL_STACK = subnet(has_ipv6=True)
IPV6_ONLY = subnet(has_ipv6=True, ipv6_native=True)
CONFIRMED = ApprovalRun("", "1", "1", "", status="Approved", decided_at=NOW)
"""A run of the approval runbook of a stack without settings, which an approver approved."""
AWKWARD = """{
  "Version": "2012-10-17",
\t"Statement": [{"Sid": "It's", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": ["*", "*: # x"],
    "Condition": {"StringEquals": {"aws:PrincipalTag/team": "${aws:ResourceTag/team}", "k": "%{if} \\u0007 \\"q\\""}}}]
}"""
"""A policy that is hard to quote: for a shell, for YAML, and for Terraform."""


def network(
    *routes: Route,
    subnets: tuple[Subnet, ...] = (subnet(),),
    endpoints: tuple[VpcEndpoint, ...] = (),
    lists: tuple[PrefixList, ...] = (EXPRESS_LIST,),
    tags: dict[str, str] | None = None,
    **more: Any,
) -> Snapshot:
    """Return a network in which rtb-1 governs all subnets; by default its only route leads to a NAT gateway."""
    governed = table("rtb-1", *(routes or (TO_NAT,)), subnets=tuple(member.id for member in subnets), tags=tags or {})
    tables = by_id(governed, *more.pop("tables", ()))
    return snapshot(
        subnets=by_id(*subnets, *more.pop("other_subnets", ())),
        route_tables=tables,
        vpc_endpoints=by_id(*endpoints),
        prefix_lists=by_id(*lists),
        **more,
    )


def planned(  # as much as a plan depends on
    snapshot: Snapshot,
    evidence: Evidence | None = None,
    *,
    now: datetime = NOW,
    parameters: RuleParameters | None = None,
    ledger: LedgerView = NO_RECORDS,
    started_by: StartedBy = StartedBy.PERSON,
    needs_approval: bool = False,
    creators: tuple[RunRecord, ...] = (),
    **settings: Any,
) -> Plan:
    """Return the plan for subnet-1. All findings block unless the settings differ; without evidence, nothing blocks.

    Systems Manager confirms the approval that the ledger has.
    """
    settings = {"warn_only": frozenset(), **settings}
    evaluator = Evaluator(Tracer(snapshot), parameters or RuleParameters())
    given = ledger.table.approval
    run = given and replace(CONFIRMED, message=f"Plan: {given.fingerprint}", decided_at=now)
    context = PlanContext(
        evidence or Evidence(), HealSettings(**settings), now, ledger, started_by, needs_approval, run, creators
    )
    return make_plan(evaluator, "subnet-1", context)


def healed(when: str, endpoint_id: str = "vpce-express", **more: Any) -> LedgerView:
    """Return the ledger's findings after a heal of rtb-1."""
    given = {"state": TableState.HEALED, "run_id": "run-1", "heal_run_id": "run-1", "changed_at": when, **more}
    return LedgerView(TableRecord("rtb-1", endpoint_id=endpoint_id, **given), VpcRecord("vpc-1"))


def blockers(plan: Plan) -> list[Blocker]:
    """Return the names of a plan's blockers."""
    return [finding.code for finding in plan.blockers]


def evidence_of(plan: Plan, blocker: Blocker) -> str:
    """Return the details of a plan's only blocker or warning with the given name."""
    [found] = [finding.evidence for finding in (*plan.blockers, *plan.warnings) if finding.code is blocker]
    return found
