"""The plan of a heal: what the runbook would change to make the verdict COMPLIANT, or what blocks the heal."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from express_path.domain.heal.approvals import ApprovalRun, plan_fingerprint, why_not_approved, why_not_confirmed
from express_path.domain.heal.claims import may_be_token_of
from express_path.domain.heal.endpoints import (
    NEW_ENDPOINT,
    READ_ENTRIES,
    cures,
    endpoint_to_create,
    is_associated,
    is_closed,
    network_concerns,
    path_closed,
    prefix_lists_of,
    quota_concerns,
    usable_endpoints,
)
from express_path.domain.heal.ledger_records import (
    NO_RECORDS,
    LedgerView,
    RunRecord,
    StartedBy,
    TableRecord,
    TableState,
)
from express_path.domain.heal.ownership import changed_since_creation, owner_tag
from express_path.domain.heal.patches import associate_patches, create_patches, fitting
from express_path.domain.heal.policies import policy_concerns
from express_path.domain.heal.preflight import Evidence, calendar_concerns, preflight
from express_path.domain.heal.records import MAY_WARN, Blocker, Concern, HealSettings, Plan, PlanAction
from express_path.domain.network.resources import RouteTable, VpcEndpoint
from express_path.domain.path.reasons import NAT_REASONS, Compliance, Reason
from express_path.domain.path.tracing import ENTRIES
from express_path.domain.verdict.evaluator import Evaluator, Verdict

LOOP_BREAKER = timedelta(hours=24)
"""For this long after a heal, an association that somebody removed is not made again."""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """What a plan is made from, in addition to the snapshot.

    ledger has the records of the subnet's route table and VPC. needs_approval is true if the heal needs an approval that
    has not been used; approval_run is what Systems Manager shows of the run that asked for it, None if it lists none. creators
    are the heals that created endpoints of the VPC and are over.
    """

    evidence: Evidence
    settings: HealSettings
    now: datetime
    ledger: LedgerView = NO_RECORDS
    started_by: StartedBy = StartedBy.PERSON
    needs_approval: bool = False
    approval_run: ApprovalRun | None = None
    creators: tuple[RunRecord, ...] = ()


def ledger_concerns(table: RouteTable, context: PlanContext, approval_of: str) -> Iterator[Concern]:
    """Yield what the record of a route table blocks now.

    approval_of is the fingerprint of the plan if the heal needs an approval, else empty.
    """
    record, now = context.ledger.table, context.now
    yield from _reverted(table, record, now)
    if context.started_by is StartedBy.CONFIG and record.is_undone:
        yield Concern(
            Blocker.UNDONE,
            table.id,
            f"the last heal of {table.id} was undone",
            "start the heal yourself (StartedBy=PERSON); after that, AWS Config heals the table again",
        )
    missing = ""
    if approval_of:
        missing = why_not_approved(record, approval_of, now)
    if approval_of and not missing:
        missing = why_not_confirmed(context.approval_run, approval_of, now, context.settings)
    if missing:
        yield Concern(
            Blocker.APPROVAL_REQUIRED,
            table.id,
            f"the stack's RemediationMode is APPROVAL, and {missing}",
            "start the approval runbook instead (stack output ApprovalDocumentName)",
        )


def _reverted(table: RouteTable, record: TableRecord, now: datetime) -> Iterator[Concern]:
    """Yield a concern if somebody removed the association after a heal, so that two tools do not fight over it."""
    healed = changed_at(record)
    if (
        record.state is TableState.HEALED
        and healed
        and now - healed < LOOP_BREAKER
        and all(route.target_id != record.endpoint_id for route in table.routes)
    ):
        yield Concern(
            Blocker.REVERTED_BY_OTHERS,
            table.id,
            f"run {record.heal_run_id} healed {table.id} at {record.changed_at}, and somebody removed its association "
            f"with {record.endpoint_id}",
            f"find out who removed it; to heal again within 24 hours, undo that run (express-path undo "
            f"{record.heal_run_id}) and start the heal yourself",
        )


def changed_at(record: TableRecord) -> datetime | None:
    """Return when a heal or an undo last wrote the record; None if it has no time with a time zone."""
    try:
        changed = datetime.fromisoformat(record.changed_at)
        return changed.astimezone(UTC) if changed.tzinfo else None
    except (ValueError, OverflowError):
        return None


MAX_CONCERNS = 10
"""How many concerns of one blocker a plan lists."""
MAX_CHARACTERS = 15_000
"""How long the blockers of a plan, or its warnings, are together, in characters. They are in a step's output twice, which may
have 200 KB (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html)."""
MAX_PATCH = 25_000
"""The longest patch that a plan contains, in characters: one with the longest policy that is plain text."""
LONGEST_TEXT = 1_500
"""How long the evidence of a concern is, or what to do about it, in characters."""


WITH_PATCH = {Blocker.OWNED_BY_IAC, Blocker.APPROVAL_REQUIRED, Blocker.CHANGE_CALENDAR_CLOSED}
"""The blockers of plans that have patches: other people may make these changes, or later. What else blocks a heal, blocks them."""


def make_plan(evaluator: Evaluator, subnet_id: str, context: PlanContext) -> Plan:
    """Plan the heal of a subnet; a subnet whose path crosses no NAT needs none, or is blocked."""
    verdict = evaluator.verdict(subnet_id)
    if verdict.reason in BLOCKER_BY_REASON:
        kind, evidence, fix = BLOCKER_BY_REASON[verdict.reason]
        blocker = Concern(kind, subnet_id, evidence, fix)
        return Plan(PlanAction.BLOCKED, verdict, blockers=(blocker, *calendar_concerns(context.evidence)))
    if verdict.reason is Reason.DROPPED and is_closed(evaluator, verdict):
        return Plan(PlanAction.BLOCKED, verdict, blockers=(path_closed(subnet_id, verdict.annotation),))
    if verdict.compliance is not Compliance.NON_COMPLIANT:
        return Plan(PlanAction.NOTHING_TO_DO, verdict)
    table = evaluator.table_of(verdict)
    if table is None or not is_healable(verdict):
        return Plan(PlanAction.BLOCKED, verdict, blockers=(_not_a_nat(verdict), *calendar_concerns(context.evidence)))
    return _heal(evaluator, verdict, table, context)


def is_healable(verdict: Verdict) -> bool:
    """Return whether an endpoint's route may fix a verdict: the path crosses a NAT."""
    return verdict.reason in {*NAT_REASONS, Reason.PARTLY_NAT}


BLOCKER_BY_REASON = {
    Reason.NOT_OWNED: (
        Blocker.NOT_OWNED,
        "the subnet belongs to another account",
        "run the heal in the account that owns the VPC",
    ),
    Reason.EXCLUDED: (
        Blocker.EXCLUDED,
        "excludeTag or vpcIds excludes the subnet",
        "remove the tag, or change the rule parameter",
    ),
}
"""What blocks heals of subnets that the rule does not flag, by the reason of the verdict: the blocker, evidence, and fix."""


def _not_a_nat(verdict: Verdict) -> Concern:
    fix = "heals change only paths that cross a NAT; associate the route table yourself"
    if verdict.lacks == ENTRIES:
        fix = READ_ENTRIES
    return Concern(Blocker.NOT_A_NAT_PATH, verdict.subnet_id, verdict.annotation, fix)


def _heal(evaluator: Evaluator, verdict: Verdict, table: RouteTable, context: PlanContext) -> Plan:
    settings, evidence = context.settings, context.evidence
    endpoint = _endpoint(evaluator, verdict, table, context)
    is_new = endpoint.id == NEW_ENDPOINT
    fingerprint = _fingerprint(evaluator, table, endpoint, context)
    approval_of = fingerprint if context.needs_approval else ""
    concerns = list(_concerns(evaluator, verdict, table, endpoint, context, approval_of))
    may_warn = settings.warn_only & MAY_WARN
    warnings = tuple(concern for concern in concerns if concern.only_warns or concern.code in may_warn)
    blockers = tuple(concern for concern in concerns if concern not in warnings)
    if is_new:
        action, patches = PlanAction.CREATE_AND_ASSOCIATE, create_patches(endpoint, [table.id], settings.policy)
    else:
        action, patches = PlanAction.ASSOCIATE, associate_patches(endpoint, [table.id], evidence.policies)
    owner = owner_tag(endpoint, settings) or _adopter(endpoint, context) or owner_tag(table, settings)
    shown_patches = {}
    has_patches = all(blocker.code in WITH_PATCH for blocker in blockers)
    if has_patches and not is_associated(evaluator.snapshot, table, endpoint):
        shown_patches = {tool: patch for tool, patch in fitting(patches, owner).items() if len(patch) <= MAX_PATCH}
    return Plan(
        PlanAction.BLOCKED if blockers else action,
        verdict,
        service_name=endpoint.service_name,
        endpoint_id=None if is_new else endpoint.id,
        policy=settings.policy if is_new else "",
        ip_address_type=endpoint.ip_address_type,
        blockers=shortened(blockers),
        warnings=shortened(warnings),
        patches=shown_patches,
        fingerprint=fingerprint,
        judged=tuple(policy.holder for policy in evidence.policies if not policy.fault),
    )


def _fingerprint(evaluator: Evaluator, table: RouteTable, endpoint: VpcEndpoint, context: PlanContext) -> str:
    """Return the fingerprint of a plan: the same as long as approvers would read the same plan."""
    is_new = endpoint.id == NEW_ENDPOINT
    policies = [policy.document for policy in context.evidence.policies if policy.holder == endpoint.id]
    return plan_fingerprint(
        table.id,
        (subnet.id for subnet in evaluator.tracer.governed_subnets(table)),
        "" if is_new or _is_of_heals(endpoint, context) else endpoint.id,
        context.settings.policy if is_new else "".join(policies),
    )


def _endpoint(evaluator: Evaluator, verdict: Verdict, table: RouteTable, context: PlanContext) -> VpcEndpoint:
    """Return the endpoint to associate.

    The best endpoint with which the verdict would be COMPLIANT comes first, then the one in use, then the best one that
    EC2 accepts, then a new one. An endpoint that an undo deletes, or is about to delete, is not used again.
    """
    usable = [
        endpoint
        for endpoint in usable_endpoints(evaluator.tracer, table, context.settings)
        if endpoint.id not in context.ledger.vpc.deleted_ids
    ]
    curing = [endpoint for endpoint in usable if cures(evaluator, table, endpoint, verdict.subnet_id)]
    in_use = [endpoint for endpoint in usable if is_associated(evaluator.snapshot, table, endpoint)]
    return next(iter([*curing, *in_use, *usable]), None) or endpoint_to_create(evaluator.tracer, table)


def _concerns(
    evaluator: Evaluator,
    verdict: Verdict,
    table: RouteTable,
    endpoint: VpcEndpoint,
    context: PlanContext,
    approval_of: str,
) -> Iterator[Concern]:
    snapshot, settings, evidence = evaluator.snapshot, context.settings, context.evidence
    yield from network_concerns(evaluator, verdict, table, endpoint, settings)
    if not owner_tag(endpoint, settings) and not is_associated(snapshot, table, endpoint):
        yield from _adoption_concerns(endpoint, context)
    yield from quota_concerns(snapshot, table, endpoint, evidence)
    yield from ledger_concerns(table, context, approval_of)
    readable = [prefix_list for prefix_list in prefix_lists_of(snapshot, endpoint) if prefix_list.cidrs]
    yield from policy_concerns(evidence.policies, endpoint, settings, context.now)
    yield from preflight(evidence, readable, verdict.vpc_id)


def _adoption_concerns(endpoint: VpcEndpoint, context: PlanContext) -> Iterator[Concern]:
    """Yield a concern if a tool has taken over an endpoint of heals; an undo of this heal would be blocked."""
    adoption = _adopted(endpoint, context)
    if adoption and not context.settings.adopt_iac_owned:
        yield Concern(
            Blocker.OWNED_BY_IAC,
            endpoint.id,
            f"{adoption}, so a tool owns it now",
            "apply the patch with that tool, or allow heals to change it (stack parameter AdoptIacOwned); if your organization "
            "adds these tags to everything, name their keys in the stack parameter AutomaticTagKeys",
        )


def _is_of_heals(endpoint: VpcEndpoint, context: PlanContext) -> bool:
    """Return whether a heal created an endpoint, or may have and was interrupted before it could record that."""
    record = context.ledger.vpc
    return endpoint.id in record.created_ids or may_be_token_of(record, endpoint)


def _adopted(endpoint: VpcEndpoint, context: PlanContext) -> str:
    """Return what shows that somebody took over an endpoint since heals created it; else empty."""
    if not _is_of_heals(endpoint, context):
        return ""
    policies = [policy.document for policy in context.evidence.policies if policy.endpoint_id == endpoint.id]
    return changed_since_creation(context.creators, endpoint, "".join(policies), context.settings)


def _adopter(endpoint: VpcEndpoint, context: PlanContext) -> str:
    """Return the tags of an endpoint that a tool has taken over, one of which may name the tool; empty if none has."""
    adoption = _adopted(endpoint, context)
    return adoption and " ".join([adoption, *(f"{key}={value}" for key, value in sorted(endpoint.tags.items()))])


def shortened(concerns: tuple[Concern, ...]) -> tuple[Concern, ...]:
    """Return at most ten concerns of each blocker, because the output of a step has a maximum size."""
    kept: list[Concern] = []
    left = MAX_CHARACTERS
    for blocker in dict.fromkeys(concern.code for concern in concerns):
        same = [concern for concern in concerns if concern.code is blocker]
        for number, concern in enumerate(same):
            evidence, fix = concern.evidence[:LONGEST_TEXT], concern.fix[:LONGEST_TEXT]
            left -= len(evidence) + len(fix)
            if number == MAX_CONCERNS or (number and left < 0):
                more = f"and {len(same) - number} more"
                kept.append(Concern(blocker, concern.resource, more, same[0].fix[:LONGEST_TEXT]))
                break
            kept.append(Concern(blocker, concern.resource, evidence, fix))
    return tuple(kept)
