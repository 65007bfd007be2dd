"""The verdict on a subnet: compliance, reason, and path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import NamedTuple, Self

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import AnyRouteTable, RouteTable, Subnet, TargetKind, has_tag
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.origins import Origin
from express_path.domain.path.outcomes import Hop, Outcome, Trace, join
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Compliance, Reason, Unknown
from express_path.domain.path.routing import AddressSet
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.annotations import annotate
from express_path.domain.verdict.parameters import RuleParameters, Scope


class Decision(NamedTuple):
    """The part of a verdict that subnets with the same origin share: the last fields of Verdict, in their order."""

    compliance: Compliance
    reason: Reason
    annotation: str
    path: tuple[Hop, ...]
    note: str
    lacks: str
    unknown: Unknown | None
    excluded_by: str


@dataclass(frozen=True, slots=True)
class _WorstOutcome:
    """The worst of the outcomes that addresses may have."""

    addresses: AddressSet
    outcome: Outcome


def _severity(decision: Decision) -> tuple[bool, int, tuple[Hop, ...], str]:
    """Return a sort key of decisions, worst first, as `worst_decision` orders outcomes."""
    is_harmless = decision.compliance is not Compliance.NON_COMPLIANT
    return is_harmless, SEVERITY_ORDER[decision.reason], decision.path, decision.note


_NAMED = 3
"""How many resources a note names."""
_MAX_COMBINATIONS = 16
"""How many combinations of descriptions of resources are traced on their own."""


def worst_decision(trace: Trace, table: RouteTable, parameters: RuleParameters, note: str = "") -> Decision:
    """Decide by the worst outcome of all addresses. note: what to say if that outcome has nothing to say itself."""

    def severity(outcome: Outcome) -> tuple[bool, int, tuple[Hop, ...], str]:
        """Return a sort key, worst first: NON_COMPLIANT, then by reason; path and note make the order unambiguous."""
        is_harmless = parameters.compliance_of(outcome.reason) is not Compliance.NON_COMPLIANT
        return is_harmless, SEVERITY_ORDER[outcome.reason], outcome.path, outcome.note

    worst = [_WorstOutcome(traced.addresses, min(traced.outcomes, key=severity)) for traced in trace.results]
    reasons = {decision.outcome.reason for decision in worst}
    is_partly_nat = Reason.ENDPOINT in reasons and not reasons.isdisjoint(NAT_REASONS)
    if is_partly_nat:
        worst = [decision for decision in worst if decision.outcome.reason in NAT_REASONS]
    if not worst:
        return decision_by(Outcome(Reason.NO_ROUTE), table, parameters)
    deciding = min(worst, key=lambda decision: (severity(decision.outcome), decision.addresses))
    reason = Reason.PARTLY_NAT if is_partly_nat else deciding.outcome.reason
    outcome = deciding.outcome if deciding.outcome.note else replace(deciding.outcome, note=note)
    return decision_by(outcome, table, parameters, reason, deciding.addresses.block.family)


def decision_by(
    deciding: Outcome,
    table: RouteTable | None,
    parameters: RuleParameters,
    reason: Reason | None = None,
    family: Family = Family.IPV4,
) -> Decision:
    """Return a decision by one outcome; its reason is the outcome's unless another is given."""
    reason = reason or deciding.reason
    compliance = parameters.compliance_of(reason)
    return Decision(
        compliance,
        reason,
        annotate(reason, deciding, table, family),
        deciding.path,
        deciding.note,
        deciding.lacks,
        deciding.unknown,
        deciding.excluded_by,
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was decided about one subnet.

    route_table_id is the governing route table, None if it cannot be seen. path is empty if no hop was followed.
    annotation has 1 to 256 characters. note is the complete addition to the deciding route: what to fix, what could not
    be read, or which tag excludes the subnet. lacks is the API operation without which the path is unknown, and unknown
    says what is not known about a path. excluded_by is the tag (key or key=value) or the rule parameter that excludes the
    subnet. Programs read these fields, and people read the note.
    """

    account_id: str
    region: str
    vpc_id: str
    subnet_id: str
    availability_zone_id: str
    route_table_id: str | None
    compliance: Compliance
    reason: Reason
    annotation: str
    path: tuple[Hop, ...] = ()
    note: str = ""
    lacks: str = ""
    unknown: Unknown | None = None
    excluded_by: str = ""

    @property
    def is_flagged(self) -> bool:
        """Whether the subnet is NON_COMPLIANT."""
        return self.compliance is Compliance.NON_COMPLIANT


@dataclass(frozen=True, slots=True)
class Account:
    """The account whose subnets are evaluated.

    has_directory_buckets is None if that cannot be read. shared_subnet_ids are the subnets that the account shares with
    other accounts, None if that cannot be read; every subnet then counts as shared.
    """

    id: str
    has_directory_buckets: bool | None = None
    shared_subnet_ids: frozenset[str] | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return the account that a snapshot was read for."""
        return cls(snapshot.account_id, snapshot.has_directory_buckets, snapshot.shared_subnet_ids)

    def lacks_directory_buckets(self, subnet_id: str) -> bool:
        """Return whether no account that uses a subnet has a directory bucket in this Region.

        The subnet must not be shared, because other accounts may have buckets.
        """
        if self.shared_subnet_ids is None or subnet_id in self.shared_subnet_ids:
            return False
        return self.has_directory_buckets is False


VPC_IDS = "vpcIds"
"""The rule parameter that excludes subnets of other VPCs."""
_NOT_LISTED = Outcome(Reason.EXCLUDED, note="rule parameter vpcIds does not list its VPC", excluded_by=VPC_IDS)


class Evaluator:
    """Decides the verdicts on subnets for one account under one set of rule parameters.

    The accounts of one Region may share a tracer. Without an account, the snapshot's own account is used.
    """

    def __init__(self, tracer: Tracer, parameters: RuleParameters, account: Account | None = None) -> None:
        """Start without decisions; each one is made when it is first needed."""
        self.tracer = tracer
        self.snapshot = tracer.snapshot
        self.account = account or Account.of(self.snapshot)
        self.parameters = parameters
        self._from_origins: dict[Origin, Decision] = {}

    def after(self, change: Snapshot) -> "Evaluator":
        """Return an evaluator of the snapshot after a change of routes and endpoints, for the same account and parameters."""
        return self.in_network(Tracer(change, self.tracer.claims))

    def in_network(self, tracer: Tracer) -> "Evaluator":
        """Return an evaluator of another network, for the same account and parameters."""
        return Evaluator(tracer, self.parameters, self.account)

    def verdict(self, subnet_id: str) -> Verdict:
        """Return the verdict on a subnet; DELETED if the snapshot does not contain it."""
        snapshot = self.snapshot
        subnet = snapshot.subnets.get(subnet_id)
        if subnet is None:
            return verdict_without_network(self.account.id, snapshot.region, subnet_id, DELETED)
        # Several, if accounts disagree about the subnet or its route table: the worst result counts.
        possible = [
            (self._decide(version, table), version, table)
            for version in snapshot.versions_of(subnet)
            for table in self.tracer.possible_tables(version)
        ]
        decision, version, table = min(possible, key=lambda decided: _severity(decided[0]))
        zone_id, table_id = version.availability_zone_id, table.id if table else None
        return Verdict(self.account.id, snapshot.region, subnet.vpc_id, subnet_id, zone_id, table_id, *decision)

    def table_of(self, verdict: Verdict) -> RouteTable | None:
        """Return the route table that decided a verdict; None if it is not known, or is not of this network."""
        return self.snapshot.route_tables.get(verdict.route_table_id) if verdict.route_table_id else None

    def excludes(self, subnet_id: str) -> bool:
        """Return whether the verdict on a subnet of the snapshot is EXCLUDED, without following its path."""
        subnet = self.snapshot.subnets[subnet_id]
        outcomes = [self._before_routing(subnet, table) for table in self.tracer.possible_tables(subnet)]
        return all(outcome is not None and outcome.reason is Reason.EXCLUDED for outcome in outcomes)

    def lost_read(self, verdict: Verdict) -> str:
        """Return the denied API operation because of which a path is unknown; empty if it is unknown without a denial.

        Beyond a transit gateway, every read under networkRoleArn may matter.
        """
        snapshot = self.snapshot
        if verdict.reason is not Reason.UNRESOLVED_EGRESS:
            return ""
        if snapshot.denied_to_role and any(hop.kind is TargetKind.TRANSIT_GATEWAY for hop in verdict.path):
            return snapshot.denied_to_role[0]
        lost = (operation for operation in snapshot.denied if verdict.lacks and operation.startswith(verdict.lacks))
        return next(lost, "")

    def _decide(self, subnet: Subnet, table: RouteTable | None) -> Decision:
        before_routing = self._before_routing(subnet, table)
        if before_routing:
            return decision_by(before_routing, None, self.parameters)
        if table is None:
            note, unknown = self.tracer.why_unknown(subnet)
            outcome = Outcome(Reason.UNRESOLVED_EGRESS, note=note, unknown=unknown)
            return decision_by(outcome, None, self.parameters)
        origin = self.tracer.origin_of(table, subnet)
        decision = self._from_origins.get(origin)
        if decision is None:
            traces = self.tracer.possible_traces(table, subnet)
            disputed = self._disputed(join(traces)) if self.snapshot.versions else []
            named = " and ".join(disputed[:_NAMED])
            note = f"accounts describe {named} differently, the worst counts" if disputed else ""
            possible = [worst_decision(trace, table, self.parameters, note) for trace in traces]
            decision = min(possible, key=_severity)
            if disputed and decision.reason in NAT_REASONS:
                decision = self._by_each_description(subnet, table, disputed, note) or decision
            self._from_origins[origin] = decision
        return decision

    def _disputed(self, trace: Trace) -> list[str]:
        """Return the resources on the paths of a trace that accounts describe differently, by id."""
        snapshot = self.snapshot
        met = {hop.id for traced in trace.results for outcome in traced.outcomes for hop in outcome.path}
        tables: Mapping[str, AnyRouteTable] = {
            **snapshot.route_tables,
            **(snapshot.transit_gateway_route_tables or {}),
        }
        for table_id in trace.consulted & tables.keys():
            for version in snapshot.versions_of(tables[table_id]):
                met |= {str(route.destination) for route in version.routes}
        return sorted((met | trace.consulted) & snapshot.versions.keys())

    def _by_each_description(
        self, subnet: Subnet, table: RouteTable, disputed: Sequence[str], note: str
    ) -> Decision | None:
        """Return PARTLY_NAT if that is the result by one combination of the descriptions of disputed resources.

        Beyond the first route table, a trace has the outcomes of all descriptions for each address. The worst outcome of
        each address hides that by every single description, some addresses use the endpoint.
        """
        snapshot = self.snapshot
        listed = [records[key] for key in disputed for records in snapshot.records if key in records]
        described = [snapshot.versions_of(record) for record in listed]
        if prod(map(len, described)) > _MAX_COMBINATIONS:
            return None
        for chosen in product(*described):
            tracer = Tracer(snapshot.described_as(chosen), self.tracer.claims)
            for trace in tracer.possible_traces(tracer.snapshot.route_tables[table.id], subnet):
                decision = worst_decision(trace, table, self.parameters, note)
                if decision.reason is Reason.PARTLY_NAT:
                    return decision
        return None

    def _before_routing(self, subnet: Subnet, table: RouteTable | None) -> Outcome | None:
        """Return the outcome that is decided before routing, if there is one: the first that applies."""
        if subnet.owner_id not in ("", self.account.id):
            return Outcome(Reason.NOT_OWNED)
        exclusion = self._exclusion(subnet, table)
        if exclusion:
            return exclusion
        if self.parameters.scope is Scope.DIRECTORY_BUCKETS and self.account.lacks_directory_buckets(subnet.id):
            return Outcome(Reason.NO_DIRECTORY_BUCKETS)
        if not self.snapshot.offers_express:
            return Outcome(Reason.SERVICE_NOT_OFFERED)
        return None

    def _exclusion(self, subnet: Subnet, table: RouteTable | None) -> Outcome | None:
        """Return the outcome for a subnet that vpcIds or a tag excludes; None if nothing does."""
        if not self.parameters.includes(subnet.vpc_id):
            return _NOT_LISTED
        tag = self.parameters.exclude_tag
        for resource in (subnet, table, self.snapshot.vpcs.get(subnet.vpc_id)):
            if resource and has_tag(resource.tags, tag):
                return Outcome(Reason.EXCLUDED, note=f"tag {tag} on {resource.id}", excluded_by=tag)
        return None


DELETED = Outcome(Reason.DELETED)
"""The outcome for a subnet that no longer exists."""
LEFT_SCOPE = Outcome(Reason.EXCLUDED, note="it left the rule's scope")
"""The outcome for a subnet that AWS Config says is no longer in the rule's scope."""


def outside_vpc_ids(account_id: str, owner_id: str) -> Outcome:
    """Return the outcome for a subnet of a VPC that vpcIds does not list: NOT_OWNED or EXCLUDED."""
    return _NOT_LISTED if owner_id == account_id else Outcome(Reason.NOT_OWNED)


def verdict_without_network(account_id: str, region: str, subnet_id: str, outcome: Outcome) -> Verdict:
    """Return a NOT_APPLICABLE verdict that needs nothing from the network."""
    return Verdict(
        account_id=account_id,
        region=region,
        vpc_id="",
        subnet_id=subnet_id,
        availability_zone_id="",
        route_table_id=None,
        compliance=Compliance.NOT_APPLICABLE,
        reason=outcome.reason,
        annotation=annotate(outcome.reason, outcome, None),
        note=outcome.note,
        excluded_by=outcome.excluded_by,
    )
