"""The pre-flight of a heal: what it reads about the VPC, and what blocks the heal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from express_path.domain.heal.records import Blocker, Concern
from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import PrefixList, Route, TargetKind
from express_path.domain.path.routing import AddressSet, RoutingIndex, contains, overlap


@dataclass(frozen=True, slots=True)
class PortRange:
    """A range of ports, from the first to the last."""

    first: int
    last: int

    def __str__(self) -> str:
        """Return the range in the usual notation: 443, or 32768-60999."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    def contains(self, other: "PortRange") -> bool:
        """Return whether every port of another range is in this one."""
        return self.first <= other.first and other.last <= self.last

    def overlaps(self, other: "PortRange") -> bool:
        """Return whether this range has a port in common with another one."""
        return self.first <= other.last and other.first <= self.last


def tcp_ports(protocol: str, first: int | None, last: int | None) -> PortRange | None:
    """Return the TCP ports that a rule is about, None if it is not about TCP: -1, tcp, and 6 include it."""
    if protocol == "-1":
        return PortRange(0, 65535)
    if protocol not in ("tcp", "6") or first is None or last is None:
        return None
    return PortRange(first, last)


@dataclass(frozen=True, slots=True)
class EgressRule:
    """A security group's rule for outbound traffic. ports are its TCP ports, None if it is not about TCP."""

    ports: PortRange | None
    cidrs: tuple[Cidr, ...] = ()
    prefix_list_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AclEntry:
    """A network ACL's entry. Entries are checked in the order of their numbers, and the first that matches decides.

    ports are its TCP ports, None if it is not about TCP.
    """

    number: int
    egress: bool
    allow: bool
    ports: PortRange | None
    cidr: Cidr


@dataclass(frozen=True, slots=True)
class NetworkAcl:
    """The network ACL of some of the route table's subnets."""

    id: str
    entries: tuple[AclEntry, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy: its holder in words, such as a bucket's name, and its JSON text.

    If the text could not be read, it is empty, and fault says why. endpoint_id is None unless it is an endpoint's policy,
    and empty if that endpoint is not known. A name never says whose policy it is: a bucket may be called vpce-a--use1-az4--x-s3.
    """

    holder: str
    document: str
    fault: str = ""
    endpoint_id: str | None = None

    @property
    def name(self) -> str:
        """The name of the bucket or access point."""
        return self.holder.rpartition(" ")[2]


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota of VPCs: its code in Service Quotas, and its value.

    If the account's own value could not be read, value is AWS's default, and fault says why.
    """

    code: str
    value: int
    fault: str = ""

    def __str__(self) -> str:
        """Return the value, and why it is AWS's default if the account's own value could not be read."""
        return f"{self.value} (AWS's default, because {self.fault})" if self.fault else str(self.value)


ENDPOINT_QUOTA = Quota("L-1B52E74A", 20)
"""AWS's default of the gateway endpoints of a Region
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html)."""
ROUTE_QUOTA = Quota("L-93826ACB", 500)
"""AWS's default of the routes of a route table
(https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a pre-flight reads.

    group_sets are the sets of security groups that network interfaces of the subnets use. egress_rules are the rules of
    those groups that can be read. prefix_lists are the blocks of the prefix lists in these rules, None if the entries
    cannot be read. The quotas are AWS's defaults if the heal cannot exceed these.
    """

    group_sets: frozenset[frozenset[str]] = frozenset()
    egress_rules: Mapping[str, tuple[EgressRule, ...]] = field(default_factory=dict)
    prefix_lists: Mapping[str, tuple[Cidr, ...] | None] = field(default_factory=dict)
    network_acls: tuple[NetworkAcl, ...] = ()
    dns_support: bool = True
    dns_hostnames: bool = True
    policies: tuple[Policy, ...] = ()
    gateway_endpoints: int = 0
    endpoint_quota: Quota = ENDPOINT_QUOTA
    route_quota: Quota = ROUTE_QUOTA
    calendar_open: bool = True


HTTPS = PortRange(443, 443)
EPHEMERAL = PortRange(32768, 60999)
"""The ports that responses are sent to: Linux's default
(https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html#nacl-ephemeral-ports)."""


def preflight(evidence: Evidence, lists: Sequence[PrefixList], vpc_id: str) -> Iterator[Concern]:
    """Yield everything in the evidence that blocks a heal in a VPC; the endpoint adds routes to the prefix lists."""
    yield from _security_groups(evidence, lists)
    for acl in evidence.network_acls:
        yield from _network_acl(acl, [block for prefix_list in lists for block in prefix_list.cidrs or ()])
    if not (evidence.dns_support and evidence.dns_hostnames):
        yield Concern(
            Blocker.DNS_ATTRIBUTES,
            vpc_id,
            f"enableDnsSupport is {evidence.dns_support}, enableDnsHostnames is {evidence.dns_hostnames}",
            "enable both (aws ec2 modify-vpc-attribute), or make sure that your own DNS resolves zonal endpoints",
        )
    yield from calendar_concerns(evidence)


def calendar_concerns(evidence: Evidence) -> Iterator[Concern]:
    """Yield a concern if the change calendar does not allow a heal now."""
    if not evidence.calendar_open:
        yield Concern(
            Blocker.CHANGE_CALENDAR_CLOSED,
            "ChangeCalendarName",
            "the change calendar is CLOSED",
            "run the heal again when it is OPEN, or remove the calendar (stack parameter ChangeCalendarName)",
        )


def _security_groups(evidence: Evidence, lists: Sequence[PrefixList]) -> Iterator[Concern]:
    """Yield the sets of security groups that do not allow HTTPS to S3 Express.

    Interfaces without a security group, such as those of NAT gateways, are not filtered.
    """
    blocks_of = {**evidence.prefix_lists, **{prefix_list.id: prefix_list.cidrs for prefix_list in lists}}
    for groups in sorted(filter(None, evidence.group_sets), key=sorted):
        of_groups = (rule for group in groups for rule in evidence.egress_rules.get(group, ()))
        rules = [rule for rule in of_groups if rule.ports and rule.ports.contains(HTTPS)]
        named = {list_id for rule in rules for list_id in rule.prefix_list_ids}
        allowed = [block for rule in rules for block in rule.cidrs]
        allowed += [block for list_id in named for block in blocks_of.get(list_id) or ()]
        blocked = _first_uncovered(allowed, lists)
        if blocked:
            unread = dict.fromkeys(groups - evidence.egress_rules.keys(), "ec2:DescribeSecurityGroups")
            unread |= dict.fromkeys(
                (list_id for list_id in named if blocks_of.get(list_id) is None), "ec2:GetManagedPrefixListEntries"
            )
            yield _egress_concern(", ".join(sorted(groups)), blocked, unread)


@dataclass(frozen=True, slots=True)
class _ListedBlock:
    """A block of a prefix list."""

    block: Cidr
    list_id: str


def _first_uncovered(allowed: Sequence[Cidr], lists: Sequence[PrefixList]) -> _ListedBlock | None:
    """Return the first block of the prefix lists that the allowed blocks do not cover; None if they cover all."""
    for prefix_list in lists:
        for block in prefix_list.cidrs or ():
            if not _covers(allowed, block):
                return _ListedBlock(block, prefix_list.id)
    return None


def _egress_concern(groups: str, blocked: _ListedBlock, unread: Mapping[str, str]) -> Concern:
    """Return the concern about security groups; unread names the resources that hide a rule, and the operation."""
    evidence = f"{groups}: no rule allows outbound TCP 443 to {blocked.block}"
    fix = f"allow outbound TCP 443 to the prefix list {blocked.list_id}"
    if unread:
        hidden = ", ".join(f"{resource} cannot be read ({operation})" for resource, operation in sorted(unread.items()))
        evidence = f"{groups}: whether a rule allows outbound TCP 443 to {blocked.block} is unknown: {hidden}"
        fix += ", or allow the plan function's role to read it"
    return Concern(Blocker.SECURITY_GROUP_EGRESS, groups, evidence, fix)


def _covers(allowed: Iterable[Cidr], block: Cidr) -> bool:
    """Return whether the allowed blocks together contain every address of a block, as routes would match them."""
    routes = [Route(cidr, "allowed", TargetKind.UNKNOWN) for cidr in allowed]
    return all(routed.routes for routed in RoutingIndex(routes, {}).split(block))


@dataclass(frozen=True, slots=True)
class _AclCheck:
    """Traffic that a network ACL must allow: whether it is outbound, its ports, and its direction in words."""

    egress: bool
    ports: PortRange
    direction: str


_ACL_CHECKS = (
    _AclCheck(egress=True, ports=HTTPS, direction="outbound TCP {} to {}"),
    _AclCheck(egress=False, ports=EPHEMERAL, direction="inbound TCP {} from {}"),
)


def _network_acl(acl: NetworkAcl, blocks: Sequence[Cidr]) -> Iterator[Concern]:
    for check in _ACL_CHECKS:
        entries = sorted(
            (entry for entry in acl.entries if entry.egress is check.egress), key=lambda entry: entry.number
        )
        blocked = next((block for block in blocks if not _allows(entries, block, check.ports)), None)
        if blocked:
            yield Concern(
                Blocker.NETWORK_ACL,
                acl.id,
                f"{acl.id} does not allow " + check.direction.format(check.ports, blocked),
                f"allow it in {acl.id}; network ACLs do not support prefix lists, so allow each CIDR",
            )


def _allows(entries: Sequence[AclEntry], block: Cidr, ports: PortRange) -> bool:
    """Return whether the entries, in their order, allow every address and port before an entry denies one."""
    if not entries:
        return False
    entry, later = entries[0], entries[1:]
    matched = entry.ports
    if matched is None or not matched.overlaps(ports) or not overlap(entry.cidr, block):
        return _allows(later, block, ports)
    if not entry.allow:
        return False
    inside = entry.cidr if contains(block, entry.cidr) else block
    outside = () if inside == block else AddressSet(block, (inside,)).blocks()
    below = ports.first >= matched.first or _allows(later, inside, PortRange(ports.first, matched.first - 1))
    above = ports.last <= matched.last or _allows(later, inside, PortRange(matched.last + 1, ports.last))
    return below and above and all(_allows(later, remaining, ports) for remaining in outside)
