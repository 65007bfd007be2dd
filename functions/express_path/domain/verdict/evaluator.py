"""The verdict on a subnet: compliance, reason, and path."""

from dataclasses import dataclass
from typing import NamedTuple, Self

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import RouteTable, Subnet
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.tags import has_tag
from express_path.domain.path.outcomes import Hop, Outcome, Trace
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Compliance, Reason
from express_path.domain.path.routing import AddressSet
from express_path.domain.path.tracing import Origin, Tracer
from express_path.domain.verdict.annotation import annotate
from express_path.domain.verdict.parameters import RuleParameters, Scope


class Verdict(NamedTuple):
    """What was decided about one subnet.

    route_table_id is the governing route table, None if it cannot be seen. path is empty if no hop was followed.
    annotation has 1 to 256 characters. note is the complete addition to the deciding route: what to fix, what could not
    be read, or which tag excludes the subnet.
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


@dataclass(frozen=True, slots=True)
class _Decision:
    """The part of a verdict that subnets with the same origin share."""

    compliance: Compliance
    reason: Reason
    annotation: str
    path: tuple[Hop, ...]
    note: str


@dataclass(frozen=True, slots=True)
class _WorstOutcome:
    """The worst of the outcomes that addresses may have."""

    addresses: AddressSet
    outcome: Outcome


_NOT_LISTED = "vpcIds does not list its VPC"


class Evaluator:
    """Decides the verdicts on subnets for one account under one set of rule parameters.

    The accounts of one Region may share a tracer. Without an account, the snapshot's own account is used.
    """

    def __init__(self, tracer: Tracer, parameters: RuleParameters, account: Account | None = None) -> None:
        """Start without decisions; each one is made when it is first needed."""
        self.tracer = tracer
        self.snapshot = tracer.snapshot
        self._account = account or Account.of(self.snapshot)
        self._parameters = parameters
        self._decisions: dict[Origin, _Decision] = {}

    def for_snapshot(self, snapshot: Snapshot) -> "Evaluator":
        """Return an evaluator of another snapshot, for the same account and parameters."""
        return Evaluator(Tracer(snapshot), self._parameters, self._account)

    def verdict(self, subnet_id: str) -> Verdict:
        """Return the verdict on a subnet; DELETED if the snapshot does not contain it."""
        snapshot = self.snapshot
        subnet = snapshot.subnets.get(subnet_id)
        if subnet is None:
            return deleted_verdict(self._account, snapshot.region, subnet_id)
        table = self.tracer.governing_table(subnet)
        decision = self._decide(subnet, table)
        return Verdict(
            self._account.id,
            snapshot.region,
            subnet.vpc_id,
            subnet_id,
            subnet.availability_zone_id,
            table.id if table else None,
            decision.compliance,
            decision.reason,
            decision.annotation,
            decision.path,
            decision.note,
        )

    def _decide(self, subnet: Subnet, table: RouteTable | None) -> _Decision:
        before_routing = self._before_routing(subnet, table)
        if before_routing:
            return self._decision(before_routing, None)
        if table is None:
            note = "its route table cannot be seen (ec2:DescribeRouteTables)"
            return self._decision(Outcome(Reason.UNRESOLVED_EGRESS, note=note), None)
        origin = self.tracer.origin_of(table, subnet)
        decision = self._decisions.get(origin)
        if decision is None:
            decision = self._decisions[origin] = self._worst(self.tracer.trace_subnet(table, subnet), table)
        return decision

    def _before_routing(self, subnet: Subnet, table: RouteTable | None) -> Outcome | None:
        """Return the outcome that is decided before routing, if there is one: the first that applies."""
        if subnet.owner_id != self._account.id:
            return Outcome(Reason.NOT_OWNED)
        exclusion = self._exclusion(subnet, table)
        if exclusion:
            return Outcome(Reason.EXCLUDED, note=exclusion)
        if self._parameters.scope is Scope.DIRECTORY_BUCKETS and self._account.lacks_directory_buckets(subnet.id):
            return Outcome(Reason.NO_DIRECTORY_BUCKETS)
        if not self.snapshot.express_prefix_lists:
            return Outcome(Reason.SERVICE_NOT_OFFERED)
        return None

    def _exclusion(self, subnet: Subnet, table: RouteTable | None) -> str:
        """Return which rule parameter excludes a subnet, and by which tag of which resource; empty if none does."""
        if not self._parameters.includes(subnet.vpc_id):
            return _NOT_LISTED
        tag = self._parameters.exclude_tag
        for resource in (subnet, table, self.snapshot.vpcs.get(subnet.vpc_id)):
            if resource and has_tag(resource.tags, tag):
                return f"tag {tag} on {resource.id}"
        return ""

    def _worst(self, trace: Trace, table: RouteTable) -> _Decision:
        """Decide by the worst outcome of all addresses."""
        worst = [_WorstOutcome(traced.addresses, min(traced.outcomes, key=self._severity)) for traced in trace.results]
        reasons = {found.outcome.reason for found in worst}
        is_partly_nat = Reason.ENDPOINT in reasons and not reasons.isdisjoint(NAT_REASONS)
        if is_partly_nat:
            worst = [found for found in worst if found.outcome.reason in NAT_REASONS]
        if not worst:
            return self._decision(Outcome(Reason.NO_ROUTE), table)
        deciding = min(worst, key=lambda found: (self._severity(found.outcome), found.addresses))
        reason = Reason.PARTLY_NAT if is_partly_nat else deciding.outcome.reason
        return self._decision(deciding.outcome, table, reason, deciding.addresses.block.family)

    def _severity(self, outcome: Outcome) -> tuple[bool, int, tuple[Hop, ...], str]:
        """Return a sort key, worst first: NON_COMPLIANT, then by reason; path and note make the order unambiguous."""
        is_harmless = self._parameters.compliance_of(outcome.reason) is not Compliance.NON_COMPLIANT
        return is_harmless, SEVERITY_ORDER[outcome.reason], outcome.path, outcome.note

    def _decision(
        self, deciding: Outcome, table: RouteTable | None, reason: Reason | None = None, family: Family = Family.IPV4
    ) -> _Decision:
        """Return a decision by one outcome; its reason is the outcome's unless another is given."""
        reason = reason or deciding.reason
        compliance = self._parameters.compliance_of(reason)
        return _Decision(compliance, reason, annotate(reason, deciding, table, family), deciding.path, deciding.note)


def out_of_scope(account: Account, region: str, subnet_id: str) -> Verdict:
    """Return the verdict on a subnet that AWS Config says is no longer in the rule's scope."""
    return _without_network(account, region, subnet_id, Outcome(Reason.EXCLUDED, note="it left the rule's scope"))


def outside_vpc_ids(account: Account, region: str, subnet_id: str, owner_id: str) -> Verdict:
    """Return the verdict on a subnet of a VPC that vpcIds does not list: NOT_OWNED or EXCLUDED."""
    if owner_id != account.id:
        return _without_network(account, region, subnet_id, Outcome(Reason.NOT_OWNED))
    return _without_network(account, region, subnet_id, Outcome(Reason.EXCLUDED, note=_NOT_LISTED))


def deleted_verdict(account: Account, region: str, subnet_id: str) -> Verdict:
    """Return the verdict on a subnet that no longer exists."""
    return _without_network(account, region, subnet_id, Outcome(Reason.DELETED))


def _without_network(account: Account, region: str, subnet_id: str, outcome: Outcome) -> Verdict:
    """Return a NOT_APPLICABLE verdict that needs nothing from the network."""
    return Verdict(
        account_id=account.id,
        region=region,
        vpc_id="",
        subnet_id=subnet_id,
        availability_zone_id="",
        route_table_id=None,
        compliance=Compliance.NOT_APPLICABLE,
        reason=outcome.reason,
        annotation=annotate(outcome.reason, outcome, None),
        note=outcome.note,
    )
