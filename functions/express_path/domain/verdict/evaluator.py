"""The verdict on a subnet: compliance, reason and path."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, Self

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import RouteTable, Subnet, Tags
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Hop, Outcome, Traced
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.annotation import annotate
from express_path.domain.verdict.parameters import RuleParameters, Scope


class Verdict(NamedTuple):
    """What was decided about one subnet; route_table_id is the table in force, None where it cannot be seen.

    path is empty where no hop was followed; annotation has 1 to 256 characters; note is what is known besides the
    deciding route, whole: what to fix, what could not be read, or which tag excludes the subnet.
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


class Account(NamedTuple):
    """For whom a subnet is judged.

    has_directory_buckets is None where that cannot be read, shared_subnet_ids where it cannot be read which subnets the
    account shares with others: every subnet then counts as shared.
    """

    id: str
    has_directory_buckets: bool | None = None
    shared_subnet_ids: frozenset[str] | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """The account that a snapshot was read for."""
        return cls(snapshot.account_id, snapshot.has_directory_buckets, snapshot.shared_subnet_ids)

    def lacks_directory_buckets(self, subnet_id: str) -> bool:
        """Whether nobody in a subnet can use a directory bucket of this Region.

        That takes an account without one, and a subnet that is known not to be shared: other accounts may have buckets.
        """
        if self.shared_subnet_ids is None or subnet_id in self.shared_subnet_ids:
            return False
        return self.has_directory_buckets is False


class _Decision(NamedTuple):
    compliance: Compliance
    reason: Reason
    annotation: str
    path: tuple[Hop, ...]
    note: str


_NOT_LISTED = "vpcIds does not list its VPC"


class Evaluator:
    """Judges subnets for one account under one set of rule parameters.

    The accounts of one Region may share a tracer; the account is the snapshot's own unless given.
    """

    def __init__(self, tracer: Tracer, parameters: RuleParameters, account: Account | None = None) -> None:
        """Prepare; nothing is decided before it is asked for."""
        self.tracer = tracer
        self.snapshot = tracer.snapshot
        self._account = account or Account.of(self.snapshot)
        self._parameters = parameters
        self._decisions: dict[int, _Decision] = {}

    def for_snapshot(self, snapshot: Snapshot) -> "Evaluator":
        """A judge for the same account and parameters of another snapshot."""
        return Evaluator(Tracer(snapshot), self._parameters, self._account)

    def verdict(self, subnet_id: str) -> Verdict:
        """The verdict on a subnet; DELETED where the snapshot does not hold it."""
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
            *decision,
        )

    def _decide(self, subnet: Subnet, table: RouteTable | None) -> _Decision:
        before_routing = self._before_routing(subnet, table)
        if before_routing:
            note = self._exclusion(subnet, table) if before_routing is Reason.EXCLUDED else ""
            return self._decision(before_routing, Outcome(before_routing, note=note), None)
        if table is None:
            unseen = Outcome(Reason.UNRESOLVED_EGRESS, note="its route table cannot be seen (ec2:DescribeRouteTables)")
            return self._decision(unseen.reason, unseen, None)
        traced = self.tracer.paths(table, subnet)
        # The tracer keeps what it traced, one tuple for each distinct decision, so its identity is a key.
        if id(traced) not in self._decisions:
            self._decisions[id(traced)] = self._worst(traced, table)
        return self._decisions[id(traced)]

    def _before_routing(self, subnet: Subnet, table: RouteTable | None) -> Reason | None:
        if subnet.owner_id != self._account.id:
            return Reason.NOT_OWNED
        if self._is_excluded(subnet, table):
            return Reason.EXCLUDED
        if self._parameters.scope is Scope.DIRECTORY_BUCKETS and self._account.lacks_directory_buckets(subnet.id):
            return Reason.NO_DIRECTORY_BUCKETS
        if not self.snapshot.express_prefix_lists:
            return Reason.SERVICE_NOT_OFFERED
        return None

    def _is_excluded(self, subnet: Subnet, table: RouteTable | None) -> bool:
        return bool(self._exclusion(subnet, table))

    def _exclusion(self, subnet: Subnet, table: RouteTable | None) -> str:
        """Which rule parameter excludes a subnet, and by which tag of which resource; empty if none does."""
        if not self._parameters.includes(subnet.vpc_id):
            return _NOT_LISTED
        wanted = self._parameters.exclude_tag
        tagged = (subnet, table, self.snapshot.vpcs.get(subnet.vpc_id))
        return next((f"tag {wanted} on {each.id}" for each in tagged if each and has_tag(each.tags, wanted)), "")

    def _worst(self, traced: Iterable[Traced], table: RouteTable) -> _Decision:
        worst = [(each, min(each.outcomes, key=self._severity)) for each in traced]
        reasons = {outcome.reason for _, outcome in worst}
        if Reason.ENDPOINT in reasons and reasons & NAT_REASONS:
            worst = [pair for pair in worst if pair[1].reason in NAT_REASONS]
        if not worst:
            return self._decision(Reason.NO_ROUTE, Outcome(Reason.NO_ROUTE), table)
        traced_worst, deciding = min(worst, key=lambda pair: (self._severity(pair[1]), pair[0].region))
        partly = Reason.ENDPOINT in reasons and deciding.reason in NAT_REASONS
        family = traced_worst.region.block.family
        return self._decision(Reason.PARTLY_NAT if partly else deciding.reason, deciding, table, family)

    def _severity(self, outcome: Outcome) -> tuple[bool, int, tuple[Hop, ...], str]:
        harmless = self._parameters.compliance_of(outcome.reason) is not Compliance.NON_COMPLIANT
        return harmless, SEVERITY_ORDER[outcome.reason], outcome.path, outcome.note

    def _decision(
        self, reason: Reason, deciding: Outcome, table: RouteTable | None, family: Family = Family.IPV4
    ) -> _Decision:
        compliance = self._parameters.compliance_of(reason)
        return _Decision(compliance, reason, annotate(reason, deciding, table, family), deciding.path, deciding.note)


def out_of_scope(account: Account, region: str, subnet_id: str) -> Verdict:
    """The verdict on a subnet that AWS Config says is no longer in the rule's scope."""
    return _outside(account, region, subnet_id, Outcome(Reason.EXCLUDED, note="it left the rule's scope"))


def outside_vpc_ids(account: Account, region: str, subnet_id: str, owner_id: str) -> Verdict:
    """The verdict on a subnet of a VPC that vpcIds leaves out: its owner's to decide, else excluded."""
    if owner_id != account.id:
        return _outside(account, region, subnet_id, Outcome(Reason.NOT_OWNED))
    return _outside(account, region, subnet_id, Outcome(Reason.EXCLUDED, note=_NOT_LISTED))


def deleted_verdict(account: Account, region: str, subnet_id: str) -> Verdict:
    """The verdict on a subnet that is gone."""
    return _outside(account, region, subnet_id, Outcome(Reason.DELETED))


def _outside(account: Account, region: str, subnet_id: str, why: Outcome) -> Verdict:
    annotation = annotate(why.reason, why, None)
    decided = (Compliance.NOT_APPLICABLE, why.reason, annotation, (), why.note)
    return Verdict(account.id, region, "", subnet_id, "", None, *decided)


def has_tag(tags: Tags, wanted: str) -> bool:
    """Whether tags hold the wanted key, or key=value; a key alone fits any value, and case counts.

    Keys and values may themselves hold "=", so every reading of the text counts.
    """
    return bool(tags) and (wanted in tags or any(tags.get(key) == value for key, value in _readings(wanted)))


@cache
def _readings(wanted: str) -> tuple[tuple[str, str], ...]:
    """Every way to read a text as key=value."""
    places = (place for place, character in enumerate(wanted) if character == "=")
    return tuple((wanted[:place], wanted[place + 1 :]) for place in places)
