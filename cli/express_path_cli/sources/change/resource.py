"""A resource of a proposed change: what happens to it, and its arguments with the names of Terraform's AWS provider."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from typing import Any

Values = Mapping[str, Any]


class NewId(str):
    """The id of what does not exist yet: its text is the address, and the attribute if AWS makes it with a resource."""

    __slots__ = ()


class UnknownId(str):
    """An id that may be any of several: its text is the address and the argument that decide."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the id as it is, so that a hop's destination stays one."""
        return self


class Action(StrEnum):
    """What happens to a resource."""

    KEEP = "keep"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"


WITH_PATHS = frozenset(
    {
        *("aws_subnet", "aws_default_subnet", "aws_route_table", "aws_default_route_table", "aws_route"),
        *("aws_route_table_association", "aws_main_route_table_association"),
        *("aws_vpc_endpoint", "aws_vpc_endpoint_route_table_association"),
    }
)
"""The types of resources without which a change changes no path in a Region."""
GONE = (Action.DELETE, Action.REPLACE)
MADE = (Action.CREATE, Action.REPLACE)


class Kind(StrEnum):
    """What an id names. The value is the argument that usually has it."""

    VPC = "vpc_id"
    SUBNET = "subnet_id"
    TABLE = "route_table_id"
    ENDPOINT = "vpc_endpoint_id"
    NAT = "nat_gateway_id"
    GATEWAY = "gateway_id"
    EGRESS_ONLY = "egress_only_gateway_id"
    INTERFACE = "network_interface_id"
    TRANSIT_GATEWAY = "transit_gateway_id"
    ATTACHMENT = "transit_gateway_attachment_id"
    TRANSIT_TABLE = "transit_gateway_route_table_id"
    PREFIX_LIST = "prefix_list_id"


ID_PREFIXES = {
    "vpc": Kind.VPC,
    "subnet": Kind.SUBNET,
    "rtb": Kind.TABLE,
    "vpce": Kind.ENDPOINT,
    "nat": Kind.NAT,
    "igw": Kind.GATEWAY,
    "vgw": Kind.GATEWAY,
    "eigw": Kind.EGRESS_ONLY,
    "eni": Kind.INTERFACE,
    "tgw": Kind.TRANSIT_GATEWAY,
    "tgw-attach": Kind.ATTACHMENT,
    "tgw-rtb": Kind.TRANSIT_TABLE,
    "pl": Kind.PREFIX_LIST,
}
"""What ids of AWS name, by what they begin with."""
KIND_OF_TYPE: Mapping[str, Kind] = {
    "aws_vpc": Kind.VPC,
    "aws_default_vpc": Kind.VPC,
    "aws_subnet": Kind.SUBNET,
    "aws_default_subnet": Kind.SUBNET,
    "aws_route_table": Kind.TABLE,
    "aws_default_route_table": Kind.TABLE,
    "aws_vpc_endpoint": Kind.ENDPOINT,
    "aws_nat_gateway": Kind.NAT,
    "aws_internet_gateway": Kind.GATEWAY,
    "aws_vpn_gateway": Kind.GATEWAY,
    "aws_egress_only_internet_gateway": Kind.EGRESS_ONLY,
    "aws_network_interface": Kind.INTERFACE,
    "aws_ec2_transit_gateway": Kind.TRANSIT_GATEWAY,
    "aws_ec2_transit_gateway_vpc_attachment": Kind.ATTACHMENT,
    "aws_ec2_transit_gateway_peering_attachment": Kind.ATTACHMENT,
    "aws_ec2_transit_gateway_connect": Kind.ATTACHMENT,
    "aws_ec2_transit_gateway_route_table": Kind.TRANSIT_TABLE,
    "aws_ec2_managed_prefix_list": Kind.PREFIX_LIST,
}
"""What the id of each type names."""
MADE_WITH: Mapping[tuple[str, str], Kind] = {
    ("aws_vpc", "default_route_table_id"): Kind.TABLE,
    ("aws_vpc", "main_route_table_id"): Kind.TABLE,
    ("aws_default_vpc", "default_route_table_id"): Kind.TABLE,
    ("aws_default_vpc", "main_route_table_id"): Kind.TABLE,
    ("aws_instance", "primary_network_interface_id"): Kind.INTERFACE,
    ("aws_ec2_transit_gateway", "association_default_route_table_id"): Kind.TRANSIT_TABLE,
    ("aws_ec2_transit_gateway", "propagation_default_route_table_id"): Kind.TRANSIT_TABLE,
    ("aws_networkfirewall_firewall", "firewall_status"): Kind.ENDPOINT,
    ("aws_vpn_connection", "transit_gateway_attachment_id"): Kind.ATTACHMENT,
}
"""What AWS makes together with a resource, by the attribute that names it."""
WITH_IDS = frozenset({*KIND_OF_TYPE, *(kind for kind, _ in MADE_WITH)})
"""The types that are in the network with an id of their own, or with one of what AWS makes together with them."""
_SAME = {
    "main_route_table_id": "default_route_table_id",
    "propagation_default_route_table_id": "association_default_route_table_id",
}
"""The attributes of a new resource that name the same as another one."""


def made_id(address: str, attribute: str) -> NewId:
    """Return the id of what AWS makes together with a new resource."""
    return NewId(f"{address}.{_SAME.get(attribute, attribute)}")


@dataclass(frozen=True, slots=True)
class Possible:
    """The ids that a value may be. is_open: it may be something else, too."""

    ids: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def certain(self) -> str | None:
        """The only id that is possible, None if there is none or several."""
        return self.ids[0] if len(self.ids) == 1 and not self.is_open else None

    def among(self, rows: Collection[str]) -> list[str]:
        """Return which of these ids it may be."""
        return [one for one in (rows if self.is_open else self.ids) if one in rows]


OPEN = Possible(is_open=True)
"""A value of which nothing is known."""


def with_unknown(value: Any, mark: object) -> Any:  # noqa: ANN401  # any JSON
    """Return a value with OPEN in place of each part that Terraform marks: it is known only after the apply."""
    if mark is True:
        return OPEN
    if isinstance(mark, Mapping) and mark:
        known = value if isinstance(value, Mapping) else {}
        return {name: with_unknown(known.get(name), mark.get(name)) for name in {**known, **mark}}
    if isinstance(mark, list) and mark:
        every = value if isinstance(value, list) else []
        return [with_unknown(one, each) for one, each in zip_longest(every, mark)]
    return value


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a resource or of a block in it, as far as the configuration sets them.

    values: JSON, with a Possible in place of each value that is not known. where: the address, and the name of the block.
    words: what the tool calls an argument, where that is another name.
    """

    where: str
    values: Values
    words: Mapping[str, str] = field(default_factory=dict)

    def is_unknown(self, name: str) -> bool:
        """Return whether a value, or a part of it, is not known."""
        return has_unknown(self.values.get(name))

    def known(self, name: str) -> Any:  # noqa: ANN401  # any JSON
        """Return a value, None if it is null or not known completely."""
        return None if self.is_unknown(name) else self.values.get(name)

    def text(self, name: str) -> str:
        """Return a text; empty if it is null, not known, or no text."""
        found = self.known(name)
        return found if isinstance(found, str) else ""

    def named(self, name: str) -> Possible:
        """Return the ids that an argument may be; none without a value."""
        return _named(self.values.get(name))

    def one(self, name: str) -> str:
        """Return the only id that an argument may be, or the name of the value."""
        return self.named(name).certain or self.unknown(name)

    def listed(self, name: str) -> tuple[tuple[str, ...], Possible]:
        """Return the ids that are certainly in a list, and what else may be in it."""
        found = self.values.get(name)
        if isinstance(found, Possible):
            return (), found
        every = [_named(item) for item in found] if isinstance(found, list) else []
        certain = tuple(dict.fromkeys(one.certain for one in every if one.certain))
        rest = union(every)
        return certain, Possible(tuple(one for one in rest.ids if one not in certain), rest.is_open)

    def blocks(self, name: str) -> Iterator["Arguments"]:
        """Yield the arguments of each nested block; of one that is not known, none but a Possible under every name."""
        found = self.values.get(name)
        rows = found if isinstance(found, list) else [] if found is None else [found]
        for row in rows:
            if isinstance(row, Mapping):
                yield Arguments(f"{self.where}.{self.words.get(name, name)}", row, self.words)

    def has_unknown_blocks(self, name: str) -> bool:
        """Return whether it is not known how many blocks there are."""
        found = self.values.get(name)
        rows = found if isinstance(found, list) else [found]
        return any(isinstance(row, Possible) for row in rows)

    def unknown(self, name: str) -> UnknownId:
        """Return the name of a value that is not known."""
        return UnknownId(f"{self.where}.{self.words.get(name, name)}")


def _named(value: object) -> Possible:
    if isinstance(value, Possible):
        return value
    return Possible((value,)) if isinstance(value, str) and value else Possible()


def has_unknown(value: object) -> bool:
    """Return whether a value, or a part of it, is not known."""
    if isinstance(value, Mapping):
        return any(map(has_unknown, value.values()))
    if isinstance(value, list):
        return any(map(has_unknown, value))
    return isinstance(value, Possible)


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource: its id after the change, and its arguments before and after it, none where it does not exist.

    block: the address without the key of count or for_each. before has every attribute, as it was read; after has what the
    configuration sets, and the ids of what AWS makes together with the resource. account_id and region: empty if the
    change does not say them.
    """

    address: str
    type: str
    block: str
    action: Action
    before: Arguments
    after: Arguments
    id: str
    id_before: str = ""
    account_id: str = ""
    region: str = ""

    def changes(self, argument: str) -> bool:
        """Return whether an argument may have another value after the change than before it."""
        if argument not in self.after.values:
            return False
        return self.action in MADE or self.after.values[argument] != self.before.values.get(argument)

    def made(self, attribute: str) -> str:
        """Return the id of what AWS makes together with the resource."""
        return self.after.text(attribute) or made_id(self.address, attribute)


def firewall_endpoints(address: str, values: Values) -> Mapping[str, str]:
    """Return the subnet of each endpoint of a firewall by the endpoint's id; empty if it is not certain.

    The endpoints are those that exist, or one for each subnet of a firewall that is new.
    """
    found: dict[str, str] = {}
    for status in Arguments("", values).blocks("firewall_status"):
        for state in status.blocks("sync_states"):
            found |= {one.text("endpoint_id"): one.text("subnet_id") for one in state.blocks("attachment")}
    if found and all(found):
        return found
    mappings = enumerate(Arguments("", values).blocks("subnet_mapping"))
    return {NewId(f"{address}.endpoint[{n}]"): one.named("subnet_id").certain or "" for n, one in mappings}


def union(found: Sequence[Possible]) -> Possible:
    """Return all that any of these may be. Many resources with count share one tuple of ids, which is not copied."""
    distinct = list({id(possible.ids): possible.ids for possible in found if possible.ids}.values())
    ids = distinct[0] if len(distinct) == 1 else tuple(dict.fromkeys(one for ids in distinct for one in ids))
    return Possible(ids, any(possible.is_open for possible in found))
