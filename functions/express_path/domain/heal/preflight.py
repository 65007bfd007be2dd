"""The pre-flight of a heal: what in a VPC would break, or be broken by, traffic through the endpoint."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from express_path.domain.heal.evidence import AclEntry, Evidence, NetworkAcl, Policy, Ports
from express_path.domain.heal.records import Blocker, Finding
from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import PrefixList, Route
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.routing import AddressSet, RoutingIndex, contains, overlap

HTTPS = (443, 443)
EPHEMERAL = (32768, 60999)
"""The ports to which answers come back: what Linux uses by default
(https://docs.aws.amazon.com/vpc/latest/userguide/custom-network-acl.html#nacl-ephemeral-ports)."""


def preflight(evidence: Evidence, lists: Sequence[PrefixList]) -> Iterator[Finding]:
    """All that the evidence holds against a heal; lists are those whose routes the endpoint brings."""
    yield from _security_groups(evidence, lists)
    for acl in evidence.network_acls:
        yield from _network_acl(acl, [block for each in lists for block in each.cidrs or ()])
    yield from _source_ip_policies(evidence.policies)
    if not (evidence.dns_support and evidence.dns_hostnames):
        yield Finding(
            Blocker.DNS_ATTRIBUTES,
            f"enableDnsSupport is {evidence.dns_support}, enableDnsHostnames is {evidence.dns_hostnames}",
            "switch both on (aws ec2 modify-vpc-attribute), or make sure that your own DNS resolves zonal endpoints",
        )
    yield from calendar_findings(evidence)


def calendar_findings(evidence: Evidence) -> Iterator[Finding]:
    """Whether the change calendar forbids a heal now."""
    if not evidence.calendar_open:
        yield Finding(
            Blocker.CHANGE_CALENDAR_CLOSED,
            "the change calendar is CLOSED",
            "run again when it is open, or start the runbook without a calendar",
        )


def _security_groups(evidence: Evidence, lists: Sequence[PrefixList]) -> Iterator[Finding]:
    """Interfaces without any group, such as those of NAT gateways, filter nothing."""
    known = {**evidence.prefix_lists, **{each.id: each.cidrs for each in lists}}
    for groups in sorted(filter(None, evidence.group_sets), key=sorted):
        rules = [each for group in groups for each in evidence.egress_rules.get(group, ()) if _spans(each.ports, HTTPS)]
        named = {list_id for rule in rules for list_id in rule.prefix_list_ids}
        allowed = [block for rule in rules for block in rule.cidrs]
        allowed += [block for list_id in named for block in known.get(list_id) or ()]
        closed = [(each, block) for each in lists for block in each.cidrs or () if not _covers(allowed, block)]
        if closed:
            unread = dict.fromkeys(groups - evidence.egress_rules.keys(), "ec2:DescribeSecurityGroups")
            unread |= dict.fromkeys(
                (each for each in named if known.get(each) is None), "ec2:GetManagedPrefixListEntries"
            )
            yield _closed(", ".join(sorted(groups)), *closed[0], unread)


def _closed(groups: str, brought: PrefixList, block: Cidr, unread: Mapping[str, str]) -> Finding:
    """What is not let out to, or what, with the operation that would read it, hides whether it is."""
    evidence, cure = f"{groups} lets no TCP 443 out to {block}", f"allow egress TCP 443 to the prefix list {brought.id}"
    if unread:
        hidden = ", ".join(f"{each} cannot be read ({operation})" for each, operation in sorted(unread.items()))
        evidence = f"whether {groups} lets TCP 443 out to {block} is unknown: {hidden}"
        cure += ", or let it be read"
    return Finding(Blocker.SECURITY_GROUP_EGRESS, evidence, cure)


def _covers(allowed: Iterable[Cidr], block: Cidr) -> bool:
    """Whether the allowed blocks together hold every address of a block: as routes, they would leave no part out."""
    routes = [Route(each, "allowed", TargetKind.UNKNOWN) for each in allowed]
    return all(part.routes for part in RoutingIndex(routes, {}).split(block))


def _network_acl(acl: NetworkAcl, blocks: Sequence[Cidr]) -> Iterator[Finding]:
    for egress, (first, last), way in ((True, HTTPS, "out to"), (False, EPHEMERAL, "back in from")):
        entries = sorted((each for each in acl.entries if each.egress is egress), key=lambda each: each.number)
        closed = [block for block in blocks if not _lets_through(entries, block, first, last)]
        if closed:
            ports = str(first) if first == last else f"{first}-{last}"
            yield Finding(
                Blocker.NETWORK_ACL,
                f"{acl.id} does not let TCP {ports} {way} {closed[0]}",
                f"allow it in {acl.id}; network ACLs cannot name a prefix list, so list its blocks",
            )


def _lets_through(entries: Sequence[AclEntry], block: Cidr, first: int, last: int) -> bool:
    """Whether, entry by entry, every address and port is allowed before any is denied."""
    if not entries:
        return False
    entry, later = entries[0], entries[1:]
    ports = entry.ports.range()
    if ports is None or ports[1] < first or last < ports[0] or not overlap(entry.cidr, block):
        return _lets_through(later, block, first, last)
    if not entry.allow:
        return False
    inside = entry.cidr if contains(block, entry.cidr) else block
    elsewhere = () if inside == block else AddressSet(block, (inside,)).blocks()
    below = first >= ports[0] or _lets_through(later, inside, first, ports[0] - 1)
    above = last <= ports[1] or _lets_through(later, inside, ports[1] + 1, last)
    return below and above and all(_lets_through(later, each, first, last) for each in elsewhere)


def _spans(ports: Ports, wanted: tuple[int, int]) -> bool:
    found = ports.range()
    return found is not None and found[0] <= wanted[0] and wanted[1] <= found[1]


def _source_ip_policies(policies: Iterable[Policy]) -> Iterator[Finding]:
    for policy in policies:
        if policy.fault:
            yield Finding(
                Blocker.SOURCE_IP_POLICY,
                f"whether the policy of {policy.holder} asks for aws:SourceIp is unknown: {policy.fault}",
                "let the plan function's role read it (stack output PlanRoleArn), or check it yourself and let "
                "SOURCE_IP_POLICY only warn (stack parameter WarnOnly)",
            )
        elif _names_source_ip(json.loads(policy.document)):
            yield Finding(
                Blocker.SOURCE_IP_POLICY,
                f"the policy of {policy.holder} asks for aws:SourceIp, which no request through an endpoint has",
                "use aws:SourceVpce, aws:SourceVpc or aws:VpcSourceIp instead",
            )


def _names_source_ip(value: object) -> bool:
    if isinstance(value, dict):
        return any(str(key).lower() == "aws:sourceip" or _names_source_ip(below) for key, below in value.items())
    return isinstance(value, list) and any(_names_source_ip(each) for each in value)
