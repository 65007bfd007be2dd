"""One strange thing never hides the rest: each field that is read gets a value of a form that nobody knows.

A recording mapping notes the keys that the readers read, and botocore's model says what type each of them has. For each key and
each value of a new form, the rest of the network is still judged, a finding beside it stays, and no verdict is better.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from botocore.model import Shape
from botocore.session import get_session

from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters, Scope
from express_path.errors import DumpError
from express_path_cli.sources import dump
from tests.support import network_files, scenarios
from tests.support.new_forms import (
    TARGET_FIELDS,
    Numbers,
    Place,
    is_no_better,
    member_shape,
    new_values,
    recorded,
    value_at,
    with_new_target,
    with_value,
)

NETWORKS = (
    *("nat-instance-beside-the-endpoint", "regional-nat-gateway-own-table", "customer-list-to-nat"),
    *("transit-gateway-inspection-vpc", "transit-gateway-prefix-list-reference", "transit-gateway-firewall-attachment"),
    *("transit-gateway-policy-table-entries", "transit-gateway-connect-attachment", "transit-gateway-states-not-shown"),
    *("firewall-endpoint-of-another-type", "instance-without-a-device-index"),
    *(
        "firewall-in-another-vpc",
        "proxy-firewall-by-its-nat-gateway",
        "one-family-through-nat",
        "nat64-beside-the-endpoint",
    ),
    *("directory-buckets-none", "nat-gateway-closed-but-not-for-every-route", "association-moves-to-another-table"),
    *(
        "nat-instance-stopped",
        "endpoint-names-an-unlisted-table",
        "propagated-equal-route-loses",
        "main-table-implicit",
    ),
)
"""Networks of tests/networks that have every kind of record."""
NEIGHBOR = "subnet-neighbor"
NEIGHBORS = {
    "cidr": "10.99.0.0/16",
    "subnets": {NEIGHBOR: {"cidr": "10.99.0.0/24"}},
    "route_tables": {"rtb-neighbor": {"subnets": [NEIGHBOR], "routes": ["0.0.0.0/0 -> nat-neighbor"]}},
    "nat_gateways": {"nat-neighbor": {"subnet": NEIGHBOR}},
}
"""A VPC beside the network, whose only subnet has a NAT gateway."""

OPERATIONS = {
    "vpcs.json": ("ec2", "DescribeVpcs"),
    "subnets.json": ("ec2", "DescribeSubnets"),
    "route-tables.json": ("ec2", "DescribeRouteTables"),
    "vpc-endpoints.json": ("ec2", "DescribeVpcEndpoints"),
    "nat-gateways.json": ("ec2", "DescribeNatGateways"),
    "prefix-lists.json": ("ec2", "DescribePrefixLists"),
    "managed-prefix-lists.json": ("ec2", "DescribeManagedPrefixLists"),
    "network-interfaces.json": ("ec2", "DescribeNetworkInterfaces"),
    "transit-gateway-attachments.json": ("ec2", "DescribeTransitGatewayAttachments"),
    "transit-gateway-vpc-attachments.json": ("ec2", "DescribeTransitGatewayVpcAttachments"),
    "transit-gateway-route-tables.json": ("ec2", "DescribeTransitGatewayRouteTables"),
    "transit-gateway-connects.json": ("ec2", "DescribeTransitGatewayConnects"),
    "shared-subnets.json": ("ram", "ListResources"),
    "managed-prefix-list-entries": ("ec2", "GetManagedPrefixListEntries"),
    "transit-gateway-routes": ("ec2", "SearchTransitGatewayRoutes"),
    "transit-gateway-policy-table-entries": ("ec2", "GetTransitGatewayPolicyTableEntries"),
    "firewalls": ("network-firewall", "DescribeFirewall"),
    "firewall-endpoint-associations": ("network-firewall", "DescribeVpcEndpointAssociation"),
}
"""The call that makes each file, or each file of a folder."""

BAD_INPUT: Mapping[str, str] = {
    **dict.fromkeys(("NextToken", "nextToken", "ContinuationToken"), "says that the answer is cut short"),
    **dict.fromkeys(
        (
            *(
                "Vpcs",
                "Subnets",
                "RouteTables",
                "VpcEndpoints",
                "NatGateways",
                "PrefixLists",
                "NetworkInterfaces",
                "Entries",
            ),
            *("TransitGatewayAttachments", "TransitGatewayVpcAttachments", "TransitGatewayRouteTables", "resources"),
            "TransitGatewayConnects",
            *("Firewall", "VpcEndpointAssociation", "TransitGatewayRoutes", "TransitGatewayPolicyTableEntries"),
        ),
        "without it, the file is the answer of another call",
    ),
    **dict.fromkeys(
        ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "Cidrs", "Cidr"),
        "a value that is not a CIDR block contradicts the field",
    ),
    **dict.fromkeys(
        ("AvailabilityZone", "SubnetArn", "FirewallArn"), "another Region than identity.json's contradicts it"
    ),
    "PrefixListName": "the names of AWS's lists must be those of the Region in identity.json",
    "Routes": "without it, a search of a transit gateway's routes is the answer of another call",
}
"""The keys whose new values may be bad input, with the reason."""
_REFERENCE = "it names another resource: a longer id is the valid id of one that is not listed"
_ABSENT = "it is there only where it applies, so that its absence is an answer"
MAY_IMPROVE: Mapping[str, str] = {
    **dict.fromkeys(
        ("SubnetId", "VpcId", "RouteTableId", "NatGatewayId", "VpcEndpointId", "NetworkInterfaceId", "InstanceId"),
        _REFERENCE,
    ),
    **dict.fromkeys(
        (
            "TransitGatewayId",
            "TransitGatewayAttachmentId",
            "TransitGatewayRouteTableId",
            "ResourceId",
            "SubnetIds",
            "EndpointId",
        ),
        _REFERENCE,
    ),
    **dict.fromkeys(("RouteTableIds", "DestinationPrefixListId", "PrefixListId", "arn"), _REFERENCE),
    **dict.fromkeys(("Associations", "BlockPublicAccessStates", "InternetGatewayBlockMode", "Attachment"), _ABSENT),
    **dict.fromkeys(("SyncStates", "NatGatewayAttachments", "ProxySettings", "AssociationSyncState"), _ABSENT),
    **dict.fromkeys(("Tags", "Key", "Value"), "only a tag that is there excludes a subnet, and people choose tags"),
    "PrefixListName": "lists are found by their names: one with another name is another service's",
    "NetworkInterfaces": "an empty file means that interfaces cannot be read",
    "AdditionalRoutesAvailable": "pagination: it is there and true if routes are missing",
}
"""The keys whose new values may make a verdict better, with the reason. They may hide nothing all the same."""
_LISTS = "it holds what is read: what is not there cannot be followed"
MAY_HIDE: Mapping[str, str] = {
    **MAY_IMPROVE,
    **BAD_INPUT,
    **dict.fromkeys(("GatewayId", "TransitGatewayPolicyTableId", "TargetRouteTableId"), _REFERENCE),
    **dict.fromkeys(("Association", "FirewallStatus", "TransitGatewayAttachments", "us-east-1a", "us-east-1b"), _LISTS),
    "Main": "an association that names nothing may be with any subnet",
}
"""The keys because of whose absence a NAT may be unknown, with the reason. Without any other key, a NAT stays a NAT."""


Documents = dict[str, Any]
"""The JSON of each file of a dump, by its path."""


def documents(name: str, folder: Path) -> tuple[Documents, RuleParameters]:
    """Write the dump of a network with a neighbor, and return its files and rule parameters."""
    network = dict(scenarios.document(name))
    network["vpcs"] = {**network["vpcs"], "vpc-neighbor": NEIGHBORS}
    sections = {key: value for key, value in network.items() if key in {*network_files.SECTIONS, "account", "region"}}
    network_files.write_dump(folder, sections)
    files = {str(path.relative_to(folder)): json.loads(path.read_text() or "{}") for path in folder.rglob("*.json")}
    scope = Scope.DIRECTORY_BUCKETS if "directory_buckets" in sections else Scope.ALL
    return files, RuleParameters(scope=scope)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, Documents], None]:
    """Return a function that makes the reader of dumps see these documents in place of a folder's files."""

    def serving(folder: Path, files: Documents) -> None:
        monkeypatch.setattr(dump, "read_response", lambda path, _: files.get(str(path.relative_to(folder))) or None)

    return serving


def verdicts(folder: Path, rule: RuleParameters) -> dict[str, Verdict]:
    """Return the verdict on each subnet of a dump."""
    [region] = dump.read_dump(folder).regions
    evaluator = Evaluator(Tracer(region.network), rule, region.accounts[0].account)
    return {subnet_id: evaluator.verdict(subnet_id) for subnet_id in region.network.subnets}


def verdicts_unless_bad_input(folder: Path, rule: RuleParameters, mutation: "Mutation") -> dict[str, Verdict] | None:
    """Return the verdicts; None if the dump is bad input, which only some keys may make it."""
    try:
        return verdicts(folder, rule)
    except DumpError:
        if mutation.key not in BAD_INPUT:
            raise
        return None


class Mutation(NamedTuple):
    """A new value at one place of one file; it removes the key if the value is MISSING."""

    file: str
    place: Place
    kind: str
    value: Any

    @property
    def key(self) -> str:
        """The key whose value changes."""
        return str(self.place[-1])


def shape_of(file: str, place: Place) -> Shape | None:
    """Return botocore's model of the value at a place; None if AWS's answer has no such key."""
    service, operation = OPERATIONS[file if file in OPERATIONS else file.partition("/")[0]]
    return member_shape(MODELS[service].operation_model(operation).output_shape, place)


MODELS = {name: get_session().get_service_model(name) for name in ("ec2", "ram", "network-firewall")}


def mutations(files: Documents, keys_read: Mapping[str, set[Place]]) -> Iterator[Mutation]:
    """Yield the new values of each key that was read, by its type; one that is not there gets a new word."""
    for file in sorted(keys_read):
        for place in sorted(keys_read[file], key=repr):
            shape = shape_of(file, place)
            known = value_at(files[file], place[:-1])
            for kind, value in new_values(shape, known.get(place[-1])):
                yield Mutation(file, place, kind, value)
            if place[-1] in TARGET_FIELDS and "Routes" in place and known.get(place[-1]):
                yield Mutation(file, place[:-1], "a new target", with_new_target(known, place[-1]))


def mutated(files: Documents, mutation: Mutation) -> Documents:
    """Return the files with one new value."""
    document = with_value(files[mutation.file], mutation.place, mutation.value)
    return {**files, mutation.file: document}


def try_all(
    name: str, tmp_path: Path, serve: Callable[[Path, Documents], None], share: float, numbers: Numbers
) -> None:
    """Try a share of the mutations of one network."""
    files, rule = documents(name, tmp_path)
    keys_read: dict[str, set[Place]] = {file: set() for file in files}
    serve(tmp_path, {file: recorded(document, (), keys_read[file]) for file, document in files.items()})
    before = verdicts(tmp_path, rule)
    known = {file: places for file, places in keys_read.items() if file.partition("/")[0] in OPERATIONS}
    random = Random(name)
    for mutation in mutations(files, known):
        numbers.keys.add((mutation.file.partition("/")[0], mutation.key))
        if random.random() > share:
            continue
        numbers.counts["mutations"] += 1
        serve(tmp_path, mutated(files, mutation))
        after = verdicts_unless_bad_input(tmp_path, rule, mutation)
        if after is None:
            numbers.counts["bad input"] += 1
            continue
        if before[NEIGHBOR].compliance is Compliance.NON_COMPLIANT and not is_about(mutation, files, "neighbor"):
            assert after[NEIGHBOR].compliance is Compliance.NON_COMPLIANT, (mutation, after[NEIGHBOR])
        # Whatever the target is, AWS drops what a blackhole wins; only a listed interface comes back.
        is_blackhole = mutation.kind == "a new target" and mutation.value["State"] == "blackhole"
        if mutation.key in MAY_IMPROVE or is_blackhole:
            numbers.counts["may improve"] += 1
            continue
        for subnet_id, old in before.items():
            assert is_no_better(after.get(subnet_id), old), (mutation, old.annotation, after[subnet_id].annotation)
            if mutation.kind in ("missing", "null") and mutation.key not in MAY_HIDE:
                is_found = old.compliance is Compliance.NON_COMPLIANT
                assert not is_found or after[subnet_id].compliance is old.compliance, (mutation, after[subnet_id])


def is_about(mutation: Mutation, files: Documents, word: str) -> bool:
    """Return whether a mutation is inside a record that names something with this word, or in a list of AWS."""
    at = files[mutation.file]
    for key in mutation.place[:2]:
        at = at[key] if isinstance(at, list) else at.get(key)
    return word in json.dumps(at) or "prefix-list" in mutation.file


@pytest.mark.parametrize("name", NETWORKS)
def test_a_value_of_a_new_form_hides_nothing(
    name: str, tmp_path: Path, serve: Callable[[Path, Documents], None]
) -> None:
    """A part of the product of networks, keys, and new values; the whole is in the long tests."""
    try_all(name, tmp_path, serve, 0.1, Numbers())


@pytest.mark.long
@pytest.mark.no_cover
def test_no_value_of_a_new_form_hides_anything(tmp_path: Path, serve: Callable[[Path, Documents], None]) -> None:
    """Every new value of every key that is read, in every network."""
    numbers = Numbers()
    for name in NETWORKS:
        try_all(name, tmp_path / name, serve, 1, numbers)
    print(len(NETWORKS), "networks", len(numbers.keys), "keys", dict(numbers.counts))  # noqa: T201  # for the reader
    assert len(numbers.keys) > 60
