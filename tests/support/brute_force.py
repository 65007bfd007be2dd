"""A second, slow implementation of the rule: it checks every address, route and hop, without indexes or merged ranges.

It shares only the records that it reads with the domain. Addresses are those of `ipaddress`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import chain, product
from typing import Any, NamedTuple

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import (
    Firewall,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Route,
    RouteTable,
    Subnet,
    TransitGatewayAttachment,
    VpcEndpoint,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.parameters import RuleParameters

Address = IPv4Address | IPv6Address
Block = IPv4Network | IPv6Network
Lists = dict[str, PrefixList]
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
    """An evaluator that evaluates each subnet from the start.

    others are what further accounts see of the same Region. Wherever a path meets a resource, each description of it counts.
    """

    def __init__(self, snapshot: Snapshot, parameters: RuleParameters, *others: Snapshot) -> None:
        """Keep the snapshots and the parameters."""
        self.views = (snapshot, *others)
        self.snapshot = snapshot
        self.parameters = parameters
        self.ids = {
            kind: {key: None for view in self.views for key in getattr(view, kind) or ()}
            for kind in ("subnets", "route_tables", "vpc_endpoints", "nat_gateways", "prefix_lists")
        }

    def described(self, kind: str, key: str | None) -> list[Any]:
        """Return the distinct descriptions of a resource."""
        records = [(getattr(view, kind) or {}).get(key) for view in self.views]
        return [record for place, record in enumerate(records) if record is not None and record not in records[:place]]

    def subnets(self, key: str | None) -> list[Subnet]:
        """Return the descriptions of a subnet, each with the kinds of addresses that any of them shows."""
        found = self.described("subnets", key)
        shown = {
            "ipv6_native": all(subnet.ipv6_native for subnet in found),
            "has_ipv6": any(subnet.has_ipv6 for subnet in found),
            "dns64": any(subnet.dns64 for subnet in found),
        }
        return [replace(subnet, **shown) for subnet in found]

    def lists(self) -> list[PrefixList]:
        """Return the prefix lists, with every name that a list has; those of S3 Express have the entries that any account shows."""
        found = []
        for key in self.ids["prefix_lists"]:
            versions = self.described("prefix_lists", key)
            shown = {
                "name": "",
                "other_names": tuple(sorted({version.name for version in versions} - {""})),
                "aws_owned": any(version.aws_owned for version in versions),
            }
            readable = [version for version in versions if version.cidrs is not None]
            if readable and self.is_express(replace(versions[0], **shown)):
                together = tuple(chain.from_iterable(version.cidrs or () for version in readable))
                is_partial = any(version.is_partial for version in readable)
                readable = [replace(versions[0], cidrs=together, is_partial=is_partial)]
            found += [replace(version, **shown) for version in readable or versions[:1]]
        return found

    def is_express(self, found: PrefixList) -> bool:
        """Return whether a list is one of the Region's S3 Express prefix lists."""
        services = {
            name.removeprefix("cn.").removeprefix("com.amazonaws.").replace(".ipv6.", ".") for name in found.other_names
        }
        return found.aws_owned and f"{self.snapshot.region}.s3express" in services

    def verdict(self, subnet_id: str) -> tuple[str, str]:
        """Return the compliance and the reason of a subnet."""
        versions = self.subnets(subnet_id)
        if not versions:
            return "NOT_APPLICABLE", "DELETED"
        possible = [self.decide(subnet, table) for subnet in versions for table in self.governing_tables(subnet)]
        return min(possible, key=lambda found: (found[0] != "NON_COMPLIANT", [*ROWS, found[1]].index(found[1])))

    def is_partly_in_one_description(self, subnet_id: str) -> bool:
        """Return whether the result is a NAT, and an address may use the endpoint by one of several descriptions."""
        fates = [
            self.fate(address, version, subnet, lists)
            for subnet in self.subnets(subnet_id)
            for table in self.governing_tables(subnet)
            if table
            for version in self.described("route_tables", table.id)
            for lists in self.combinations(version.routes)
            for address in self.addresses(subnet)
        ]
        return self.verdict(subnet_id)[1] in NATS and any("ENDPOINT" in fate for fate in fates)

    def decide(self, subnet: Subnet, table: RouteTable | None) -> tuple[str, str]:
        """Return the compliance and the reason of a subnet that a table governs."""
        decided = self.before_routing(subnet, table)
        if decided:
            return "NOT_APPLICABLE", decided
        if table is None:
            return self.compliance("UNRESOLVED_EGRESS"), "UNRESOLVED_EGRESS"
        reasons = set()
        for version in self.described("route_tables", table.id):
            for lists in self.combinations(version.routes):
                used = {self.worst(self.fate(address, version, subnet, lists)) for address in self.addresses(subnet)}
                used |= self.doubts(subnet, version, lists)
                if subnet.has_ipv6 and self.may_have_another_list() and self.leads_somewhere_by_ipv6(version, lists):
                    used.add("UNRESOLVED_EGRESS")
                reasons.add("PARTLY_NAT" if "ENDPOINT" in used and used & NATS else self.worst(used or NOWHERE))
        reason = self.worst(reasons)
        return self.compliance(reason), reason

    def may_have_another_list(self) -> bool:
        """Return whether S3 Express may have an IPv6 list that the account has not seen: another one may have looked earlier."""
        families = {found.family.value for found in (*self.express_prefix_lists(), *self.doubtful_prefix_lists())}
        return "IPv6" not in families and not self.snapshot.lists_ipv6_prefix_lists

    def leads_somewhere_by_ipv6(self, table: RouteTable, lists: Lists) -> bool:
        """Return whether a table has a route, other than a local one, that may match an IPv6 address."""
        return any(self.may_match(route, 6, lists) for route in table.routes if route.target_id != "local")

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
        yield from filter(self.is_express, self.lists())

    def doubtful_prefix_lists(self) -> Iterator[PrefixList]:
        """Yield AWS's other lists whose name contains the service's, unless they are of another Region, or have no name."""
        for prefix_list in self.lists():
            names = prefix_list.other_names or ("s3express",)
            is_doubtful = any("s3express" in name and "eu-west-1" not in name for name in names)
            if prefix_list.aws_owned and is_doubtful and not self.is_express(prefix_list):
                yield prefix_list

    def doubts(self, subnet: Subnet, table: RouteTable, lists: Lists) -> set[str]:
        """Return what may happen to the addresses that no list shows: unknown if any route may carry their family."""
        found = set()
        partial = [prefix_list for prefix_list in self.express_prefix_lists() if prefix_list.is_partial]
        for prefix_list in (*partial, *self.doubtful_prefix_lists()):
            versions = [6] if prefix_list.family == "IPv6" else [4, 6]
            uses = {4: not subnet.ipv6_native, 6: subnet.has_ipv6 and (prefix_list.family == "IPv6" or subnet.dns64)}
            for version in filter(uses.__getitem__, versions):
                routes = [
                    route
                    for route in table.routes
                    if (route.state != "blackhole" or self.exists(route.target_id)) and route.target_id != "local"
                ]
                carries = any(self.may_match(route, version, lists) for route in routes)
                found.add("UNRESOLVED_EGRESS" if carries else "NO_ROUTE")
        return found

    def may_match(self, route: Route, version: int, lists: Lists) -> bool:
        """Return whether a route may match an address of an IP version."""
        if any(block.version == version for block, _ in self.destinations(route, lists)):
            return True
        if not isinstance(route.destination, str):
            return False
        found = lists.get(route.destination)
        return found is None or ((found.cidrs is None or found.is_partial) and found.family == f"IPv{version}")

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

    def governing_tables(self, subnet: Subnet) -> list[RouteTable | None]:
        """Return the table that governs the subnet as each account says that lists the subnet and its table."""
        found = []
        for view in self.views:
            says_nothing, table, is_partial = self.governing_table(subnet, view)
            if says_nothing or subnet.id not in view.subnets:
                continue
            if not is_partial or not self.lists_tables_in_part(subnet.vpc_id, [view]):
                found.append(table)
            if is_partial:
                found.append(None)
        return found or [None]

    def governing_table(self, subnet: Subnet, view: Snapshot) -> tuple[bool, RouteTable | None, bool]:
        """Return the table associated with the subnet, otherwise the main table of its VPC.

        The first value is whether the account lists neither, and the last whether some tables are not listed.
        """
        tables = view.route_tables.values()
        found = [(table, association) for table in tables for association in table.associations]
        if not {*subnet.table_ids} <= {*self.ids["route_tables"]}:
            return False, None, False
        own = [(table, association) for table, association in found if association.subnet_id == subnet.id]
        main = [
            (table, association) for table, association in found if association.main and table.vpc_id == subnet.vpc_id
        ]
        is_half_shown = any(
            table.vpc_id == subnet.vpc_id and not (association.main or association.subnet_id or association.gateway_id)
            for table, association in found
        )
        for claims in (own, main):
            if claims is main and is_half_shown:
                return False, None, False
            for state in ("associating", "associated"):
                claiming = {table.id: table for table, association in claims if association.state == state}
                if claiming:
                    is_partial = claims is main and self.lists_tables_in_part(subnet.vpc_id, self.views)
                    return False, next(iter(claiming.values())) if len(claiming) == 1 else None, is_partial
        return True, None, False

    def lists_tables_in_part(self, vpc_id: str, views: Iterable[Snapshot]) -> bool:
        """Return whether an endpoint or a NAT gateway of a VPC, not being deleted, names a table that is not listed."""
        for gateway in [gateway for view in views for gateway in view.nat_gateways.values()]:
            is_regional = gateway.route_table_id is not None
            names_another = is_regional and gateway.route_table_id not in self.ids["route_tables"]
            if gateway.vpc_id == vpc_id and names_another and gateway.state not in ("failed", "deleting", "deleted"):
                return True
        return any(
            endpoint.vpc_id == vpc_id and endpoint.state in ("available", "pending")
            for endpoint in [endpoint for view in views for endpoint in view.vpc_endpoints.values()]
            if not {*endpoint.route_table_ids} <= {*self.ids["route_tables"]}
        )

    def fate(self, address: Address, table: RouteTable, subnet: Subnet, lists: Lists) -> frozenset[str]:
        """Return every reason that may apply to an address of a subnet; only a NAT translates NAT64 addresses."""
        walk = Walk(((table.id, address.version),), subnet.availability_zone_id, subnet.block_mode.value)
        fates = self.choose(address, table, walk, [*table.routes], lists)
        if address in NAT64:
            return frozenset("NO_ROUTE" if reason in ("INTERNET_GATEWAY", "ENDPOINT") else reason for reason in fates)
        return fates

    def leave(self, address: Address, table: RouteTable, walk: Walk) -> frozenset[str]:
        """Return every reason that may apply to an address that follows a VPC's route table."""
        if (table.id, address.version) in walk.seen:
            return UNKNOWN
        here = walk._replace(seen=(*walk.seen, (table.id, address.version)))
        fates: frozenset[str] = frozenset()
        for version in self.described("route_tables", table.id):
            routes = [
                route
                for route in version.routes
                if not (walk.skip_gateway_endpoints and self.is_gateway_endpoint(route))
            ]
            for lists in self.combinations(routes):
                fates |= self.choose(address, table, here, routes, lists)
        return fates

    def choose(
        self, address: Address, table: RouteTable, walk: Walk, routes: list[Route], lists: Lists
    ) -> frozenset[str]:
        """Return every reason that may apply to an address that chooses among routes."""
        fates: frozenset[str] = frozenset()
        for winner in list(self.winners(address, routes, lists)) or [None]:
            fates |= self.follow(address, winner, table, walk) if winner else NOWHERE
            fates |= UNKNOWN if self.may_be_overridden(address, routes, winner, lists) else frozenset()
        return fates

    def combinations(self, routes: Iterable[Route]) -> Iterator[Lists]:
        """Yield each combination of the descriptions of the prefix lists that routes name."""
        named = {route.destination for route in routes if isinstance(route.destination, str)}
        versions = [[known for known in self.lists() if known.id == list_id] or [None] for list_id in sorted(named)]
        for combination in product(*versions):
            yield {known.id: known for known in combination if known}

    def possible_winners(self, address: Address, routes: list[Route]) -> Iterator[list[Route]]:
        """Yield the routes that win for each combination of the descriptions of the prefix lists that the routes name."""
        for lists in self.combinations(routes):
            yield list(self.winners(address, routes, lists))

    def winners(self, address: Address, routes: list[Route], lists: Lists) -> Iterator[Route]:
        """Yield the routes with the longest prefix that contains the address and, among these, the best rank."""
        matching = []
        for route in routes:
            for block, listed in self.destinations(route, lists):
                if address in block:
                    ranks = {"PROPAGATED": 2, "SYSTEM": 3}
                    matching.append((-block.prefixlen, ranks.get(route.rank.name, int(listed)), route))
        best = min((match[:2] for match in matching), default=(0, 0))
        yield from (route for length, rank, route in matching if length == best[0] and rank in (best[1], 3))

    def destinations(self, route: Route, lists: Lists) -> Iterator[tuple[Block, bool]]:
        """Yield the blocks of a route's destination, and whether they come from a prefix list."""
        if isinstance(route.destination, str):
            found = lists.get(route.destination)
            yield from ((block_of(cidr), True) for cidr in (found.cidrs if found else None) or ())
        else:
            yield block_of(route.destination), False

    def may_be_overridden(self, address: Address, routes: list[Route], winner: Route | None, lists: Lists) -> bool:
        """Return whether a prefix list that cannot be read may send the address elsewhere."""
        own = winner.target_id if winner else None
        for route in routes:
            may_win = (route.state != "blackhole" or self.exists(route.target_id)) and route.target_id != own
            if may_win and isinstance(route.destination, str) and self.may_hide(address, route, lists):
                return True
        return False

    def is_gateway_endpoint(self, route: Route) -> bool:
        """Return whether a route leads to a gateway endpoint."""
        return any(found.endpoint_type == "gateway" for found in self.described("vpc_endpoints", route.target_id))

    def follow(self, address: Address, route: Route, table: RouteTable, walk: Walk) -> frozenset[str]:
        """Return every reason that may apply to an address that uses this route."""
        kind = route.target_id.partition("-")[0]
        if (route.state == "blackhole" and not self.exists(route.target_id)) or kind == "pcx":
            return DROPPED
        if kind == "nat":
            return self.nat_gateway(address, route.target_id)
        if kind in ENDS:
            return self.end(kind, walk)
        if kind == "vpce":
            return self.enter_endpoint(address, route, table.vpc_id, walk)
        if kind in ("eni", "i"):
            return self.enter_interface(address, route.target_id, walk)
        if kind == "tgw":
            return self.enter_transit_gateway(address, route.target_id, table.vpc_id, walk)
        return UNKNOWN

    def exists(self, target_id: str) -> bool:
        """Return whether a route's target is a listed interface, or the instance of one; it may be if nobody can read them."""
        if all(view.network_interfaces is None for view in self.views) and target_id.startswith(("eni-", "i-")):
            return True
        listed = [found for view in self.views for found in (view.network_interfaces or {}).values()]
        return any(target_id in (found.id, found.instance_id) for found in listed)

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
        found = self.described("nat_gateways", gateway_id)
        return union(self.nat_of(address, gateway) for gateway in found) if found else frozenset({"NAT_GATEWAY"})

    def nat_of(self, address: Address, found: NatGateway) -> frozenset[str]:
        """Return the reasons at a NAT gateway as one account describes it."""
        if found.connectivity == "private":
            return frozenset({"NAT_GATEWAY"})
        if not found.subnet_id:
            vpcs = self.described("vpcs", found.vpc_id)
            is_closed = vpcs and all(vpc.block_mode == "block-bidirectional" for vpc in vpcs)
            return UNKNOWN if is_closed else frozenset({"NAT_GATEWAY"})
        fates: frozenset[str] = frozenset() if self.subnets(found.subnet_id) else frozenset({"NAT_GATEWAY"})
        for subnet in self.subnets(found.subnet_id):
            for table in self.governing_tables(subnet):
                is_closed = subnet.block_mode == "block-bidirectional" and table is not None
                is_dropped = is_closed and self.leads_only_to_internet(address, table)
                fates |= DROPPED if is_dropped else frozenset({"NAT_GATEWAY"})
        return fates

    def leads_only_to_internet(self, address: Address, table: RouteTable) -> bool:
        """Return whether each route that may win in a NAT gateway's table is an active one to an internet gateway."""
        outside = ip_address(int(address) - int(NAT64.network_address)) if address in NAT64 else address
        for version in self.described("route_tables", table.id):
            named = [route for route in version.routes if isinstance(route.destination, str)]
            if any(self.may_hide(outside, route, lists) for lists in self.combinations(named) for route in named):
                return False
            for winners in self.possible_winners(outside, list(version.routes)):
                to_internet = [winner.target_id.startswith("igw-") and winner.state == "active" for winner in winners]
                if not winners or not all(to_internet):
                    return False
        return True

    def may_hide(self, address: Address, route: Route, lists: Lists) -> bool:
        """Return whether a route's prefix list may match an address because not all of its entries can be read."""
        found = lists.get(str(route.destination))
        if found is None:
            return True
        return (found.cidrs is None or found.is_partial) and found.family == f"IPv{address.version}"

    def enter_endpoint(self, address: Address, route: Route, vpc_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons at an endpoint. The path continues only behind an appliance's endpoint."""
        found = self.described("vpc_endpoints", route.target_id)
        return union(self.enter(address, endpoint, vpc_id, walk) for endpoint in found) if found else UNKNOWN

    def enter(self, address: Address, found: VpcEndpoint, vpc_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons at an endpoint as one account describes it."""
        if found.endpoint_type == "gateway":
            is_here = found.service_name.endswith("s3express") and found.vpc_id == vpc_id
            return frozenset({"ENDPOINT"}) if is_here and found.state == "available" else UNKNOWN
        if found.state not in ("available", ""):
            return UNKNOWN
        gateways = [gateway for view in self.views for gateway in view.nat_gateways.values()]
        by_gateway = any(found.id in gateway.proxy_endpoint_ids for gateway in gateways)
        beyond = frozenset(
            map(behind, self.leave_subnet(address, found.subnet_ids[0], walk) if found.subnet_ids else UNKNOWN)
        )
        fates: frozenset[str] = frozenset()
        for versions in self.firewalls_of(found):
            if not versions and by_gateway:
                fates |= frozenset({"NAT_BEHIND_APPLIANCE"})
            elif not versions:
                fates |= only_nats(beyond) if found.endpoint_type in ("gatewayloadbalancer", "") else UNKNOWN
            else:
                is_proxy = by_gateway or any(firewall.is_proxy for firewall in versions)
                translates = is_proxy and not all(firewall.forwards for firewall in versions)
                fates |= frozenset({"NAT_BEHIND_APPLIANCE"}) if translates else beyond
        return fates if found.state else fates | UNKNOWN

    def firewalls_of(self, endpoint: VpcEndpoint) -> list[list[Firewall]]:
        """Return the descriptions of each firewall to which an endpoint may belong, or nothing for any other appliance."""
        found: list[list[Firewall]] = []
        is_certain = False
        for arn in {arn for view in self.views for arn in view.firewalls or {}}:
            described = self.described("firewalls", arn)
            associated = [each for firewall in described for each in firewall.associated]
            owners = [each.owner_id for each in associated if each.endpoint_id == endpoint.id]
            naming = [endpoint.id in firewall.endpoint_ids for firewall in described]
            if any(self.may_own(owner, endpoint) for owner in owners) or (
                any(naming) and self.may_own(described[0].owner_id, endpoint)
            ):
                found.append(described)
            is_certain = is_certain or any(self.owns(owner, endpoint) for owner in owners)
            is_certain = is_certain or (all(naming) and self.owns(described[0].owner_id, endpoint))
        return found if is_certain else [*found, []]

    def may_own(self, owner: str, endpoint: VpcEndpoint) -> bool:
        """Return whether an account, which may not be shown, may own an endpoint."""
        return "" in (owner, endpoint.owner_id) or owner == endpoint.owner_id

    def owns(self, owner: str, endpoint: VpcEndpoint) -> bool:
        """Return whether an account certainly owns an endpoint: if only one is known, it does."""
        return owner == endpoint.owner_id != "" or (len(self.views) == 1 and self.may_own(owner, endpoint))

    def leave_subnet(self, address: Address, subnet_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons for traffic that continues with the route table of another subnet."""
        fates: frozenset[str] = frozenset() if self.subnets(subnet_id) else UNKNOWN
        for subnet in self.subnets(subnet_id):
            mode = max(walk.mode, subnet.block_mode.value, key=MODES.index)
            here = walk._replace(zone=subnet.availability_zone_id, mode=mode)
            for table in self.governing_tables(subnet):
                fates |= self.leave(address, table, here) if table else UNKNOWN
        return fates

    def enter_interface(self, address: Address, target_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons at a network interface: a NAT instance, another appliance, or no forwarding."""
        return union(self.forward(address, found, walk) for found in self.interfaces(target_id))

    def forward(self, address: Address, found: NetworkInterface | None, walk: Walk) -> frozenset[str]:
        """Return the reasons at a network interface as one account describes it."""
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

    def interfaces(self, target_id: str) -> list[NetworkInterface | None]:
        """Return the interface with this id, or those that may be the primary interface of this instance."""
        keys = {key for view in self.views for key in view.network_interfaces or ()}
        if target_id in keys:
            return self.described("network_interfaces", target_id)
        possible: list[NetworkInterface | None] = [None]
        for key in keys:
            versions = self.described("network_interfaces", key)
            of_instance = [found for found in versions if found.instance_id == target_id and found.card_index == 0]
            primary = [found for found in of_instance if found.device_index == 0]
            if len(primary) == len(versions):
                return versions
            possible += [found for found in of_instance if found.device_index in (0, None)]
        return possible

    def enter_transit_gateway(self, address: Address, gateway_id: str, vpc_id: str, walk: Walk) -> frozenset[str]:
        """Return the reasons beyond a transit gateway, where only a NAT, no route, or a drop is certain."""
        keys = {key for view in self.views for key in view.transit_gateway_attachments or ()}
        for key in sorted(keys):
            versions = self.attachments(key)
            attached = {(found.transit_gateway_id, found.resource_type, found.resource_id) for found in versions}
            if attached == {(gateway_id, "vpc", vpc_id)}:
                return union(self.pass_on(address, found, walk) for found in versions)
        return UNKNOWN

    def attachments(self, key: str) -> list[TransitGatewayAttachment]:
        """Return the descriptions of an attachment; what one lacks is any of those that others have."""
        found = self.described("transit_gateway_attachments", key)
        seen = {
            (version.route_table_id, version.policy_table_id, version.is_association_certain)
            for version in found
            if version.shows_association or version.route_table_id or version.policy_table_id
        } or {(None, None, True)}
        subnets = {version.subnet_ids for version in found} - {None} or {None}
        return [
            replace(
                version,
                route_table_id=table_id,
                policy_table_id=policy_table_id,
                is_association_certain=is_certain,
                subnet_ids=subnet_ids,
                appliance_mode=appliance_mode,
            )
            for appliance_mode in [any(version.appliance_mode for version in found)]
            for version in found
            for table_id, policy_table_id, is_certain in (
                [(version.route_table_id, version.policy_table_id, version.is_association_certain)]
                if version.shows_association or version.route_table_id or version.policy_table_id
                else seen
            )
            for subnet_ids in ([version.subnet_ids] if version.subnet_ids else subnets)
        ]

    def pass_on(self, address: Address, attachment: TransitGatewayAttachment, walk: Walk) -> frozenset[str]:
        """Return the reasons beyond a transit gateway for a VPC's attachment as one account describes it."""
        if attachment.state not in ("available", ""):
            return UNKNOWN
        fates: frozenset[str] = frozenset()
        left_out = self.are_left_out(attachment, walk.zone)
        if True in left_out:
            fates |= DROPPED
        if False in left_out:
            fates |= frozenset(map(beyond, self.cross_from(address, attachment, walk)))
        return fates if attachment.state else fates | UNKNOWN

    def are_left_out(self, attachment: TransitGatewayAttachment, zone: str) -> set[bool]:
        """Return whether it is certain, by each combination of descriptions, that no subnet is in an Availability Zone."""
        listed = [self.subnets(subnet_id) or [None] for subnet_id in attachment.subnet_ids or ["unseen"]]
        parts = zone.split("-")
        if len(parts) != 2 or not parts[1].startswith("az"):
            return {False}
        zones = [[subnet.availability_zone_id if subnet else "" for subnet in versions] for versions in listed]
        return {not {zone, ""} & {*combination} for combination in product(*zones)}

    def cross_from(self, address: Address, attachment: TransitGatewayAttachment, walk: Walk) -> frozenset[str]:
        """Return the reasons for an address that follows the table of an attachment."""
        fates = UNKNOWN if attachment.policy_table_id else self.cross(address, attachment.route_table_id, walk)
        return fates if attachment.is_association_certain else fates | UNKNOWN

    def cross(self, address: Address, table_id: str | None, walk: Walk) -> frozenset[str]:
        """Return the reasons for an address that follows a transit gateway's route table."""
        fates: frozenset[str] = frozenset()
        versions = self.described("transit_gateway_route_tables", table_id or "")
        for table in versions:
            if table.truncated or (table.id, address.version) in walk.seen:
                fates |= UNKNOWN
                continue
            here = walk._replace(seen=(*walk.seen, (table.id, address.version)))
            for winners in self.possible_winners(address, list(table.routes)):
                fates |= union(self.arrive(address, route, here) for route in winners) if winners else NOWHERE
        return fates if versions else UNKNOWN

    def arrive(self, address: Address, route: Route, walk: Walk) -> frozenset[str]:
        """Return the reasons for an address that a transit gateway sends to an attachment."""
        if route.state == "blackhole":
            return DROPPED
        versions = self.attachments(route.target_id)
        return union(self.come_out(address, found, walk) for found in versions) if versions else UNKNOWN

    def come_out(self, address: Address, to: TransitGatewayAttachment, walk: Walk) -> frozenset[str]:
        """Return the reasons behind an attachment as one account describes it."""
        if to.state not in ("available", ""):
            return UNKNOWN
        fates = UNKNOWN
        if to.resource_type == "network-function":
            fates = self.cross_from(address, to, walk)
        elif to.resource_type == "vpc" and to.subnet_ids:
            fates = union(self.leave_subnet(address, subnet_id, walk) for subnet_id in self.entries(to, walk.zone))
        return fates if to.state else fates | UNKNOWN

    def entries(self, attachment: TransitGatewayAttachment, zone: str) -> tuple[str, ...]:
        """Return the attachment subnets that traffic may enter: those of its own zone, or all if there are none."""
        subnet_ids, near = attachment.subnet_ids or (), list[str]()
        zones = {key: {subnet.availability_zone_id for subnet in self.subnets(key)} for key in subnet_ids}
        if not attachment.appliance_mode and any(found == {zone} for found in zones.values()):
            near = [subnet_id for subnet_id in subnet_ids if zone in zones[subnet_id]]
        return tuple(near) or subnet_ids


def union(reasons: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return all of several reasons."""
    return frozenset(chain.from_iterable(reasons))


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
    if reason == "ENDPOINT":
        return "DROPPED"
    return reason if reason in ("NO_ROUTE", "DROPPED") else "UNRESOLVED_EGRESS"
