"""The pre-flight of a heal: what in a VPC would block traffic through the endpoint."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from express_path.domain.heal.evidence import AclEntry, Evidence, NetworkAcl, Policy, PortRange, Ports
from express_path.domain.heal.records import Blocker, Finding
from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import PrefixList, Route
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.routing import AddressSet, RoutingIndex, contains, overlap

HTTPS = PortRange(443, 443)
EPHEMERAL = PortRange(32768, 60999)
"""The ports that responses are sent to: Linux's default
(https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html#nacl-ephemeral-ports)."""


def preflight(evidence: Evidence, lists: Sequence[PrefixList]) -> Iterator[Finding]:
    """Yield everything in the evidence that blocks a heal; the endpoint adds routes to the prefix lists."""
    yield from _security_groups(evidence, lists)
    for acl in evidence.network_acls:
        yield from _network_acl(acl, [block for prefix_list in lists for block in prefix_list.cidrs or ()])
    yield from _source_ip_policies(evidence.policies)
    if not (evidence.dns_support and evidence.dns_hostnames):
        yield Finding(
            Blocker.DNS_ATTRIBUTES,
            f"enableDnsSupport is {evidence.dns_support}, enableDnsHostnames is {evidence.dns_hostnames}",
            "enable both (aws ec2 modify-vpc-attribute), or make sure that your own DNS resolves zonal endpoints",
        )
    yield from calendar_findings(evidence)


def calendar_findings(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the change calendar does not allow a heal now."""
    if not evidence.calendar_open:
        yield Finding(
            Blocker.CHANGE_CALENDAR_CLOSED,
            "the change calendar is CLOSED",
            "run the heal again when it is OPEN, or remove the calendar (stack parameter ChangeCalendarName)",
        )


def _security_groups(evidence: Evidence, lists: Sequence[PrefixList]) -> Iterator[Finding]:
    """Yield the sets of security groups that do not allow HTTPS to S3 Express.

    Interfaces without a security group, such as those of NAT gateways, are not filtered.
    """
    blocks_of = {**evidence.prefix_lists, **{prefix_list.id: prefix_list.cidrs for prefix_list in lists}}
    for groups in sorted(filter(None, evidence.group_sets), key=sorted):
        rules = [rule for group in groups for rule in evidence.egress_rules.get(group, ()) if _allows_https(rule.ports)]
        named = {list_id for rule in rules for list_id in rule.prefix_list_ids}
        allowed = [block for rule in rules for block in rule.cidrs]
        allowed += [block for list_id in named for block in blocks_of.get(list_id) or ()]
        blocked = _first_uncovered(allowed, lists)
        if blocked:
            unread = dict.fromkeys(groups - evidence.egress_rules.keys(), "ec2:DescribeSecurityGroups")
            unread |= dict.fromkeys(
                (list_id for list_id in named if blocks_of.get(list_id) is None), "ec2:GetManagedPrefixListEntries"
            )
            yield _egress_finding(", ".join(sorted(groups)), blocked, unread)


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


def _egress_finding(groups: str, blocked: _ListedBlock, unread: Mapping[str, str]) -> Finding:
    """Return the finding about security groups; unread names the resources that hide a rule, and the operation."""
    evidence = f"{groups}: no rule allows outbound TCP 443 to {blocked.block}"
    cure = f"allow outbound TCP 443 to the prefix list {blocked.list_id}"
    if unread:
        hidden = ", ".join(f"{resource} cannot be read ({operation})" for resource, operation in sorted(unread.items()))
        evidence = f"{groups}: whether a rule allows outbound TCP 443 to {blocked.block} is unknown: {hidden}"
        cure += ", or allow the plan function's role to read it"
    return Finding(Blocker.SECURITY_GROUP_EGRESS, evidence, cure)


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


def _network_acl(acl: NetworkAcl, blocks: Sequence[Cidr]) -> Iterator[Finding]:
    for check in _ACL_CHECKS:
        entries = sorted(
            (entry for entry in acl.entries if entry.egress is check.egress), key=lambda entry: entry.number
        )
        blocked = next((block for block in blocks if not _allows(entries, block, check.ports)), None)
        if blocked:
            yield Finding(
                Blocker.NETWORK_ACL,
                f"{acl.id} does not allow " + check.direction.format(check.ports, blocked),
                f"allow it in {acl.id}; network ACLs do not support prefix lists, so allow each CIDR",
            )


def _allows(entries: Sequence[AclEntry], block: Cidr, ports: PortRange) -> bool:
    """Return whether the entries, in their order, allow every address and port before an entry denies one."""
    if not entries:
        return False
    entry, later = entries[0], entries[1:]
    matched = entry.ports.tcp_range()
    if matched is None or not matched.overlaps(ports) or not overlap(entry.cidr, block):
        return _allows(later, block, ports)
    if not entry.allow:
        return False
    inside = entry.cidr if contains(block, entry.cidr) else block
    outside = () if inside == block else AddressSet(block, (inside,)).blocks()
    below = ports.first >= matched.first or _allows(later, inside, PortRange(ports.first, matched.first - 1))
    above = ports.last <= matched.last or _allows(later, inside, PortRange(matched.last + 1, ports.last))
    return below and above and all(_allows(later, rest, ports) for rest in outside)


def _allows_https(ports: Ports) -> bool:
    tcp_ports = ports.tcp_range()
    return tcp_ports is not None and tcp_ports.contains(HTTPS)


def _source_ip_policies(policies: Iterable[Policy]) -> Iterator[Finding]:
    for policy in policies:
        if policy.fault:
            yield Finding(
                Blocker.SOURCE_IP_POLICY,
                f"whether the policy of {policy.holder} uses aws:SourceIp is unknown: {policy.fault}",
                "allow the plan function's role to read it (stack output PlanRoleArn), or check it yourself and make "
                "SOURCE_IP_POLICY a warning (stack parameter WarnOnly)",
            )
        elif _uses_source_ip(json.loads(policy.document)):
            yield Finding(
                Blocker.SOURCE_IP_POLICY,
                f"the policy of {policy.holder} uses aws:SourceIp, which requests through an endpoint do not have",
                "use aws:SourceVpce, aws:SourceVpc, or aws:VpcSourceIp instead",
            )


def _uses_source_ip(value: object) -> bool:
    if isinstance(value, dict):
        return any(str(key).lower() == "aws:sourceip" or _uses_source_ip(below) for key, below in value.items())
    return isinstance(value, list) and any(map(_uses_source_ip, value))
