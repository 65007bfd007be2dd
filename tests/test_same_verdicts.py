"""Every way to read a network gives the same verdicts.

A source is a function from the scene to verdicts by subnet; a new one needs an entry in SOURCES and nothing else.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import parse_parameters
from tests.support.command import invoke, scan
from tests.support.config_aggregator import Aggregator, answering
from tests.support.everything import Everything
from tests.support.rule import Rule

pytestmark = [pytest.mark.long, pytest.mark.no_cover]

NETWORK = "111122223333"
ROLE = f"arn:aws:iam::{NETWORK}:role/express-path-network"

Hop = tuple[str, str, str]


class Same(NamedTuple):
    """The parts of a verdict that must be the same; a hop is its kind, id, and destination."""

    compliance: str
    reason: str
    route_table_id: str | None
    path: tuple[Hop, ...]


Verdicts = dict[str, Same]


class Scene(NamedTuple):
    """The rule's account, the other accounts whose dumps belong to it, and the rule's parameters."""

    account: Account
    others: tuple[Account, ...]
    parameters: dict[str, str]
    folder: Path


def _same(row: Mapping[str, Any]) -> Same:
    path = tuple((str(hop["kind"]), str(hop["id"]), str(hop["destination"])) for hop in row["path"])
    return Same(str(row["compliance"]), str(row["reason"]), row["routeTableId"], path)


def swept(scene: Scene) -> Verdicts:
    """Return the verdicts of the scheduled sweep, which skips NOT_APPLICABLE subnets unknown to AWS Config."""
    delivery = Rule(scene.account.sandbox, scene.parameters).loop.scheduled()
    if delivery.error:
        raise delivery.error
    return {evaluation["subnetId"]: _same(evaluation) for evaluation in delivery.answer["evaluations"]}


def notified(scene: Scene) -> Verdicts:
    """Return the verdicts of the function after an endpoint event in each VPC, so that it reads one VPC at a time."""
    rule = Rule(scene.account.sandbox, scene.parameters)
    found: Verdicts = {}
    for vpc in scene.account.ec2.describe_vpcs()["Vpcs"]:
        item = {
            "awsAccountId": scene.account.account_id,
            "configurationItemCaptureTime": rule.now,
            "configurationItemStatus": "OK",
            "resourceType": "AWS::EC2::VPCEndpoint",
            "resourceId": "vpce-0123456789abcdef0",
            "configuration": {"vpcId": vpc["VpcId"]},
        }
        answer = rule.invoke(rule.event(item))
        found |= {evaluation["subnetId"]: _same(evaluation) for evaluation in answer["evaluations"]}
    return found


def dumped(scene: Scene) -> Verdicts:
    """Return the verdicts of a scan of the dumps that collect wrote for all accounts."""
    for account in (scene.account, *scene.others):
        with _credentials_of(account):
            written = invoke(["collect", str(scene.folder / account.account_id)])
        assert written.exit_code == 0, written.output
    parameters = {name: value for name, value in scene.parameters.items() if name != "networkRoleArn"}
    result = scan(scene.folder, parameters)
    assert result.exit_code == 1, result.output
    rows = json.loads(result.stdout)["subnets"]
    return {row["subnetId"]: _same(row) for row in rows if row["accountId"] == scene.account.account_id}


def live(scene: Scene) -> Verdicts:
    """Return the verdicts of a scan of the account itself."""
    return _scanned(scene)


def aggregated(scene: Scene) -> Verdicts:
    """Return the verdicts of a scan of an AWS Config aggregator that has the items of all accounts."""
    aggregator = Aggregator(scene.account.sandbox)
    for account in (scene.account, *scene.others):
        aggregator.copy(account.account_id)
    with answering(aggregator):
        return _scanned(scene, "--aggregator", aggregator.name)


def _scanned(scene: Scene, *options: str) -> Verdicts:
    given = [f"--parameter={name}={value}" for name, value in scene.parameters.items()]
    result = invoke(["scan", "--format", "json", *options, *given])
    assert result.exit_code == 1, result.output
    rows = json.loads(result.stdout)["subnets"]
    return {row["subnetId"]: _same(row) for row in rows if row["accountId"] == scene.account.account_id}


@contextmanager
def _credentials_of(account: Account) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as changed:
        for name, value in (account.credentials or {}).items():
            changed.setenv(name.upper(), value)
        yield


def read(scene: Scene) -> Verdicts:
    """Return the verdicts of the snapshot reader and the evaluator."""
    parameters = parse_parameters(scene.parameters)
    snapshot = SnapshotReader(Aws.connect()).read(scene.account.account_id, None, parameters)
    evaluator = Evaluator(Tracer(snapshot), parameters)
    verdicts = [evaluator.verdict(subnet.id) for subnet in snapshot.listed_subnets]
    return {
        verdict.subnet_id: _same(
            {
                "compliance": verdict.compliance,
                "reason": verdict.reason,
                "routeTableId": verdict.route_table_id,
                "path": [hop._asdict() for hop in verdict.path],
            }
        )
        for verdict in verdicts
    }


SOURCES: dict[str, Callable[[Scene], Verdicts]] = {
    "the function, by events": notified,
    "collect, then scan --from-dump": dumped,
    "the reader": read,
    "scan": live,
}
"""Every source that tells of all subnets and follows every hop."""


EXPECTED = {
    "NAT gateway": "NAT_GATEWAY",
    "internet gateway": "INTERNET_GATEWAY",
    "no route": "NO_ROUTE",
    "main table": "NO_ROUTE",
    "blackhole": "DROPPED",
    "regional NAT gateway": "NAT_GATEWAY",
    "NAT gateway, by halves": "NAT_GATEWAY",
    "NAT gateway for another network": "NO_ROUTE",
    "excluded": "EXCLUDED",
    "endpoint": "ENDPOINT",
    "endpoint and equal static route": "PARTLY_NAT",
    "endpoint and customer's prefix list": "PARTLY_NAT",
    "endpoint on no table": "NAT_GATEWAY",
    "endpoint on another table": "NAT_GATEWAY",
    "endpoint for s3": "NAT_GATEWAY",
    "endpoint in one zone of two": "ENDPOINT",
    "endpoint in the other zone": "NAT_GATEWAY",
    "main table, NAT gateway": "NAT_GATEWAY",
    "main table, endpoint": "ENDPOINT",
    "NAT instance": "NAT_INSTANCE",
    "floating interface": "NAT_INSTANCE",
    "instance that checks": "UNRESOLVED_EGRESS",
    "dead instance": "DROPPED",
    "forwarding instance, then NAT gateway": "NAT_BEHIND_APPLIANCE",
    "firewall": "NAT_BEHIND_APPLIANCE",
    "load balancer": "NAT_BEHIND_APPLIANCE",
    "firewall, then endpoint": "ENDPOINT",
    "firewall of another VPC, then endpoint": "ENDPOINT",
    "proxy firewall without translation, then endpoint": "ENDPOINT",
    "load balancer, then endpoint": "UNRESOLVED_EGRESS",
    "spoke": "NAT_BEYOND_TRANSIT_GATEWAY",
    "spoke in a zone without attachment": "NAT_BEYOND_TRANSIT_GATEWAY",
    "spoke with an endpoint": "ENDPOINT",
    "spoke in a zone that is not covered": "DROPPED",
    "dual stack, IPv4 endpoint": "INTERNET_GATEWAY",
    "dual stack, endpoint of both families": "ENDPOINT",
    "dual stack": "NAT_GATEWAY",
    "NAT64": "NAT_GATEWAY",
    "dual stack, DNS64": "NAT_GATEWAY",
    "dual stack, DNS64 and endpoint": "PARTLY_NAT",
    "peering": "DROPPED",
    "virtual private gateway": "UNRESOLVED_EGRESS",
    "shared by another account": "NOT_OWNED",
    "closed internet gateway": "DROPPED",
}
"""The reason for each subnet of the network of one account, by what the subnet stands for."""


def _differing(one: Verdicts, other: Verdicts) -> dict[str, tuple[Same | None, Same | None]]:
    both = {key: (one.get(key), other.get(key)) for key in one.keys() | other.keys()}
    return {key: pair for key, pair in both.items() if pair[0] != pair[1]}


def _doubtful_tables(account: Account) -> set[str]:
    """Return the main tables of VPCs with a regional NAT gateway, of whose own route table AWS Config records nothing."""
    gateways = account.ec2.describe_nat_gateways()["NatGateways"]
    vpc_ids = [gateway["VpcId"] for gateway in gateways if gateway.get("AvailabilityMode") == "regional"]
    main = [{"Name": "association.main", "Values": ["true"]}, {"Name": "vpc-id", "Values": vpc_ids}]
    return {table["RouteTableId"] for table in account.ec2.describe_route_tables(Filters=main)["RouteTables"]}


def _without_unrecorded(verdict: Same, doubtful_tables: set[str]) -> Same:
    """Return the verdict without what AWS Config does not record.

    That is transit gateway routes, Block Public Access, whether a firewall translates, and the table of a regional NAT
    gateway, which may govern a subnet in place of the main table.
    """
    if verdict.route_table_id in doubtful_tables:
        return Same("NOT_APPLICABLE", "UNRESOLVED_EGRESS", None, ())
    kinds = [kind for kind, _, _ in verdict.path]
    if "APPLIANCE_ENDPOINT" in kinds and verdict.reason in ("ENDPOINT", "INTERNET_GATEWAY"):
        return verdict._replace(compliance="NOT_APPLICABLE", reason="UNRESOLVED_EGRESS")
    if verdict.reason in ("INTERNET_GATEWAY", "DROPPED") and kinds[-1].endswith("INTERNET_GATEWAY"):
        return verdict._replace(compliance="NOT_APPLICABLE", reason="UNRESOLVED_EGRESS")
    if "TRANSIT_GATEWAY" not in kinds:
        return verdict
    seen = verdict.path[: kinds.index("TRANSIT_GATEWAY") + 1]
    return verdict._replace(compliance="NOT_APPLICABLE", reason="UNRESOLVED_EGRESS", path=seen)


def check(scene: Scene) -> Verdicts:
    """Compare all sources and return the verdicts. The sweep is first, while AWS Config has no results yet."""
    posted = swept(scene)
    (first, agreed), *others = ((name, source(scene)) for name, source in SOURCES.items())
    for name, verdicts in others:
        assert _differing(agreed, verdicts) == {}, f"{first} against {name}"
    doubtful_tables = _doubtful_tables(scene.account)
    as_items_tell = {key: _without_unrecorded(verdict, doubtful_tables) for key, verdict in agreed.items()}
    assert _differing(as_items_tell, aggregated(scene)) == {}, f"{first} against scan --aggregator"
    applicable = {key: verdict for key, verdict in agreed.items() if verdict.compliance != "NOT_APPLICABLE"}
    assert posted == applicable
    return agreed


def test_one_account(sandbox: Sandbox, tmp_path: Path) -> None:
    """All sources agree on every subnet of an account with every kind of hop, and match EXPECTED."""
    account = Account(sandbox)
    network = Everything(account)
    found = check(Scene(account, (), {}, tmp_path / "dumps"))
    assert {name: found[subnet_id].reason for name, subnet_id in network.subnets.items()} == EXPECTED
    assert {verdict.compliance for verdict in found.values()} == {"COMPLIANT", "NON_COMPLIANT", "NOT_APPLICABLE"}


def test_two_accounts(sandbox: Sandbox, tmp_path: Path) -> None:
    """The network account's role gives the same verdicts as that account's dump."""
    account, network = Account(sandbox), Account(sandbox, NETWORK, first=100)
    hub = Hub(network)
    hub.share(account)
    spokes = [hub.join(account, "a", "b") for _ in range(2)]
    account.endpoint(spokes[1].vpc, spokes[1].table)
    found = check(Scene(account, (network,), {"networkRoleArn": ROLE}, tmp_path / "dumps"))
    assert [found[spoke.subnet].reason for spoke in spokes] == ["NAT_BEYOND_TRANSIT_GATEWAY", "ENDPOINT"]
    assert not found.keys() & {subnet["SubnetId"] for subnet in network.ec2.describe_subnets()["Subnets"]}
