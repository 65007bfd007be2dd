"""A second, slow implementation of the rule: it checks every address, route and hop, without indexes or merged ranges.

It shares only the records that it reads with the domain. Addresses are those of `ipaddress`.
"""

from collections.abc import Iterator
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import chain
from typing import NamedTuple

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import (
    NetworkInterface,
    PrefixList,
    Route,
    RouteTable,
    Subnet,
    TransitGatewayAttachment,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.parameters import RuleParameters

Address = IPv4Address | IPv6Address
Block = IPv4Network | IPv6Network
ROWS = (
    "PARTLY_NAT",
    "NAT_GATEWAY",
    "NAT_INSTANCE",
    "NAT_BEHIND_APPLIANCE",
    "NAT_BEYOND_TRANSIT_GATEWAY",
    "UNRESOLVED_EGRESS",
    "INTERNET_GATEWAY",
    "ENDPOINT",
    "DROPPED",
    "NO_ROUTE",
)
NATS = set(ROWS[1:5])
NAT64 = ip_network("64:ff9b::/96")
ENDS = {"nat": "NAT_GATEWAY", "igw": "INTERNET_GATEWAY", "eigw": "INTERNET_GATEWAY", "local": "NO_ROUTE"}
NOWHERE, DROPPED, UNKNOWN = frozenset({"NO_ROUTE"}), frozenset({"DROPPED"}), frozenset({"UNRESOLVED_EGRESS"})
MODES = ("off", "block-ingress", "unknown", "block-bidirectional")


class Walk(NamedTuple):
    """The state of an address on its path: visited route tables, Availability Zone, and restrictions on the next hops.

    seen has the visited tables, each with the IP version of the address there. mode is the strictest mode of Block
    Public Access on the way.
    """

    seen: tuple[tuple[str, int], ...]
    zone: str
    mode: str
    skip_gateway_endpoints: bool = False


@cache
def block_of(cidr: Cidr) -> Block:
    """Return a block as an `ipaddress` network."""
    return ip_network(str(cidr))


class BruteForce:
    """An evaluator that evaluates each subnet from the start."""

    def __init__(self, snapshot: Snapshot, parameters: RuleParameters) -> None:
        """Keep the snapshot and the parameters."""
        self.snapshot = snapshot
        self.parameters = parameters

    def verdict(self, subnet_id: str) -> tuple[str, str]:
        """Return the compliance and the reason of a subnet."""
        subnet = self.snapshot.subnets.get(subnet_id)
        if subnet is None:
            return "NOT_APPLICABLE", "DELETED"
        table = self.governing_table(subnet)
        decided = self.before_routing(subnet, table)
        if decided:
            return "NOT_APPLICABLE", decided
        if table is None:
            return self.compliance("UNRESOLVED_EGRESS"), "UNRESOLVED_EGRESS"
        used = {self.worst(self.fate(address, table, subnet)) for address in self.addresses(subnet)}
        used |= self.doubts(subnet, table)
        if subnet.has_ipv6 and self.may_have_another_list() and self.leads_somewhere_by_ipv6(table):
            used.add("UNRESOLVED_EGRESS")
        reason = "PARTLY_NAT" if "ENDPOINT" in used and used & NATS else self.worst(used or NOWHERE)
        return self.compliance(reason), reason

    def may_have_another_list(self) -> bool:
        """Return whether S3 Express may have an IPv6 list that nobody has seen."""
        families = {found.family.value for found in (*self.express_prefix_lists(), *self.doubtful_prefix_lists())}
        return "IPv6" not in families and not self.snapshot.lists_ipv6_prefix_lists

    def leads_somewhere_by_ipv6(self, table: RouteTable) -> bool:
        """Return whether a table has a route, other than a local one, that may match an IPv6 address."""
        for route in table.routes:
            if route.target_id == "local":
                continue
            if self.may_match(route, 6):
                return True
        return False

    def compliance(self, reason: str) -> str:
        """Return the compliance of a reason."""
        if reason == "UNRESOLVED_EGRESS":
            return self.parameters.unresolved_egress
        if reason == "INTERNET_GATEWAY":
            return self.parameters.public_subnets
        if reason in NATS or reason == "PARTLY_NAT":
            return "NON_COMPLIANT"
        return "COMPLIANT" if reason == "ENDPOINT" else "NOT_APPLICABLE"

    def worst(self, reasons: set[str] | frozenset[str]) -> str:
        """Return the worst reason: first any that is NON_COMPLIANT under the parameters, then in the order of ROWS."""
        return min(reasons, key=lambda reason: (self.compliance(reason) != "NON_COMPLIANT", ROWS.index(reason)))

    def before_routing(self, subnet: Subnet, table: RouteTable | None) -> str | None:
        """Return the reason that is decided before routing, if any."""
        wanted, parameters = self.parameters.exclude_tag, self.parameters
        tagged = [subnet.tags, *([table.tags] if table else [])]
        vpc = self.snapshot.vpcs.get(subnet.vpc_id)
        tagged += [vpc.tags] if vpc else []
        if subnet.owner_id != self.snapshot.account_id:
            return "NOT_OWNED"
        if parameters.vpc_ids and subnet.vpc_id not in parameters.vpc_ids:
            return "EXCLUDED"
        if any(wanted in (key, f"{key}={value}") for tags in tagged for key, value in tags.items()):
            return "EXCLUDED"
        shared = self.snapshot.shared_subnet_ids
        nobody_has_one = self.snapshot.has_directory_buckets is False and shared is not None and subnet.id not in shared
        if parameters.scope == "DIRECTORY_BUCKETS" and nobody_has_one:
            return "NO_DIRECTORY_BUCKETS"
        listed = [*self.express_prefix_lists(), *self.doubtful_prefix_lists()]
        return None if listed else "SERVICE_NOT_OFFERED"

    def express_prefix_lists(self) -> Iterator[PrefixList]:
        """Yield the Region's S3 Express prefix lists."""
        for prefix_list in self.snapshot.prefix_lists.values():
            service = prefix_list.name.removeprefix("cn.").removeprefix("com.amazonaws.").replace(".ipv6.", ".")
            if prefix_list.aws_owned and service == f"{self.snapshot.region}.s3express":
                yield prefix_list

    def doubtful_prefix_lists(self) -> Iterator[PrefixList]:
        """Yield AWS's other lists whose name contains the service's, unless they are of another Region."""
        for prefix_list in self.snapshot.prefix_lists.values():
            is_other = "s3express" in prefix_list.name and prefix_list not in [*self.express_prefix_lists()]
            if prefix_list.aws_owned and is_other and "eu-west-1" not in prefix_list.name:
                yield prefix_list

    def doubts(self, subnet: Subnet, table: RouteTable) -> set[str]:
        """Return what may happen to the addresses of doubtful lists: unknown if any route may carry their family."""
        found = set()
        for prefix_list in self.doubtful_prefix_lists():
            versions = [6] if prefix_list.family == "IPv6" else [4, 6]
            uses = {4: not subnet.ipv6_native, 6: subnet.has_ipv6 and (prefix_list.family == "IPv6" or subnet.dns64)}
            for version in filter(uses.__getitem__, versions):
                routes = [route for route in table.routes if route.state != "blackhole" and route.target_id != "local"]
                carries = any(self.may_match(route, version) for route in routes)
                found.add("UNRESOLVED_EGRESS" if carries else "NO_ROUTE")
        return found

    def may_match(self, route: Route, version: int) -> bool:
        """Return whether a route may match an address of an IP version."""
        if any(block.version == version for block, _ in self.destinations(route)):
            return True
        if not isinstance(route.destination, str):
            return False
        found = self.snapshot.prefix_lists.get(route.destination)
        return found is None or (found.cidrs is None and found.family == f"IPv{version}")

    def addresses(self, subnet: Subnet) -> Iterator[Address]:
        """Yield every S3 Express address that hosts in the subnet can use."""
        blocks = (block for found in self.express_prefix_lists() for block in found.cidrs or ())
        for address in chain.from_iterable(map(block_of, blocks)):
            if address.version == 6:
                yield from [address] * subnet.has_ipv6
                continue
            yield from [address] * (not subnet.ipv6_native)
            if subnet.dns64 and subnet.has_ipv6:
                yield ip_address(int(NAT64.network_address) + int(address))

    def governing_table(self, subnet: Subnet) -> RouteTable | None:
        """Return the table associated with the subnet, otherwise the main table of its VPC if all tables are listed."""
        tables = self.snapshot.route_tables.values()
        found = [(table, association) for table in tables for association in table.associations]
        if not {*subnet.table_ids} <= {*self.snapshot.route_tables}:
            return None
        own = [(table, association) for table, association in found if association.subnet_id == subnet.id]
        main = [
            (table, association) for table, association in found if association.main and table.vpc_id == subnet.vpc_id
        ]
        for claims in (own, main):
            for state in ("associating", "associated"):
                claiming = {table.id: table for table, association in claims if association.state == state}
                if claiming:
                    return next(iter(claiming.values())) if len(claiming) == 1 else None
            if self.lists_tables_in_part(subnet.vpc_id):
                return None
        return None

    def lists_tables_in_part(self, vpc_id: str) -> bool:
        """Return whether an endpoint or a NAT gateway of a VPC, not being deleted, names a table that is not listed."""
        for gateway in self.snapshot.nat_gateways.values():
            names_another = gateway.route_table_id and gateway.route_table_id not in self.snapshot.route_tables
            if gateway.vpc_id == vpc_id and names_another and gateway.state not in ("failed", "deleting", "deleted"):
                return True
        return any(
            endpoint.vpc_id == vpc_id and endpoint.state in ("available", "pending")
            for endpoint in self.snapshot.vpc_endpoints.values()
            if not {*endpoint.route_table_ids} <= {*self.snapshot.route_tables}
        )

    def fate(self, address: Address, table: RouteTable, subnet: Subnet) -> frozenset[str]:
        """Return every reason that may apply to an address of a subnet; only a NAT translates NAT64 addresses."""
        fates = self.leave(address, table, Walk((), subnet.availability_zone_id, subnet.block_mode.value))
        if address in NAT64:
            return frozenset("NO_ROUTE" if reason in ("INTERNET_GATEWAY", "ENDPOINT") else reason for reason in fates)
        return fates

    def leave(self, address: Address, table: RouteTable, walk: Walk) -> frozenset[str]:
        """Return every reason that may apply to an address that follows a VPC's route table."""
        if (table.id, address.version) in walk.seen:
            return UNKNOWN
        routes = [
            route for route in table.routes if not (walk.skip_gateway_endpoints and self.is_gateway_endpoint(route))
        ]
        here = walk._replace(seen=(*walk.seen, (table.id, address.version)))
        fates: frozenset[str] = frozenset()
        for winner in list(self.winners(address, routes)) or [None]:
            fates |= self.follow(address, winner, table, here) if winner else NOWHERE
            fates |= UNKNOWN if self.may_be_overridden(address, routes, winner) else frozenset()
        return fates

    def winners(self, address: Address, routes: list[Route]) -> Iterator[Route]:
        """Yield the routes with the longest prefix that contains the address and, among these, the best rank."""
        matching = []
        for route in routes:
            for block, listed in self.destinations(route):
                if address in block:
                    ranks = {"PROPAGATED": 2, "SYSTEM": 3}
                    matching.append((-block.prefixlen, ranks.get(route.rank.name, int(listed)), route))
        best = min((match[:2] for match in matching), default=(0, 0))
        yield from (route for length, rank, route in matching if length == best[0] and rank in (best[1], 3))

    def destinations(self, route: Route) -> Iterator[tuple[Block, bool]]:
        """Yield the blocks of a route's destination, and whether they come from a prefix list."""
        if isinstance(route.destination, str):
            found = self.snapshot.prefix_lists.get(route.destination)
            yield from ((block_of(cidr), True) for cidr in (found.cidrs if found else None) or ())
        else:
            yield block_of(route.destination), False

    def may_be_overridden(self, address: Address, routes: list[Route], winner: Route | None) -> bool:
        """Return whether a prefix list that cannot be read may send the address elsewhere."""
        own = winner.target_id if winner else None
        for route in routes:
            if isinstance(route.destination, str) and route.state != "blackhole" and route.target_id != own:
                found = self.snapshot.prefix_lists.get(route.destination)
                if found is None or (found.cidrs is None and found.family == f"IPv{address.version}"):
                    return True
        return False

    def is_gateway_endpoint(self, route: Route) -> bool:
        """Return whether a route leads to a gateway endpoint."""
        found = self.snapshot.vpc_endpoints.get(route.target_id)
        return found is not None and found.endpoint_type == "gateway"

    def follow(self, address: Address, route: Route, table: RouteTable, walk: Walk) -> frozenset[str]:
        """Return every reason that may apply to an address that uses this route."""
        if route.state == "blackhole":
            return DROPPED
        kind = route.target_id.partition("-")[0]
        if kind == "nat":
            return self.nat_gateway(address, route.target_id)
        if kind in ENDS:
            return self.end(kind, walk)
        if kind == "vpce":
            return self.enter_endpoint(address, route, walk)
        if kind in ("eni", "i"):
            return self.enter_interface(address, route.target_id, walk)
        if kind == "tgw":
            return self.enter_transit_gateway(address, route.target_id, table.vpc_id, walk)
        return UNKNOWN

    def end(self, kind: str, walk: Walk) -> frozenset[str]:
        """Return the reasons at the end of a path; an internet gateway can be closed."""
        if kind != "local" and walk.mode == "block-bidirectional":
            return DROPPED
        if walk.mode == "block-ingress" and kind == "igw":
            return UNKNOWN
        if walk.mode == "unknown" and kind != "local" and not walk.skip_gateway_endpoints:
            return UNKNOWN
        return frozenset({ENDS[kind]})

    def nat_gateway(self, address: Address, gateway_id: str) -> frozenset[str]:
        """Return the reasons at a NAT gateway: public ones can be closed, and a private one never is."""
        found = self.snapshot.nat_gateways.get(gateway_id)
        if found is None or found.connectivity == "private":
            return frozenset({"NAT_GATEWAY"})
        if not found.subnet_id:
            vpc = self.snapshot.vpcs.get(found.vpc_id)
            is_closed = vpc is not None and vpc.block_mode == "block-bidirectional"
            return UNKNOWN if is_closed else frozenset({"NAT_GATEWAY"})
        subnet = self.snapshot.subnets.get(found.subnet_id)
        table = self.governing_table(subnet) if subnet else None
        if subnet is None or table is None or subnet.block_mode != "block-bidirectional":
            return frozenset({"NAT_GATEWAY"})
        outside = ip_address(int(address) - int(NAT64.network_address)) if address in NAT64 else address
        winners = list(self.winners(outside, list(table.routes)))
        to_internet = [winner.target_id.startswith("igw-") and winner.state == "active" for winner in winners]
        hidden = [
            route for route in table.routes if isinstance(route.destination, str) and self.may_hide(outside, route)
        ]
        return DROPPED if winners and all(to_internet) and not hidden else frozenset({"NAT_GATEWAY"})

    def may_hide(self, address: Address, route: Route) -> bool:
        """Return whether a route's prefix list may match an address because its entries cannot be read."""
        found = self.snapshot.prefix_lists.get(str(route.destination))
        return found is None or (found.cidrs is None and found.family == f"IPv{address.version}")

    def enter_endpoint(self, address: Address, route: Route, walk: Walk) -> frozenset[str]:
        """Return the reasons at an endpoint. The path continues only behind an appliance's endpoint."""
        found = self.snapshot.vpc_endpoints.get(route.target_id)
        if found is None:
            return UNKNOWN
        if found.endpoint_type == "gateway":
            serves = found.service_name.endswith("s3express") and found.state == "available"
            return frozenset({"ENDPOINT"}) if serves else UNKNOWN
        if found.endpoint_type != "gatewayloadbalancer":
            return UNKNOWN
        firewalls = [
            firewall for firewall in (self.snapshot.firewalls or {}).values() if found.id in firewall.endpoint_ids
        ]
        if any(firewall.translates for firewall in firewalls):
            return frozenset({"NAT_BEHIND_APPLIANCE"})
        fates = frozenset(map(behind, self.leave_subnet(address, found.subnet_ids[0], walk)))
        return fates if firewalls else only_nats(fates)

    def leave_subnet(self, address: Address, subnet_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons for traffic that continues with the route table of another subnet."""
        subnet = self.snapshot.subnets.get(subnet_id)
        table = self.governing_table(subnet) if subnet else None
        if subnet is None or table is None:
            return UNKNOWN
        mode = max(walk.mode, subnet.block_mode.value, key=MODES.index)
        return self.leave(address, table, walk._replace(zone=subnet.availability_zone_id, mode=mode))

    def enter_interface(self, address: Address, target_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons at a network interface: a NAT instance, another appliance, or no forwarding."""
        found = self.interface(target_id)
        if found is None or found.source_dest_check:
            return UNKNOWN
        here = walk._replace(mode="off")
        if address.version == 4:
            return self.translate(address, found.subnet_id, here)
        unchanged = only_nats(frozenset(map(behind, self.leave_subnet(address, found.subnet_id, here))))
        if address not in NAT64:
            return unchanged
        ipv4 = ip_address(int(address) - int(NAT64.network_address))
        return unchanged | self.translate(ipv4, found.subnet_id, here)

    def translate(self, address: Address, subnet_id: str, walk: Walk) -> frozenset[str]:
        """Return NAT_INSTANCE if an internet gateway follows, otherwise the reasons behind an appliance."""
        past_endpoints = self.leave_subnet(address, subnet_id, walk._replace(skip_gateway_endpoints=True))
        fates = frozenset({"NAT_INSTANCE"} if "INTERNET_GATEWAY" in past_endpoints else ())
        if past_endpoints != {"INTERNET_GATEWAY"}:
            fates |= only_nats(frozenset(map(behind, self.leave_subnet(address, subnet_id, walk))))
        return fates

    def interface(self, target_id: str) -> NetworkInterface | None:
        """Return the interface with this id, or the primary interface of this instance."""
        for interface in (self.snapshot.network_interfaces or {}).values():
            if target_id == interface.id or (target_id == interface.instance_id and interface.device_index == 0):
                return interface
        return None

    def enter_transit_gateway(self, address: Address, gateway_id: str, vpc_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons beyond a transit gateway, where only a NAT, no route, or a drop is certain."""
        for attachment in (self.snapshot.transit_gateway_attachments or {}).values():
            came_from = (
                attachment.transit_gateway_id,
                attachment.resource_type,
                attachment.resource_id,
                attachment.state,
            )
            if came_from == (gateway_id, "vpc", vpc_id, "available"):
                if self.is_left_out(attachment, walk.zone):
                    return DROPPED
                return frozenset(map(beyond, self.cross(address, attachment.route_table_id, walk)))
        return UNKNOWN

    def is_left_out(self, attachment: TransitGatewayAttachment, zone: str) -> bool:
        """Return whether it is certain that an attachment has no subnet in an Availability Zone."""
        listed = [self.snapshot.subnets.get(subnet_id) for subnet_id in attachment.subnet_ids or ["unseen"]]
        zones = {subnet.availability_zone_id for subnet in listed if subnet}
        parts = zone.split("-")
        return None not in listed and not zones & {zone, ""} and len(parts) == 2 and parts[1].startswith("az")

    def cross(self, address: Address, table_id: str | None, walk: Walk) -> frozenset[str]:
        """Return the reasons for an address that follows a transit gateway's route table."""
        table = (self.snapshot.transit_gateway_route_tables or {}).get(table_id or "")
        if table is None or table.truncated or (table.id, address.version) in walk.seen:
            return UNKNOWN
        here = walk._replace(seen=(*walk.seen, (table.id, address.version)))
        winners = list(self.winners(address, list(table.routes)))
        return frozenset().union(*(self.arrive(address, route, here) for route in winners)) if winners else NOWHERE

    def arrive(self, address: Address, route: Route, walk: Walk) -> frozenset[str]:
        """Return the reasons for an address that a transit gateway sends to an attachment."""
        if route.state == "blackhole":
            return DROPPED
        to = (self.snapshot.transit_gateway_attachments or {}).get(route.target_id)
        if to is None or to.state != "available":
            return UNKNOWN
        if to.resource_type == "network-function":
            return self.cross(address, to.route_table_id, walk)
        if to.resource_type != "vpc" or not to.subnet_ids:
            return UNKNOWN
        return frozenset().union(
            *(self.leave_subnet(address, subnet_id, walk) for subnet_id in self.entries(to, walk.zone))
        )

    def entries(self, attachment: TransitGatewayAttachment, zone: str) -> tuple[str, ...]:
        """Return the attachment subnets that traffic may enter: those of its own zone, or all if there are none."""
        subnets = attachment.subnet_ids or ()
        known = self.snapshot.subnets
        near = tuple(
            subnet_id for subnet_id in subnets if subnet_id in known and known[subnet_id].availability_zone_id == zone
        )
        return near if near and not attachment.appliance_mode else subnets


def behind(reason: str) -> str:
    """Return a reason as it is reported behind an appliance; a transit gateway takes precedence."""
    return "NAT_BEHIND_APPLIANCE" if reason in NATS - {"NAT_BEYOND_TRANSIT_GATEWAY"} else reason


def only_nats(reasons: frozenset[str]) -> frozenset[str]:
    """Return the reasons behind an appliance that may translate: everything except a NAT is unknown."""
    return frozenset(reason if reason in NATS else "UNRESOLVED_EGRESS" for reason in reasons)


def beyond(reason: str) -> str:
    """Return a reason as it is reported beyond a transit gateway: a NAT, no way out, or unknown."""
    if reason in NATS:
        return "NAT_BEYOND_TRANSIT_GATEWAY"
    return reason if reason in ("NO_ROUTE", "DROPPED") else "UNRESOLVED_EGRESS"
