"""express-path cost: the upper bound of S3 Express's cost, its prices, what could not be read, and its output."""

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest
from moto.ec2 import ec2_backends
from typer.testing import CliRunner

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.networks.public_sides import BehindNatGateway, BehindNatInstance
from config_rule_sandbox.server import Sandbox
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.selection import Selection, evaluate_all
from express_path_cli.main import app
from express_path_cli.nat.crossed_nats import crossed_nats
from express_path_cli.nat.prices import window
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import one_line
from express_path_cli.terminal.progress import Silent
from express_path_cli.traffic import flow_logs
from express_path_cli.traffic.costs import CostOptions, report_on
from tests.cli.traffic.costs import by_id, carry, cost, cost_json, interface_of, regional_nat_gateway
from tests.cli.traffic.flow_records import GROUP, FlowLogs, crossing
from tests.support.command import invoke
from tests.support.scenarios import dump_of

NETWORK_ACCOUNT = "222222222222"


ELSEWHERE = "eu-west-1"


def nat_gateway_elsewhere(sandbox: Sandbox) -> str:
    """Create a subnet behind a private NAT gateway in another Region, and return the gateway's id."""
    elsewhere = sandbox.client("ec2", ELSEWHERE)
    vpc_id = elsewhere.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnet_id = elsewhere.create_subnet(VpcId=vpc_id, CidrBlock="10.9.0.0/24")["Subnet"]["SubnetId"]
    private = elsewhere.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]
    [table] = elsewhere.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])["RouteTables"]
    elsewhere.create_route(
        RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", NatGatewayId=private["NatGatewayId"]
    )
    return str(private["NatGatewayId"])


def test_what_came_in_from_both_sides_is_priced_as_an_upper_bound(sandbox: Sandbox) -> None:
    """100 GB out and 900 GB back cost 1,000 times the price, and 365/12 of that a month at one day's rate."""
    network = BehindNatGateway(Account(sandbox))
    carry(network.account, network.nat, 100, 900)
    sandbox.prices.list_nat_gateway("us-east-1", "NatGateway-Bytes", "0.05")
    document = cost_json("--days", "1")
    [gateway] = document["natGateways"]
    assert gateway["upperBound"]["usd"] == pytest.approx(50)
    assert gateway["upperBound"]["usdPerMonth"] == pytest.approx(50 * 365 / 12)
    assert (gateway["usdPerGb"], gateway["priceBasis"], gateway["measured"]) == (0.05, "listed", None)
    assert gateway["bytes"] == {
        "BytesInFromSource": pytest.approx(100e9),
        "BytesOutToDestination": pytest.approx(100e9),
        "BytesInFromDestination": pytest.approx(900e9),
        "BytesOutToSource": pytest.approx(900e9),
    }
    assert (gateway["id"], gateway["kind"], gateway["accountId"]) == (network.nat, "zonal NAT gateway", "123456789012")
    assert (gateway["vpcId"], gateway["subnetIds"], gateway["routeTableIds"]) == (
        network.vpc,
        [network.subnet],
        [network.table],
    )
    assert document["upperBound"] == {**gateway["upperBound"], "complete": True}
    assert (document["schemaVersion"], document["days"], document["measured"]) == (1, 1, None)
    assert document["meaning"].startswith("Upper bound")


def test_only_the_days_asked_for_count(sandbox: Sandbox) -> None:
    """The default is 30 days, up to the last complete hour; there can be from 1 to 454."""
    network = BehindNatGateway(Account(sandbox))
    carry(network.account, network.nat, 40, 0, days=40)
    bytes_of = {days: cost_json(*days)["upperBound"]["bytes"] for days in [(), ("--days", "7")]}
    assert bytes_of == {(): pytest.approx(30e9, rel=0.01), ("--days", "7"): pytest.approx(7e9, rel=0.01)}
    assert [cost("--days", days).exit_code for days in ("0", "455")] == [2, 2]


def test_a_regional_gateway_is_the_sum_of_its_zones(sandbox: Sandbox) -> None:
    """The bytes of all zones are added up, at the price for regional gateways if the Price List has one."""
    account = Account(sandbox)
    nat = regional_nat_gateway(account)
    carry(account, nat, 1, 2, zone="us-east-1a")
    carry(account, nat, 10, 20, zone="us-east-1b")
    sandbox.prices.list_nat_gateway("us-east-1", "NatGateway-Bytes", "0.05")
    sandbox.prices.list_nat_gateway("us-east-1", "RegionalNatGateway-Bytes", "0.1")
    [gateway] = cost_json("--days", "1")["natGateways"]
    assert gateway["bytesByZone"] == {"us-east-1a": pytest.approx(3e9), "us-east-1b": pytest.approx(30e9, rel=0.01)}
    assert (gateway["kind"], gateway["upperBound"]["usd"]) == ("regional NAT gateway", pytest.approx(3.3))


def test_a_regional_gateway_without_a_known_zone_has_no_sum(sandbox: Sandbox) -> None:
    """A gateway without known zones has unknown traffic: it is named, and its upper bound is not 0."""
    account = Account(sandbox)
    nat = regional_nat_gateway(account)
    ec2_backends[account.account_id]["us-east-1"].nat_gateways[nat].address_set.clear()
    result = cost("--format", "json", "--days", "1")
    assert result.exit_code == 2
    assert f"{nat} us-east-1: CloudWatch has no metrics for any of its zones" in result.stderr
    document = json.loads(result.stdout)
    assert document["upperBound"]["complete"] is False
    assert by_id(document)[nat]["upperBound"] is None


def test_a_nat_instance_is_named_and_has_no_price(sandbox: Sandbox) -> None:
    """A NAT instance has no NAT metrics, and AWS does not charge for it by the GB."""
    network = BehindNatInstance(Account(sandbox))
    document = cost_json()
    assert document["natGateways"] == []
    [instance] = document["natInstances"]
    assert (instance["id"], instance["kind"]) == (network.interface, "NAT instance")
    assert document["upperBound"] == {"bytes": 0, "usd": 0, "usdPerMonth": 0, "complete": True}
    assert "no NAT metrics" in cost().stdout


def test_without_a_nat_there_is_nothing_to_save(sandbox: Sandbox) -> None:
    """Without a NAT, not even the price is read."""
    network = BehindNatGateway(Account(sandbox))
    network.account.endpoint(network.vpc, network.table)
    result = cost()
    assert (result.exit_code, result.stdout) == (0, "No flagged path crosses a NAT, so there is nothing to save.\n")
    assert sandbox.calls.of("pricing") == []
    assert cost_json()["natGateways"] == []


def test_a_price_that_is_not_listed_is_assumed_and_marked(sandbox: Sandbox) -> None:
    """If the price is denied or not listed, a note says why, once for each Region, and the command succeeds."""
    account = Account(sandbox)
    for network in (BehindNatGateway(account), BehindNatGateway(account)):
        carry(account, network.nat, 10, 0)
    result = cost("--days", "1")
    [note] = result.stderr.splitlines()
    assert "us-east-1: the price of 0.045 USD per GB is assumed" in note
    assert "the Price List has no price in US dollars" in note
    assert "assumed: the price in us-east-1" in result.stdout
    assert result.exit_code == 0
    sandbox.faults.deny("pricing", "GetProducts")
    denied = cost("--days", "1")
    assert "allow pricing:GetProducts" in denied.stderr
    assert denied.exit_code == 0
    assert cost("--quiet").stderr == ""


def test_a_network_accounts_gateway_is_read_with_its_role(sandbox: Sandbox) -> None:
    """With central egress, the metrics are in the account that owns the NAT gateway."""
    hub = Hub(Account(sandbox, NETWORK_ACCOUNT, first=100))
    spokes = Account(sandbox)
    hub.share(spokes)
    hub.join(spokes)
    carry(hub.account, hub.nat, 10, 0)
    role = f"networkRoleArn=arn:aws:iam::{NETWORK_ACCOUNT}:role/Network"
    [gateway] = cost_json("--days", "1", "--parameter", role)["natGateways"]
    assert (gateway["accountId"], gateway["upperBound"]["bytes"]) == (NETWORK_ACCOUNT, pytest.approx(10e9))
    assert {call.account_id for call in sandbox.calls.of("cloudwatch")} == {NETWORK_ACCOUNT}


def test_a_gateway_of_an_account_that_is_not_reached_is_named() -> None:
    """The gateway is listed without numbers, and the failures say what to do."""
    seen = Source(from_dump=dump_of("nat-gateway-not-listed")).read(RuleParameters(), Silent())
    nats = crossed_nats(seen.views, evaluate_all(seen.views, RuleParameters(), Selection()))
    options = CostOptions(window(datetime.now(UTC), 1))
    with TaskPool(1, Silent()) as task_pool:
        report = report_on(nats, seen, options, task_pool)
    [failure] = report.failures
    assert failure.where == f"{nats[0].id} {nats[0].region}"
    assert "because it belongs to an unknown account" in one_line(failure.error)
    assert [cost.bound for cost in report.costs] == [None]
    assert not report.all_read


def test_each_region_has_its_own_price(sandbox: Sandbox) -> None:
    """Every byte is charged at its Region's price, and the sum has all Regions."""
    account = Account(sandbox)
    here, there = BehindNatGateway(account).nat, nat_gateway_elsewhere(sandbox)
    sandbox.prices.list_nat_gateway("us-east-1", "NatGateway-Bytes", "0.045")
    sandbox.prices.list_nat_gateway(ELSEWHERE, "EU-NatGateway-Bytes", "0.048")
    second = window(datetime.now(UTC), 1).start + timedelta(hours=1)
    for nat, region, out, back in ((here, "us-east-1", 10**12 + 1, 7), (there, ELSEWHERE, 3, 2 * 10**12)):
        place = (account.account_id, region)
        sandbox.metrics.record(nat, "BytesInFromSource", [(second, out)], None, place)
        sandbox.metrics.record(nat, "BytesInFromDestination", [(second, back)], None, place)
    document = cost_json("--region", "us-east-1", "--region", ELSEWHERE, "--days", "1")
    found = by_id(document)
    assert [found[nat]["upperBound"]["bytes"] for nat in (here, there)] == [10**12 + 8, 2 * 10**12 + 3]
    assert [found[nat]["usdPerGb"] for nat in (here, there)] == [0.045, 0.048]
    assert [found[nat]["upperBound"]["usd"] for nat in (here, there)] == [pytest.approx(45), pytest.approx(96)]
    assert document["upperBound"]["bytes"] == 3 * 10**12 + 11
    assert (document["upperBound"]["usd"], document["upperBound"]["complete"]) == (pytest.approx(141), True)


def test_what_cannot_be_read_is_named_and_the_rest_reported(sandbox: Sandbox) -> None:
    """If one Region's metrics are denied, the others are read, and the output says that the sum is incomplete."""
    account = Account(sandbox)
    nats = {"us-east-1": BehindNatGateway(account).nat, ELSEWHERE: nat_gateway_elsewhere(sandbox)}
    carry(account, nats["us-east-1"], 10, 0)
    both = ("--region", ELSEWHERE, "--region", "us-east-1", "--days", "1")
    sandbox.faults.deny("cloudwatch", "GetMetricData", times=1)
    result = cost(*both)
    assert result.exit_code == 2
    [line] = [line for line in result.stderr.splitlines() if "GetMetricData" in line]
    assert re.search(r"account 123456789012 \S+: cloudwatch:GetMetricData failed with AccessDenied", line)
    assert "not readable" in result.stdout
    assert "not counting what could not be read" in " ".join(result.stdout.split())
    sandbox.faults.deny("cloudwatch", "GetMetricData", times=1)
    document = cost_json(*both, exit_code=2)
    assert sorted(gateway["upperBound"] is None for gateway in document["natGateways"]) == [False, True]
    assert all((gateway["bytes"] is None) == (gateway["upperBound"] is None) for gateway in document["natGateways"])
    assert document["upperBound"]["complete"] is False


def test_a_region_that_could_not_be_scanned_is_missing_from_the_sum(sandbox: Sandbox) -> None:
    """If one scan is denied, the sum is incomplete; if nothing was read, nothing is printed."""
    BehindNatGateway(Account(sandbox))
    document = cost_json("--region", "no-where-1", "--region", "us-east-1", exit_code=2)
    assert document["upperBound"]["complete"] is False
    sandbox.faults.deny("ec2", "DescribeSubnets")
    result = cost()
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.fixture
def expensive_and_cheap(sandbox: Sandbox) -> list[str]:
    """Two NAT gateways, the second with more traffic, and a NAT instance."""
    account = Account(sandbox)
    networks = [BehindNatGateway(account), BehindNatGateway(account)]
    for network, volume in zip(networks, (10, 123_456), strict=True):
        carry(account, network.nat, volume, 0)
    BehindNatInstance(account)
    return [network.nat for network in networks]


def test_the_table_fits_and_cuts_nothing(
    sandbox: Sandbox, expensive_and_cheap: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 and 120 columns, with and without measured traffic, no id or number is broken."""
    monkeypatch.setattr(flow_logs, "POLL_SECONDS", 0.0)
    account = Account(sandbox)
    logs = FlowLogs(account)
    interface, address = interface_of(account, expensive_and_cheap[1])
    [row] = account.ec2.describe_nat_gateways(NatGatewayIds=[expensive_and_cheap[1]])["NatGateways"]
    logs.publish(row["VpcId"])
    logs.record(*crossing(interface, "10.0.2.5", address, "192.0.2.1", 10**12, 10**13))
    for width, more in product((80, 120), ((), ("--flow-logs", GROUP))):
        result = CliRunner(env={"COLUMNS": str(width)}).invoke(app, ["cost", "--days", "1", *more])
        assert max(map(len, result.stdout.splitlines())) <= width
        assert "…" not in result.stdout
        assert "Upper bound" in result.stdout
        assert all(nat_id in result.stdout for nat_id in expensive_and_cheap)
        assert "$5,555.52" in result.stdout
        assert ("$495.00" in result.stdout) == bool(more)
        assert result.stdout.index(expensive_and_cheap[1]) < result.stdout.index(expensive_and_cheap[0])


def test_the_table_says_what_the_numbers_mean(sandbox: Sandbox, expensive_and_cheap: list[str]) -> None:
    """The footnotes say what is included; a given price needs no access to the Price List."""
    options = ("--days", "1", "--price-per-gb", "0.045")
    text = " ".join(cost(*options).stdout.split())
    assert "Total upper bound: $5,555.97 in 1 day," in text
    assert "Upper bound: NAT gateway metrics do not record destinations" in text
    assert "Hourly charges are not included" in text
    assert "Prices: $0.045 per GB (from --price-per-gb)." in text
    assert "no GB charge" in text
    assert sandbox.calls.of("pricing") == []
    gateways = by_id(cost_json(*options))
    assert gateways.keys() == set(expensive_and_cheap)
    assert {gateway["priceBasis"] for gateway in gateways.values()} == {"given"}


DOCUMENT = Path(__file__).parents[3] / "docs" / "traffic.md"


def actions() -> dict[str, set[str]]:
    """Return the documented actions by statement."""
    [policy] = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return {statement["Sid"]: set(statement["Action"]) for statement in json.loads(policy)["Statement"]}


def called(sandbox: Sandbox) -> set[str]:
    """Return the actions called since the last time, except those that need no permission."""
    found = {f"{call.service}:{call.operation}" for call in sandbox.calls} - {"sts:GetCallerIdentity"}
    sandbox.calls.clear()
    return found


def test_the_documented_policy_is_what_cost_calls(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of zonal and regional gateways and of a stopped query calls exactly the documented actions."""
    monkeypatch.setattr(flow_logs, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(flow_logs, "TIMEOUT_SECONDS", 0.0)
    network = BehindNatGateway(Account(sandbox))
    made = network.account.ec2.create_nat_gateway(VpcId=network.vpc, AvailabilityMode="regional")["NatGateway"]
    network.account.subnet(network.vpc, network.account.table(network.vpc, NatGatewayId=made["NatGatewayId"]))
    FlowLogs(network.account).publish(network.public, age=timedelta(days=9))
    sandbox.calls.clear()
    invoke(["scan"])
    scanning = called(sandbox)
    cost()
    bound = called(sandbox) - scanning
    sandbox.logs.endings.append("Running")
    cost("--flow-logs", GROUP)
    assert {"UpperBound": bound, "MeasuredShare": called(sandbox) - scanning - bound} == actions()
