"""What a test gives Terraform in place of what AWS would make: only values that are true after the apply.

An id that does not exist yet is one of our own, and it is the same under all its names: a VPC's main route table may also be
adopted by a resource, and an instance's first interface may be one too. If the names of an ID cannot be determined, the
resource gets no override, and Terraform leaves everything that depends on it unknown. Terraform makes up all other values of a
resource with an override, so those are never believed (resolving.py). https://developer.hashicorp.com/terraform/language/tests/mocking describes overrides.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from express_path_cli.sources.change.references import References, block_of
from express_path_cli.sources.change.resource import (
    ID_PREFIXES,
    KIND_OF_TYPE,
    MADE_WITH,
    WITH_IDS,
    Kind,
    NewId,
    Possible,
    Values,
    has_unknown,
    made_id,
    with_unknown,
)
from express_path_cli.sources.change.terraform_document import PlanDocument, ResourceChange

BUILTIN = "terraform.io/builtin/terraform"
FIREWALL, STATUS = "aws_networkfirewall_firewall", "firewall_status"
NO_ACCOUNT = "000000000000"
"""The account in an ARN if nobody knows it: providers check the form."""
IPV6 = "::/56"
"""Stands for an IPv6 block that AWS assigns, and ends it: each order of ids has another one."""
_SHAPES = {kind: prefix for prefix, kind in reversed(ID_PREFIXES.items())}
"""How the ids of each kind begin: configurations and providers check some of them."""
_ADOPTED = frozenset({"aws_default_vpc", "aws_default_subnet"})
"""The types of resources that Terraform finds during the apply, and does not make: another resource may be the same one."""
_NAMED_IDS = {
    ("aws_vpc", "default_network_acl_id"): "acl",
    ("aws_vpc", "default_security_group_id"): "sg",
    ("aws_nat_gateway", "network_interface_id"): "eni",
}
"""Ids of what AWS makes with a resource, which the network does not have, and how they begin."""
_ARNS = {
    "aws_vpc": "vpc",
    "aws_subnet": "subnet",
    "aws_route_table": "route-table",
    "aws_default_route_table": "route-table",
    "aws_vpc_endpoint": "vpc-endpoint",
    "aws_internet_gateway": "internet-gateway",
    "aws_vpn_gateway": "vpn-gateway",
    "aws_network_interface": "network-interface",
    "aws_ec2_managed_prefix_list": "prefix-list",
    "aws_ec2_transit_gateway": "transit-gateway",
    "aws_ec2_transit_gateway_route_table": "transit-gateway-route-table",
}
"""What the ARN of a resource of EC2 has before its id:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html."""
_SERVICE = re.compile(r"com\.amazonaws\.(?!vpce\.)[\w.-]+")
"""The name of a service of AWS, whose endpoints nobody has to accept."""
_ACCOUNT = re.compile(r"[0-9]{12}")


@dataclass(frozen=True, slots=True)
class Arn:
    """An ARN that ends with an id of our own."""

    start: str
    id: NewId


@dataclass(slots=True)
class Overrides:
    """What is given.

    resources: the values of each resource that gets some, by address, with a NewId for each id of our own. true: the names of
    those that are true, by address. data: what data sources return. unread: the blocks of data sources of which something is
    not known. shapes: how the text of each id of our own begins. firewalls: the new ones whose endpoints may become known.
    """

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    true: dict[str, set[str]] = field(default_factory=dict)
    data: list[Values] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    shapes: dict[NewId, str] = field(default_factory=dict)
    firewalls: list[str] = field(default_factory=list)

    def add(self, address: str, given: Mapping[str, Any], *, invented: Sequence[str] = ()) -> None:
        """Give values of a resource. invented: the names of those that are not true, but have the right form."""
        self.resources[address] = {**self.resources.get(address, {}), **given}
        self.true.setdefault(address, set()).update(given.keys() - {*invented})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a resource is: its account and Region, empty if the plan does not say them."""

    account: str
    region: str


class Finder:
    """Finds what is given of each resource of a plan."""

    def __init__(
        self, document: PlanDocument, references: References, places: Mapping[str, Place], zone_ids: Mapping[str, str]
    ) -> None:
        """Keep what the plan says. places: of each resource, by address."""
        self._document, self._references, self._places, self._zone_ids = document, references, places, zone_ids
        self.rows = {row.address: row for row in _rows(document)}
        self._blocks = {address: block for module in document.modules for address, block in module.blocks.items()}

    def find(self) -> Overrides:
        """Return the overrides."""
        overrides = Overrides()
        for row in self.rows.values():
            if row.mode == "data":
                self._add_data(overrides, row)
            elif row.provider_name != BUILTIN and not self._is_new(row):
                overrides.add(row.address, known_values(row))
            elif row.provider_name != BUILTIN and row.type in WITH_IDS - _ADOPTED:
                self._add_new(overrides, row)
        return overrides

    def _is_new(self, row: ResourceChange) -> bool:
        return "create" in row.actions

    def _add_data(self, overrides: Overrides, row: ResourceChange) -> None:
        """Give what a data source returned. If a part of it is secret or not known, Terraform makes up all of it."""
        given = known_values(row)
        if given.keys() >= (row.after or {}).keys() | row.unknown.keys():
            overrides.data.append({"target": row.address, "values": given})
        else:
            overrides.unread.add(block_of(row.address))

    def _add_new(self, overrides: Overrides, row: ResourceChange) -> None:
        """Give what is true of a new resource."""
        place = self._places.get(row.address, Place("", ""))
        given, shapes = dict(self._ids(row)), dict[NewId, str]()
        own_id = given.get("id")
        if row.type in KIND_OF_TYPE and own_id is None:
            return  # without an id, it may be any other one
        for name, value in given.items():
            if isinstance(value, NewId):
                kind = MADE_WITH.get((row.type, name)) or KIND_OF_TYPE.get(row.type)
                shapes[value] = _NAMED_IDS.get((row.type, name)) or _SHAPES[kind or Kind.VPC]
        overrides.shapes |= shapes
        overrides.add(row.address, known_values(row))
        overrides.add(row.address, given)
        if place.account:
            overrides.add(row.address, _only_unknown(row, {"owner_id": place.account}))
        self._add_arn(overrides, row, place, own_id)
        overrides.add(row.address, _only_unknown(row, dict(self._facts(row))))
        mappings = mappings_of(row.after or {})
        if row.type == FIREWALL and mappings and not any(mappings) and row.unknown.get(STATUS) is True:
            overrides.firewalls.append(row.address)
            overrides.true[row.address].add(STATUS)
            for number in range(len(mappings)):
                overrides.shapes[NewId(f"{row.address}.endpoint[{number}]")] = "vpce"

    def _add_arn(self, overrides: Overrides, row: ResourceChange, place: Place, own_id: object) -> None:
        """Give the ARN, which is true if the account and the Region are known."""
        region, account = place.region or "us-east-1", place.account or NO_ACCOUNT
        partition = {"cn": "aws-cn", "us-gov": "aws-us-gov"}.get(region.rpartition("-")[0].rpartition("-")[0], "aws")
        arn: object = None
        if row.type == FIREWALL:
            name = (row.after or {}).get("name")
            arn = f"arn:{partition}:network-firewall:{region}:{account}:firewall/{name}" if name else None
        elif own_id:
            kind = _ARNS.get(row.type, "id")
            start = f"arn:{partition}:ec2:{region}:{account}:{kind}/"
            arn = Arn(start, own_id) if isinstance(own_id, NewId) else f"{start}{own_id}"
        names = ("arn", "id") if row.type == FIREWALL else ("arn",)
        given = _only_unknown(row, dict.fromkeys(names, arn)) if arn else {}
        is_true = bool(place.account and place.region and (row.type in _ARNS or row.type == FIREWALL))
        overrides.add(row.address, given, invented=() if is_true else names)

    def _ids(self, row: ResourceChange) -> Iterator[tuple[str, str]]:
        """Yield the ids of a new resource, and of what AWS makes with it, as far as they are certain."""
        unknown = {name for name, mark in row.unknown.items() if mark is True}
        after = row.after or {}
        if row.type in KIND_OF_TYPE and "id" in unknown:
            own_id = self._adopted_table(row) if row.type == "aws_default_route_table" else NewId(row.address)
            if own_id:
                yield "id", own_id
        for name in sorted(unknown):
            if (row.type, name) == ("aws_instance", "primary_network_interface_id"):
                interface = self._primary_interface(row)
                if interface:
                    yield name, interface
            elif row.type == "aws_ec2_transit_gateway" and name.endswith("_default_route_table_id"):
                if after.get(f"default_route_table_{name.partition('_')[0]}") == "enable":
                    yield name, made_id(row.address, name)
            elif row.type == "aws_vpn_connection":
                if name == Kind.ATTACHMENT and (after.get(Kind.TRANSIT_GATEWAY) or Kind.TRANSIT_GATEWAY in unknown):
                    yield name, made_id(row.address, name)
            elif row.type == "aws_nat_gateway" and after.get("availability_mode") not in (None, "zonal"):
                continue  # a regional one has no interface of its own
            elif name != STATUS and ((row.type, name) in MADE_WITH or (row.type, name) in _NAMED_IDS):
                yield name, made_id(row.address, name)

    def _adopted_table(self, row: ResourceChange) -> str | None:
        """Return the id of the route table that a resource adopts."""
        name = "default_route_table_id"
        known = (row.after or {}).get(name)
        if isinstance(known, str) and known:
            return known
        return self._certain(row, name, Kind.TABLE)

    def _primary_interface(self, row: ResourceChange) -> str | None:
        """Return the id of the first interface of an instance, which may be another resource."""
        after = row.after or {}
        if after.get("launch_template") or row.unknown.get("launch_template"):
            return None
        blocks = [
            block for name in ("network_interface", "primary_network_interface") for block in after.get(name) or ()
        ]
        if not blocks and not row.unknown.get("network_interface"):
            return made_id(row.address, "primary_network_interface_id")
        block = self._blocks.get(block_of(row.address))
        expressions = block.expressions.get("network_interface") if block else None
        if not isinstance(expressions, list) or len(expressions) != 1 or len(blocks) != 1:
            return None
        known = blocks[0].get(Kind.INTERFACE)
        if isinstance(known, str):
            return known
        expression = expressions[0].get(Kind.INTERFACE) if isinstance(expressions[0], Mapping) else None
        return self._references.certain(row.module, expression, Kind.INTERFACE)

    def _certain(self, row: ResourceChange, name: str, kind: Kind) -> str | None:
        block = self._blocks.get(block_of(row.address))
        return self._references.certain(row.module, block.expressions.get(name), kind) if block else None

    def _facts(self, row: ResourceChange) -> Iterator[tuple[str, object]]:
        """Yield what AWS says of a new resource after the apply, and what follows from its arguments."""
        after = row.after or {}
        match row.type:
            case "aws_vpc_endpoint" if _SERVICE.fullmatch(str(after.get("service_name"))):
                yield "state", "available"
                yield "requester_managed", False
            case "aws_subnet" if after.get("availability_zone") in self._zone_ids:
                yield "availability_zone_id", self._zone_ids[str(after["availability_zone"])]
            case "aws_default_route_table":
                vpc_id = self._vpc_of_table(self._adopted_table(row))
                if vpc_id:
                    yield "vpc_id", vpc_id
            case "aws_vpc" if row.unknown.get("ipv6_cidr_block"):
                names = ("assign_generated_ipv6_cidr_block", "ipv6_ipam_pool_id")
                if not any(row.unknown.get(name) for name in names):
                    yield "ipv6_cidr_block", IPV6 if any(after.get(name) for name in names) else ""

    def _vpc_of_table(self, table_id: str | None) -> str | None:
        """Return the VPC whose default route table has an id."""
        for row in self.rows.values():
            if row.type == "aws_vpc" and table_id:
                known = (row.after or {}).get("default_route_table_id")
                if (known or made_id(row.address, "default_route_table_id")) == table_id:
                    vpc_id = (row.after or {}).get("id")
                    return vpc_id if isinstance(vpc_id, str) else NewId(row.address)
        return None


def _rows(document: PlanDocument) -> Iterator[ResourceChange]:
    """Yield every data source of the state, and every resource and data source that exists after the apply."""
    # A data source of the state may be read again during the apply.
    yield from (row for row in document.state if row.mode == "data")
    yield from (row for row in document.changes if row.after is not None and not row.is_deposed)


def known_values(row: ResourceChange) -> dict[str, Any]:
    """Return the values that are known, not secret, and no templates. Versions of Terraform differ in what a template is."""
    values = row.after or {}
    marked = with_unknown(with_unknown(values, row.unknown), row.hidden)
    if isinstance(marked, Possible):  # all of it is secret
        return {}
    return {
        name: value
        for name, value in values.items()
        if not has_unknown(marked[name]) and not re.search(rb"[$%]\{", orjson.dumps(value))
    }


def _only_unknown(row: ResourceChange, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some values that the plan does not know."""
    return {name: value for name, value in values.items() if row.unknown.get(name) is True}


def mappings_of(values: Values) -> list[object]:
    """Return the subnet of each mapping of a firewall, None where it is not known."""
    mappings = values.get("subnet_mapping")
    return [row.get("subnet_id") for row in mappings if isinstance(row, Mapping)] if isinstance(mappings, list) else []


def accounts_of(document: PlanDocument, provider_of: Mapping[str, str]) -> Mapping[str, str]:
    """Return the account of each provider, as far as its caller identity or a resource that it manages shows it."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in (*document.state, *document.changes):
        values = row.before or row.after or {}
        names = ("account_id",) if row.type == "aws_caller_identity" else ("owner_id",)
        if row.type == "aws_caller_identity" or (row.mode == "managed" and row.type in WITH_IDS):
            for name in names:
                value = values.get(name)
                if isinstance(value, str) and _ACCOUNT.fullmatch(value):
                    found[provider_of.get(row.address, "")].add(value)
    return {provider: next(iter(values)) for provider, values in found.items() if len(values) == 1}
