"""One strange item never makes the rule evaluate less: each key of an event gets a value of a form that nobody knows.

A recording mapping notes the keys that are read by their names, and values that are found by the last part of their names are
all of an item's. Whatever is new in an event of a change, the subnets that the change concerns get their new results, as far as
the rule is invoked at all, and no other result is wrong.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from random import Random
from typing import Any, NamedTuple

import pytest
from botocore.model import Shape
from botocore.session import get_session

from config_rule_sandbox.config.results import Result
from config_rule_sandbox.networks.public_sides import BehindFirewall
from config_rule_sandbox.server import Sandbox
from express_path.adapters.config_rule import events
from express_path.errors import RecordError
from tests.support.junk import places
from tests.support.network import Builder, Private
from tests.support.new_forms import (
    MISSING,
    Numbers,
    Place,
    key_at,
    member_shape,
    new_values,
    recorded,
    value_at,
    with_value,
)
from tests.support.rule import Rule

Event = dict[str, Any]
Change = Callable[[], object]

TEXTS = ("invokingEvent", "ruleParameters")
"""The keys of an event whose values are JSON text."""
DESCRIBED = {
    "AWS::EC2::Subnet": ("DescribeSubnets", ("Subnets", 0)),
    "AWS::EC2::RouteTable": ("DescribeRouteTables", ("RouteTables", 0)),
    "AWS::EC2::VPCEndpoint": ("DescribeVpcEndpoints", ("VpcEndpoints", 0)),
    "AWS::EC2::NatGateway": ("DescribeNatGateways", ("NatGateways", 0)),
    "AWS::EC2::PrefixList": ("DescribeManagedPrefixLists", ("PrefixLists", 0)),
    "AWS::EC2::VPCBlockPublicAccessExclusion": (
        "DescribeVpcBlockPublicAccessExclusions",
        ("VpcBlockPublicAccessExclusions", 0),
    ),
}
"""The call of EC2 whose answer the configuration of each type is like, and the place of the resource in it."""
MODELS = {name: get_session().get_service_model(name) for name in ("ec2", "config")}
OPEN = ("configuration", "relationships", "configurationItemDiff", "changedProperties", "previousValue", "updatedValue")
"""The keys whose type of JSON no schema of AWS says."""

_ITSELF = "without it, or with another one, the event is not one of this rule, or its results could not be stored"
BAD_INPUT: Mapping[str, str] = {
    **dict.fromkeys(("invokingEvent", "resultToken", "configRuleName", "ruleParameters"), _ITSELF),
    **dict.fromkeys(("accountId", "awsAccountId"), "an item of another account contradicts the rule's"),
    "awsRegion": "an item of another Region contradicts the function's",
    "messageType": "the rule's sources name the types of messages",
    "resourceType": "the rule's scope names the types of resources",
    **dict.fromkeys(("configurationItem", "configurationItemSummary"), "a change without an item is cut short"),
    "notificationCreationTime": "a scheduled notification without a time is cut short",
}
"""The keys whose new values may be bad input, with the reason: the invocation fails, and every result stays."""
_REFERENCE = "it names another resource: a longer id is the valid id of one that does not exist"
MAY_CONCERN_LESS: Mapping[str, str] = {
    **dict.fromkeys(("resourceId", "ARN", "vpcId", "VpcId", "subnetId", "SubnetId"), _REFERENCE),
    "configurationItemDiff": "a null difference is how AWS Config says that the item is sent again",
}
"""The keys whose new values may make an event concern other subnets, with the reason. They make no result wrong all the same.

So may a difference without one of its properties, because one without any is how AWS Config says that nothing changed.
"""


class Mutation(NamedTuple):
    """A new value at one place of an event, whose JSON texts are parsed."""

    place: Place
    kind: str
    value: Any

    @property
    def key(self) -> str:
        """The key whose value changes, or the last one above a value without a key of its own."""
        return key_at(self.place)


class Scene(NamedTuple):
    """A rule, whose results are those before a change, and the event of the change alone."""

    rule: Rule
    event: Event
    stored: dict[Any, Result]


class Changes:
    """A network, and the changes of it that are tried: each returns the id of the resource whose event is delivered."""

    def __init__(self, sandbox: Sandbox, builder: Builder) -> None:
        """Build the network: a VPC with an endpoint, one behind a firewall, and one beside them."""
        self._builder, self._ec2 = builder, builder.ec2
        for default in self._ec2.describe_subnets()["Subnets"]:
            self._ec2.delete_subnet(SubnetId=default["SubnetId"])
        self.vpc, self.other = Private(builder), Private(builder)
        self._main = builder.main_table(self.vpc.vpc)
        builder.route(self._main, NatGatewayId=self.vpc.nat)
        self._cured = builder.table(self.vpc.vpc, NatGatewayId=self.vpc.nat)
        self._by_main = builder.subnet(self.vpc.vpc)
        self._subnet = builder.subnet(self.vpc.vpc)
        self._association = builder.associate(self._cured, self._subnet)
        self._endpoint = builder.endpoint(self.vpc.vpc, self._cured)
        self._list = builder.prefix_list("10.250.0.0/16")
        by_list = builder.table(self.other.vpc)
        builder.route(by_list, self._list, NatGatewayId=self.other.nat)
        builder.subnet(self.other.vpc, by_list)
        [self._express] = [
            row["Cidrs"][0]
            for row in self._ec2.describe_prefix_lists()["PrefixLists"]
            if row["PrefixListName"].endswith(".s3express")
        ]
        self._behind = BehindFirewall(builder)
        self._sandbox = sandbox

    def disassociates_a_subnet(self) -> str:
        """A subnet falls back to the main table."""
        self._ec2.disassociate_route_table(AssociationId=self._association)
        return self._cured

    def replaces_the_main_table(self) -> str:
        """Another table becomes the main one."""
        self._builder.make_main(self.vpc.vpc, self._cured)
        return self._cured

    def adds_a_route(self) -> str:
        """A table gets a route that is more specific than the endpoint's."""
        self._builder.route(self._cured, self._express, NatGatewayId=self.vpc.nat)
        return self._cured

    def deletes_an_endpoint(self) -> str:
        """Its table leads to the NAT gateway again."""
        self._ec2.delete_vpc_endpoints(VpcEndpointIds=[self._endpoint])
        return self._endpoint

    def associates_an_endpoint(self) -> str:
        """The private table gets the endpoint's route."""
        self._ec2.modify_vpc_endpoint(VpcEndpointId=self._endpoint, AddRouteTableIds=[self.vpc.table])
        return self._endpoint

    def deletes_a_nat_gateway(self) -> str:
        """What leads to it is dropped."""
        self._ec2.delete_nat_gateway(NatGatewayId=self.vpc.nat)
        return self.vpc.nat

    def makes_a_subnet(self) -> str:
        """It is governed by the main table."""
        return self._builder.subnet(self.vpc.vpc)

    def deletes_a_subnet(self) -> str:
        """Its result is to go."""
        self._ec2.delete_subnet(SubnetId=self._by_main)
        return self._by_main

    def closes_internet_gateways(self) -> str:
        """Block Public Access is turned on."""
        self._ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        return self._sandbox.account_id

    def extends_a_prefix_list(self) -> str:
        """A route gets a destination of the service."""
        [listed] = self._ec2.describe_managed_prefix_lists(PrefixListIds=[self._list])["PrefixLists"]
        self._ec2.modify_managed_prefix_list(
            PrefixListId=self._list, CurrentVersion=listed["Version"], AddEntries=[{"Cidr": self._express}]
        )
        return self._list

    def deletes_a_firewall(self) -> str:
        """Its endpoint is any other appliance then."""
        firewalls = self._sandbox.client("network-firewall")
        [listed] = firewalls.list_firewalls()["Firewalls"]
        firewalls.delete_firewall(FirewallArn=listed["FirewallArn"])
        return str(listed["FirewallName"])


CHANGES = [name for name in vars(Changes) if not name.startswith("_")]


def opened(event: Event) -> Event:
    """Return an event with its JSON texts parsed."""
    return {key: json.loads(value) if key in TEXTS else value for key, value in event.items()}


def closed(event: Mapping[str, Any]) -> Event:
    """Return the event with JSON texts again."""
    return {key: json.dumps(value) if key in TEXTS and value is not None else value for key, value in event.items()}


def shape_of(place: Place, resource_type: str) -> Shape | None:
    """Return botocore's model of the value at a place of an event; None if there is none."""
    item = MODELS["config"].shape_for("ConfigurationItem")
    inside = place[2:]
    if place[:2] == ("invokingEvent", "configurationItemDiff"):
        text = MODELS["config"].shape_for("String")
        return text if len(place) > 2 else None
    if len(place) < 3:
        return MODELS["config"].shape_for("String")
    if inside[0] == "configuration" and len(inside) > 1:
        if resource_type not in DESCRIBED:
            return MODELS["config"].shape_for("String")
        operation, top = DESCRIBED[resource_type]
        of_ec2 = [key[:1].upper() + key[1:] if isinstance(key, str) else key for key in inside[1:]]
        return member_shape(MODELS["ec2"].operation_model(operation).output_shape, (*top, *of_ec2))
    names = {"awsAccountId": "accountId", "ARN": "arn", "name": "relationshipName"}
    return member_shape(item, tuple(names.get(str(key), key) for key in inside))


def mutations(event: Event, keys_read: set[Place]) -> Iterator[Mutation]:
    """Yield the new values of each key that is read, by its name or by the last part of it."""
    invoking = event["invokingEvent"]
    item = invoking.get("configurationItem") or invoking["configurationItemSummary"]
    by_leaf = {
        ("invokingEvent", name, *place)
        for name in ("configurationItem", "configurationItemDiff")
        for place in places(invoking.get(name) or {})
        if name == "configurationItemDiff" or place[0] in ("configuration", "relationships")
    }
    for place in sorted({*keys_read, *by_leaf}, key=repr):
        parent = value_at(event, place[:-1])
        if isinstance(parent, list):
            for kind, value in new_values(None, None, is_open=True):
                yield Mutation(place, kind, value)
            continue
        old = parent.get(place[-1])
        shape = shape_of(place, item["resourceType"])
        if not isinstance(old, str | None):
            shape = None
        for kind, value in new_values(shape, old, is_open=place[-1] in OPEN):
            yield Mutation(place, kind, value)


def results_of(rule: Rule) -> dict[str, tuple[str, str]]:
    """Return the compliance and the reason that AWS Config has for each subnet."""
    return {subnet_id: (held.compliance, held.reason) for subnet_id, held in rule.held().items()}


def scene_of(sandbox: Sandbox, builder: Builder, name: str, parameters: Mapping[str, str] | None = None) -> Scene:
    """Return a rule that has judged the network before a change, and the event of the change."""
    changes = Changes(sandbox, builder)
    rule = Rule(sandbox, parameters)
    rule.loop.baseline()
    rule.loop.take()
    rule.sweep()
    resource_id = getattr(changes, name)()
    rule.loop.notice()
    [notification] = [
        notification
        for notification in rule.loop.take()
        if notification["configurationItem"]["resourceId"] == resource_id
    ]
    item = notification["configurationItem"]
    event = rule.event(item, notification["configurationItemDiff"])
    return Scene(rule, opened(event), deepcopy(rule.loop.results.results))


def delivered(scene: Scene, event: Event) -> dict[str, tuple[str, str]]:
    """Return the results after an event, which is delivered to a rule with the results before it."""
    scene.rule.loop.results.results = dict(scene.stored)
    scene.rule.invoke({**closed(event)})
    return results_of(scene.rule)


def try_all(scene: Scene, monkeypatch: pytest.MonkeyPatch, share: float, numbers: Numbers) -> None:
    """Try a share of the mutations of an event."""
    keys_read: set[Place] = set()
    read_text = events.json_text

    def noting(description: Mapping[str, Any], name: str, resource: str) -> Any:
        found = read_text(description, name, resource)
        return recorded(found, (name,), keys_read) if name == "invokingEvent" else found

    old = {
        result.resource[1]: (result.compliance, str(result.annotation).partition(":")[0])
        for result in scene.stored.values()
    }
    with monkeypatch.context() as noted:
        noted.setattr(events, "json_text", noting)
        expected = delivered(scene, recorded(scene.event, (), keys_read))
    changed = {subnet_id for subnet_id, result in expected.items() if result != old.get(subnet_id)}
    assert changed
    scene.rule.sweep()
    truth = results_of(scene.rule)
    resource_type = scene.event["invokingEvent"]["configurationItem"]["resourceType"]
    random = Random(7)
    for mutation in mutations(scene.event, keys_read):
        numbers.keys.add((resource_type, mutation.key))
        if random.random() > share:
            continue
        numbers.counts["mutations"] += 1
        try:
            after = delivered(scene, with_value(scene.event, mutation.place, mutation.value))
        except RecordError:
            assert mutation.key in BAD_INPUT, mutation
            numbers.counts["bad input"] += 1
            continue
        is_emptied = mutation.value is MISSING and mutation.place[-2] == "changedProperties"
        for subnet_id, result in after.items():
            assert result in (truth.get(subnet_id, result), old.get(subnet_id)), (mutation, subnet_id, result)
        if mutation.key in MAY_CONCERN_LESS or is_emptied:
            numbers.counts["may concern less"] += 1
            continue
        for subnet_id in changed:
            assert after.get(subnet_id) == expected[subnet_id], (mutation, subnet_id, after.get(subnet_id))


@pytest.mark.parametrize("name", ["disassociates_a_subnet", "deletes_an_endpoint", "makes_a_subnet"])
def test_an_event_of_a_new_form_evaluates_no_less(
    sandbox: Sandbox, builder: Builder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A part of the product of changes, keys, and new values; the whole is in the long tests."""
    try_all(scene_of(sandbox, builder, name), monkeypatch, 0.1, Numbers())


@pytest.mark.long
@pytest.mark.no_cover
@pytest.mark.parametrize("name", CHANGES)
def test_no_event_of_a_new_form_evaluates_less(
    sandbox: Sandbox, builder: Builder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Every new value of every key that is read, in the event of every change."""
    numbers = Numbers()
    try_all(scene_of(sandbox, builder, name), monkeypatch, 1, numbers)
    print(name, len(numbers.keys), "keys", dict(numbers.counts))  # noqa: T201  # for the reader
