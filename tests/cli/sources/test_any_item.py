"""One strange item of an aggregator never hides the rest: each key that is read gets a value of a form that nobody knows."""

import json
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

import pytest
from botocore.model import Shape
from botocore.session import get_session

from config_rule_sandbox.config.items.items import ItemStyle
from config_rule_sandbox.networks.account import ANYWHERE_IPV6, Account
from config_rule_sandbox.networks.public_sides import BehindFirewall, BehindNatGateway, BehindNatInstance, PublicSide
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.sources import aggregator
from tests.support.config_aggregator import Aggregator, answering
from tests.support.network import Builder
from tests.support.new_forms import (
    TARGET_FIELDS,
    Numbers,
    Place,
    is_no_better,
    key_at,
    member_shape,
    new_values,
    recorded,
    with_new_target,
    with_value,
)

MEMBER = "444455556666"
"""The other account, whose subnet has a NAT gateway, too."""
DESCRIBED = {
    "AWS::EC2::Subnet": ("DescribeSubnets", ("Subnets", 0)),
    "AWS::EC2::RouteTable": ("DescribeRouteTables", ("RouteTables", 0)),
    "AWS::EC2::VPCEndpoint": ("DescribeVpcEndpoints", ("VpcEndpoints", 0)),
    "AWS::EC2::NatGateway": ("DescribeNatGateways", ("NatGateways", 0)),
    "AWS::EC2::VPC": ("DescribeVpcs", ("Vpcs", 0)),
    "AWS::EC2::NetworkInterface": ("DescribeNetworkInterfaces", ("NetworkInterfaces", 0)),
    "AWS::EC2::PrefixList": ("DescribeManagedPrefixLists", ("PrefixLists", 0)),
    "AWS::EC2::VPCBlockPublicAccessOptions": (
        "DescribeVpcBlockPublicAccessOptions",
        ("VpcBlockPublicAccessOptions",),
    ),
}
"""The call of EC2 whose answer the configuration of each type is like, and the place of the resource in it."""
MODELS = {name: get_session().get_service_model(name) for name in ("ec2", "config")}
OPEN = ("configuration", "tags", "relationships")
"""The keys of an item whose type of JSON botocore's model leaves open, or has otherwise than AWS's samples."""

BAD_INPUT: Mapping[str, str] = {
    "accountId": "an item of an account that is not named contradicts the query, which selects it",
    "awsRegion": "an item of a Region that is not named contradicts the query, which selects it",
    **dict.fromkeys(
        ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "Cidr"),
        "a value that is not a CIDR block contradicts the field",
    ),
}
"""The keys whose new values may make an account's items bad input, with the reason: then that account is not judged."""
MAY_IMPROVE: Mapping[str, str] = {
    "SubnetId": "an association with another subnet: if a subnet's item disagrees with its table's, the table's counts",
}
"""The keys whose new values may make a verdict better, with the reason. They may hide nothing all the same."""


class Identity(NamedTuple):
    """What no two items of the aggregator have in common."""

    account_id: str
    resource_type: str
    resource_id: str


Items = dict[Identity, dict[str, Any]]


class Mutation(NamedTuple):
    """A new value at one place of one item; the keys below `configuration` are those of EC2."""

    item: Identity
    place: Place
    kind: str
    value: Any

    @property
    def key(self) -> str:
        """The key whose value changes, or the last one above a value without a key of its own."""
        return key_at(self.place)


class Network:
    """Two accounts whose items an aggregator has, with every kind of item that is read."""

    def __init__(self, sandbox: Sandbox, builder: Builder, style: ItemStyle) -> None:
        """Build both networks and copy their items."""
        self._build(builder)
        member = Account(sandbox, MEMBER, first=200)
        for account in (builder, member):
            for default in account.ec2.describe_subnets(Filters=[{"Name": "default-for-az", "Values": ["true"]}])[
                "Subnets"
            ]:
                account.ec2.delete_subnet(SubnetId=default["SubnetId"])
        self.neighbors = [BehindNatGateway(builder).subnet, BehindNatGateway(member).subnet]
        self.aggregator = Aggregator(sandbox, page=100)
        self.aggregator.copy(style=style)
        self.aggregator.copy(MEMBER, style=style)

    def _build(self, builder: Builder) -> None:
        [express] = [
            row["Cidrs"]
            for row in builder.ec2.describe_prefix_lists()["PrefixLists"]
            if row["PrefixListName"].endswith(".s3express")
        ]
        vpc = PublicSide(builder, ipv6=True)
        nat = builder.nat_gateway(vpc.public)
        endpoint_table, partly = builder.table(vpc.vpc), builder.table(vpc.vpc, NatGatewayId=nat)
        builder.endpoint(vpc.vpc, endpoint_table, partly)
        builder.subnet(vpc.vpc, endpoint_table)
        builder.subnet(vpc.vpc, partly)
        builder.route(partly, builder.prefix_list(express[0]), NatGatewayId=nat)
        builder.route(partly, ANYWHERE_IPV6, GatewayId=vpc.internet_gateway)
        builder.subnet(vpc.vpc, partly, ipv6=True)
        builder.tag(builder.subnet(vpc.vpc, endpoint_table), "express-path:exclude")
        main = BehindNatGateway(builder)
        builder.route(builder.main_table(main.vpc), NatGatewayId=main.nat)
        builder.subnet(main.vpc)
        BehindNatInstance(builder)
        BehindFirewall(builder, load_balancer=True)
        builder.ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-ingress")

    def items(self) -> Items:
        """Return the items by what identifies them, with the columns that the queries select."""
        return {
            Identity(item["accountId"], resource_type, item["resourceId"]): {
                key: item[key] for key in item if key != "relationships" or resource_type == "AWS::EC2::Subnet"
            }
            for resource_type, items in self.aggregator.items.items()
            for item in items
        }


Verdicts = dict[str, Verdict]


@pytest.fixture
def changing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Mapping[str, Any]], Any]], None]:
    """Return a function that lets the reader see each result of a query as this function returns it."""
    read = aggregator.read_item
    return lambda change: monkeypatch.setattr(aggregator, "read_item", lambda result: change(read(result)))


def judged(name: str) -> tuple[Verdicts, set[str]]:
    """Return the verdicts on the subnets of all accounts, and the accounts that are not judged."""
    reader = aggregator.Aggregator(Aws.connect(), name)
    views = aggregator.views_of(reader.snapshots([]))
    found = {
        subnet_id: view.evaluator(RuleParameters()).verdict(subnet_id)
        for view in views
        for subnet_id in view.subnet_ids
    }
    return found, {account_id for account_id, _ in reader.unreadable}


def pascal(key: str | int) -> str | int:
    """Return a key of a configuration as EC2 spells it."""
    return key[:1].upper() + key[1:] if isinstance(key, str) else key


def shape_of(resource_type: str, place: Place) -> Shape | None:
    """Return botocore's model of the value at a place of an item."""
    if place[0] == "configuration" and len(place) > 1 and resource_type in DESCRIBED:
        operation, top = DESCRIBED[resource_type]
        if resource_type == "AWS::EC2::PrefixList" and place[1] == "Entries":
            operation, top = "GetManagedPrefixListEntries", ()
        return member_shape(MODELS["ec2"].operation_model(operation).output_shape, (*top, *place[1:]))
    item = MODELS["config"].shape_for("ConfigurationItem")
    if place[0] == "tags":
        return member_shape(item, ("tags", "")) if len(place) > 2 else None
    return member_shape(item, place)


def in_item(item: Mapping[str, Any], place: Place) -> Place:
    """Return a place with the keys as an item spells them: EC2's in camel case, unless the item has them in Pascal case."""
    found: list[str | int] = []
    at: Any = item
    for key in place:
        spelled = key
        if isinstance(key, str) and isinstance(at, Mapping) and key not in at and place[0] == "configuration":
            spelled = key[:1].lower() + key[1:]
            if len(found) == 1 and any(name[:1].isupper() for name in at):
                spelled = key
        found.append(spelled)
        if isinstance(at, Mapping):
            at = at.get(spelled)
        else:
            at = at[spelled] if isinstance(at, list) and isinstance(spelled, int) and spelled < len(at) else None
    return tuple(found)


def mutations(items: Items, keys_read: Mapping[Identity, set[Place]]) -> Iterator[Mutation]:
    """Yield the new values of each key that was read."""
    for identity, item in items.items():
        for place in sorted(keys_read[identity], key=repr):
            spelled = in_item(item, place)
            parent = item
            for key in spelled[:-1]:
                parent = parent[key] if not isinstance(parent, dict) or key in parent else {}
            if not isinstance(parent, dict):
                continue
            old = parent.get(spelled[-1])
            shape = shape_of(identity.resource_type, place)
            for kind, value in new_values(shape, old, is_open=place[-1] in OPEN and len(place) == 1):
                yield Mutation(identity, place, kind, value)
            if place[-1] in ("tags", "relationships") and len(place) == 1:
                for kind, value in new_values(None, None, is_open=True):
                    yield Mutation(identity, place, f"{kind} in the list", [*(old or ()), value])
            if place[-1] in TARGET_FIELDS and "Routes" in place and old:
                yield Mutation(identity, place[:-1], "a new target", with_new_target(parent, spelled[-1]))


def try_all(
    network: Network, changing: Callable[[Callable[[Mapping[str, Any]], Any]], None], share: float, numbers: Numbers
) -> None:
    """Try a share of the mutations of a network."""
    items = network.items()
    by_item = {(identity.account_id, identity.resource_id): identity for identity in items}
    keys_read: dict[Identity, set[Place]] = {identity: set() for identity in items}
    description = aggregator.description

    def noting(item: Mapping[str, Any]) -> Any:
        return recorded(item, (), keys_read[by_item[item["accountId"], item["resourceId"]]])

    def noting_description(item: Mapping[str, Any], *more: Any) -> Any:
        identity = by_item[item["accountId"], item["resourceId"]]
        made = ("Tags", "RelatedTableIds")
        found = description(item, *more)
        of_ec2 = recorded(
            {key: found[key] for key in found if key not in made}, ("configuration",), keys_read[identity]
        )
        of_ec2.update({key: found[key] for key in made})
        return of_ec2

    with pytest.MonkeyPatch.context() as noted:
        noted.setattr(aggregator, "description", noting_description)
        changing(noting)
        before, failed = judged(network.aggregator.name)
    assert not failed
    assert {before[subnet_id].compliance for subnet_id in network.neighbors} == {Compliance.NON_COMPLIANT}
    random = Random(7)
    read = {
        identity: {place for place in places if place[-1] not in ("Tags", "RelatedTableIds")}
        for identity, places in keys_read.items()
    }
    for mutation in mutations(items, read):
        numbers.keys.add((mutation.item.resource_type, mutation.key))
        if random.random() > share:
            continue
        numbers.counts["mutations"] += 1
        changing(lambda item, mutation=mutation: strange(item, mutation, items))  # type: ignore[misc]
        after, failed = judged(network.aggregator.name)
        check(mutation, items, before, after, failed, network.neighbors, numbers)


def strange(item: Mapping[str, Any], mutation: Mutation, items: Items) -> Mapping[str, Any]:
    """Return an item, with the new value if it is the one to change."""
    known = items[mutation.item]
    if (item["accountId"], item["resourceId"]) != (known["accountId"], known["resourceId"]):
        return item
    return dict(with_value(item, in_item(known, mutation.place), mutation.value))


def check(
    mutation: Mutation,
    items: Items,
    before: Verdicts,
    after: Verdicts,
    failed: set[str],
    neighbors: list[str],
    numbers: Numbers,
) -> None:
    """Compare the verdicts with and without a new value."""
    if failed:
        assert mutation.key in BAD_INPUT, (mutation, failed)
        numbers.counts["bad input"] += 1
    account_id = mutation.item.account_id
    for subnet_id in neighbors:
        is_concerned = (
            subnet_id in json.dumps(items[mutation.item], default=str) or before[subnet_id].account_id in failed
        )
        if not is_concerned and before[subnet_id].route_table_id != mutation.item.resource_id:
            assert after[subnet_id].compliance is Compliance.NON_COMPLIANT, (mutation, after[subnet_id])
    may_improve = mutation.key in MAY_IMPROVE
    numbers.counts["may improve"] += may_improve
    for subnet_id, old in before.items():
        if old.account_id in failed or (mutation.item.resource_id == subnet_id and failed):
            continue
        is_renamed = mutation.item.resource_id == subnet_id and mutation.key == "SubnetId"
        assert subnet_id in after or is_renamed, (mutation, subnet_id)
        if subnet_id in after and not may_improve:
            note = (mutation, account_id, old.annotation, after[subnet_id].annotation)
            assert is_no_better(after[subnet_id], old), note


STYLES = [ItemStyle(), ItemStyle(explicit_nulls=False, state_as_object=True)]


def test_an_item_of_a_new_form_hides_nothing(
    sandbox: Sandbox, builder: Builder, changing: Callable[[Callable[[Mapping[str, Any]], Any]], None]
) -> None:
    """A part of the product of items, keys, and new values; the whole is in the long tests."""
    network = Network(sandbox, builder, STYLES[0])
    with answering(network.aggregator):
        try_all(network, changing, 0.015, Numbers())


@pytest.mark.long
@pytest.mark.no_cover
@pytest.mark.parametrize("style", STYLES)
def test_no_item_of_a_new_form_hides_anything(
    sandbox: Sandbox,
    builder: Builder,
    style: ItemStyle,
    changing: Callable[[Callable[[Mapping[str, Any]], Any]], None],
) -> None:
    """Every new value of every key that is read, in every item."""
    network, numbers = Network(sandbox, builder, style), Numbers()
    with answering(network.aggregator):
        try_all(network, changing, 1, numbers)
    print(len(network.items()), "items", len(numbers.keys), "keys", dict(numbers.counts))  # noqa: T201  # for the reader
    assert len(numbers.keys) > 100
