"""express-path diagnose in the sandbox: symptoms, results without symptoms, failures, and all options."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from math import pi, sin
from pathlib import Path
from random import Random
from time import time
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import Result

from express_path_cli.nat.crossed_nats import CrossedNat, NatKind
from express_path_cli.traffic.diagnose_command import undiagnosed
from express_path_cli.traffic.diagnosing import NatDiagnosis
from express_path_cli.traffic.symptoms import METRICS, MeterState, Severity, Symptom
from sandbox.networks import Account, BehindNatGateway, BehindNatInstance, Hub
from sandbox.server import Sandbox
from tests.support.command import invoke
from tests.support.scenarios import dump_of

pytestmark = pytest.mark.slow

NETWORK_ACCOUNT = "222222222222"
MINUTES = 1500
PACKET = 1400.0
NOTHING_DROPPED = {"PacketsDropCount": [0.0] * MINUTES, "ErrorPortAllocation": [0.0] * MINUTES}


def diagnose(*options: str) -> Result:
    """Run the command."""
    return invoke(["diagnose", *options])


def diagnose_json(*options: str, exit_code: int) -> dict[str, Any]:
    """Run the command for JSON and return the document."""
    result = diagnose("--format", "json", *options)
    assert result.exit_code == exit_code, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def meter(document: dict[str, Any]) -> dict[str, Any]:
    """Return the only meter of a document's only NAT."""
    [nat] = document["nats"]
    [only] = nat["meters"]
    found: dict[str, Any] = only
    return found


def carry(
    account: Account, nat_gateway_id: str, gbps: Sequence[float], zone: str | None = None, **more: Sequence[float]
) -> None:
    """Record the traffic of a NAT gateway in each of the last minutes, and other metrics.

    The last is the end of a period of five minutes: a command leaves the one under way out.
    """
    now = datetime.fromtimestamp(time() // 300 * 300, UTC)
    times = [now - timedelta(minutes=len(gbps) - index) for index in range(len(gbps))]
    carried = [rate * 1e9 / 8 * 60 for rate in gbps]
    values = {
        "BytesOutToDestination": [size / 10 for size in carried],
        "BytesOutToSource": [size * 9 / 10 for size in carried],
        "PacketsInFromSource": [size / PACKET / 2 for size in carried],
        "PacketsInFromDestination": [size / PACKET / 2 for size in carried],
        "PeakBytesPerSecond": [size / 60 * 1.06 for size in carried],
        **NOTHING_DROPPED,
        **more,
    }
    assert values.keys() <= METRICS.keys()
    place = (account.account_id, account.sandbox.region)
    for metric, points in values.items():
        if not points:
            continue  # a metric without datapoints
        account.sandbox.metrics.record(nat_gateway_id, metric, zip(times, points, strict=True), zone, place)


def free(random: Random) -> list[float]:
    """Return a day's traffic in Gbit/s that rises and falls between 4 and 36, with jitter."""
    return [20 * (1 + 0.8 * sin(2 * pi * index / 1440 - 3)) * max(0, random.gauss(1, 0.1)) for index in range(MINUTES)]


def throttled(random: Random) -> list[float]:
    """Return the same traffic with a limit of 24.9 Gbit/s."""
    return [min(rate, 24.9 * random.gauss(1, 0.004)) for rate in free(random)]


@pytest.fixture
def network(sandbox: Sandbox) -> BehindNatGateway:
    """A private subnet behind a NAT gateway."""
    return BehindNatGateway(Account(sandbox))


def saturate(network: BehindNatGateway) -> None:
    """Let its NAT gateway stay at a limit for hours, drop packets, and have port allocation errors."""
    gbps = throttled(Random(2))
    drops = [rate * 1e4 if rate > 24 and index % 7 == 0 else 0 for index, rate in enumerate(gbps)]
    refused = [3.0 if 900 < index < 905 else 0.0 for index in range(MINUTES)]
    busy = [40_000 + 1000 * rate for rate in gbps]
    carry(
        network.account,
        network.nat,
        gbps,
        PacketsDropCount=drops,
        ErrorPortAllocation=refused,
        ActiveConnectionCount=busy,
    )


def flowing(result: Result) -> str:
    """Return the output as one line."""
    return " ".join(result.stdout.split())


def test_a_saturated_gateway_is_told_in_one_sentence(network: BehindNatGateway) -> None:
    """The sentence has the symptom, its duration, the drops, the affected subnets, and the heal command."""
    saturate(network)
    other = network.account.subnet(network.vpc, network.table)
    result = diagnose()
    assert (result.exit_code, result.stderr) == (1, "")
    text = flowing(result)
    first, second = sorted((network.subnet, other))
    assert f"SYMPTOMS: {network.nat} ran flat at 24.8 Gbit/s for 9 h" in text
    assert "dropped packets (0.0" in text
    assert "and 12 port allocation errors" in text
    assert f"{first}, {second} reach S3 Express through it; to move this traffic to the free gateway endpoint:" in text
    assert f"\n  express-path heal {first} --region us-east-1\n" in result.stdout
    assert f"express-path heal {second}" not in result.stdout
    for words in ("HIGH plateau, ", "HIGH port allocation errors, ", "HIGH packets dropped, ", "55,000", "10-second"):
        assert words in text
    assert "Gbit/s carried, both directions" in result.stdout
    assert "Use express-path cost --flow-logs to measure the S3 Express share" in text


def test_the_json_has_every_number(network: BehindNatGateway) -> None:
    """The JSON has findings with times, values, units, and evidence, next to the sentence and the commands."""
    saturate(network)
    document = diagnose_json(exit_code=1)
    [nat] = document["nats"]
    assert (document["schemaVersion"], document["period"], nat["id"]) == (1, 300, network.nat)
    assert (nat["kind"], nat["accountId"], nat["region"]) == ("zonal NAT gateway", "123456789012", "us-east-1")
    assert (nat["vpcId"], nat["subnetIds"]) == (network.vpc, [network.subnet])
    assert nat["healCommands"] == [f"express-path heal {network.subnet} --region us-east-1"]
    only = meter(document)
    assert (only["availabilityZone"], only["state"]) == (None, "SYMPTOMS")
    assert only["missing"] == pytest.approx(0, abs=1.5 / 288)  # another period may have ended meanwhile
    assert [finding["symptom"] for finding in only["findings"]] == [
        "PLATEAU",
        "PORT_ALLOCATION_ERRORS",
        "PACKETS_DROPPED",
    ]
    plateau = only["findings"][0]
    assert (plateau["severity"], plateau["unit"]) == ("HIGH", "bit/s")
    assert plateau["value"] == pytest.approx(24.8e9, rel=0.01)
    assert document["start"] <= plateau["start"] < plateau["end"] <= document["end"]
    assert plateau["evidence"]["jitter"] < 0.4 * plateau["evidence"]["usualJitter"]
    assert plateau["evidence"]["activeConnections"] > 60_000
    assert plateau["evidence"]["portAllocationErrors"] == 12


def test_a_plateau_without_drops_is_not_blamed_on_the_gateway(network: BehindNatGateway) -> None:
    """The sentence says that the clients may set the limit."""
    carry(network.account, network.nat, throttled(Random(2)))
    result = diagnose()
    assert result.exit_code == 1
    assert "and dropped nothing, so the clients may be the limit" in flowing(result)
    assert "MEDIUM plateau" in result.stdout


@pytest.mark.parametrize(
    ("drops", "words"),
    [
        ([], ", and CloudWatch has no data on dropped packets, so the clients may be the limit: "),
        ([0.0] * (MINUTES - 60) + [2.0] + [0.0] * 59, " %), so few that the clients may be the limit: "),
    ],
    ids=["unknown", "few"],
)
def test_a_plateau_that_drops_do_not_explain(network: BehindNatGateway, drops: list[float], words: str) -> None:
    """A metric without datapoints does not count as 0, and a few dropped packets do not prove a limit."""
    carry(network.account, network.nat, [5.0, 15.0] * 600 + [24.9] * 300, PacketsDropCount=drops)
    result = diagnose()
    assert result.exit_code == 1
    assert words in flowing(result)
    assert "dropped nothing" not in result.stdout
    assert "MEDIUM plateau" in result.stdout


@pytest.mark.parametrize(
    ("gbps", "words"),
    [
        ([3.0] * 4, "shows no sign of saturation in the 0.35 % of this window with datapoints: at most "),
        ([3.0] * MINUTES, "shows no sign of saturation in this window: at most 3 Gbit/s"),
        ([0.5] * 700 + [30.0] * 5 + [0.5] * 795, "shows no sign of saturation in this window: at most "),
        ([index / 50 for index in range(MINUTES)], "shows no sign of saturation in this window: at most "),
        ([5.0, 15.0] * 600 + [0.1] * 300, "shows no sign of saturation in this window: at most 1"),
    ],
    ids=["one point", "far below", "one spike", "ramp", "low plateau"],
)
def test_what_is_no_plateau_is_not_called_one(network: BehindNatGateway, gbps: list[float], words: str) -> None:
    """A single point, a steady low rate, a spike, and a steady rise are not plateaus."""
    quiet = {metric: [0.0] * len(gbps) for metric in NOTHING_DROPPED}
    carry(network.account, network.nat, gbps, **quiet)
    result = diagnose()
    assert result.exit_code == 0, result.stdout
    assert words in flowing(result)


def test_free_traffic_is_no_symptom_and_still_crosses_a_nat(network: BehindNatGateway) -> None:
    """The result says that there is no sign of throttling, the highest throughput, and that AWS charges for it."""
    carry(network.account, network.nat, free(Random(2)))
    result = diagnose()
    assert result.exit_code == 0
    assert f"NO SIGN: {network.nat} shows no sign of saturation in this window: at most 3" in flowing(result)
    assert f"{network.subnet} still reaches S3 Express through it, and AWS charges for it by the GB:" in flowing(result)
    assert "Gbit/s carried" in result.stdout


def test_few_dropped_packets_are_told_and_are_no_symptom(network: BehindNatGateway) -> None:
    """Up to 0.01 % of dropped packets, AWS does not suspect a problem, and the status is 0."""
    drops = [5.0 if index == 700 else 0.0 for index in range(MINUTES)]
    carry(network.account, network.nat, free(Random(2)), PacketsDropCount=drops)
    result = diagnose()
    assert result.exit_code == 0
    assert "LOW packets dropped, " in result.stdout
    assert "not above the 0.01 % at which AWS suspects a problem" in flowing(result)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ErrorPortAllocation": [0.0] * (MINUTES - 20) + [1.0] + [0.0] * 19}, "had no source port left for 1 connec"),
        ({"PacketsDropCount": [0.0] * (MINUTES - 20) + [9e9] + [0.0] * 19}, "dropped 9,000,000,000 packets ("),
        ({"PeakBytesPerSecond": [12e9] * MINUTES}, "peaked at 96 Gbit/s, near the maximum of a NAT gateway"),
    ],
    ids=["ports", "drops", "peaks"],
)
def test_each_symptom_has_its_sentence(network: BehindNatGateway, more: dict[str, Sequence[float]], words: str) -> None:
    """Each symptom alone gives status 1."""
    carry(network.account, network.nat, free(Random(2)), **more)
    result = diagnose("--hours", "3")
    assert result.exit_code == 1
    assert words in flowing(result)


def test_a_plateau_at_the_last_ceiling_says_so(network: BehindNatGateway) -> None:
    """At the highest limit, nothing is dropped yet, but the gateway cannot carry more."""
    carry(network.account, network.nat, [10.0, 20.0] * 600 + [95.0] * 300, PeakBytesPerSecond=[1.0] * MINUTES)
    assert re.search(r"ran flat at 95 Gbit/s for [45] h.*near the maximum of a NAT gateway", flowing(diagnose()))


def test_drops_of_unknown_share_are_told_without_one(network: BehindNatGateway) -> None:
    """Without received packets, the share of drops is unknown, and there is no traffic to draw."""
    now = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(hours=1)
    network.account.sandbox.metrics.record(network.nat, "PacketsDropCount", [(now, 7.0)])
    result = diagnose()
    assert result.exit_code == 1
    assert f"{network.nat} dropped 7 packets: " in flowing(result)
    assert "UTC: 7 dropped packets" in flowing(result)
    assert "carried, both directions" not in result.stdout


@pytest.mark.parametrize(
    ("gbps", "words"),
    [
        ([0.0] * MINUTES, "IDLE: {} carried nothing in this window; "),
        ([], "NO DATA: CloudWatch has no datapoints for {} in this window; "),
        ([0.0] * 720, "IDLE: {} carried nothing in the 50 % of this window with datapoints; "),
    ],
    ids=["idle", "no data", "half"],
)
def test_nothing_carried_and_nothing_known_are_told_apart(
    network: BehindNatGateway, gbps: Sequence[float], words: str
) -> None:
    """No traffic and no datapoints have different sentences, and a partial window is named."""
    quiet = {metric: [0.0] * len(gbps) for metric in NOTHING_DROPPED}
    carry(network.account, network.nat, gbps, **quiet)
    result = diagnose()
    assert result.exit_code == 0
    assert words.format(network.nat) in flowing(result)


def test_a_regional_gateway_is_diagnosed_zone_by_zone(sandbox: Sandbox) -> None:
    """The sentence names the throttled zone."""
    account = Account(sandbox)
    vpc_id = account.vpc()
    account.internet_gateway(vpc_id)
    account.subnet(vpc_id, zone="b")
    subnet_id = account.subnet(vpc_id)
    nat = account.ec2.create_nat_gateway(VpcId=vpc_id, AvailabilityMode="regional")["NatGateway"]["NatGatewayId"]
    account.ec2.associate_route_table(SubnetId=subnet_id, RouteTableId=account.table(vpc_id, NatGatewayId=nat))
    carry(account, nat, free(Random(2)), "us-east-1a")
    carry(account, nat, throttled(Random(2)), "us-east-1b")
    meters = diagnose_json(exit_code=1)["nats"][0]["meters"]
    assert [(one["availabilityZone"], one["state"]) for one in meters] == [
        ("us-east-1a", "NO_SIGN"),
        ("us-east-1b", "SYMPTOMS"),
    ]
    text = flowing(diagnose())
    assert f"{nat} in us-east-1b ran flat at" in text
    assert f"{nat} in us-east-1a shows no sign" in text
    assert text.count("Gbit/s carried, both directions") == 1


def test_gateways_with_symptoms_come_first(sandbox: Sandbox) -> None:
    """Gateways with symptoms come first, whatever their ids, each with its own subnets."""
    account = Account(sandbox)
    networks = [BehindNatGateway(account) for _ in range(2)]
    quiet, busy = sorted(networks, key=lambda network: network.nat)
    carry(account, quiet.nat, free(Random(2)))
    saturate(busy)
    nats = diagnose_json(exit_code=1)["nats"]
    assert [(nat["id"], nat["subnetIds"]) for nat in nats] == [
        (network.nat, [network.subnet]) for network in (busy, quiet)
    ]
    only = diagnose_json(quiet.subnet, exit_code=0)["nats"]
    assert [nat["id"] for nat in only] == [quiet.nat]


def test_a_nat_instance_is_named_and_not_diagnosed(sandbox: Sandbox) -> None:
    """CloudWatch has no NAT metrics for it, and the sentence says where to look."""
    network = BehindNatInstance(Account(sandbox))
    result = diagnose()
    assert result.exit_code == 0
    assert f"{network.interface} was not diagnosed: CloudWatch has no NAT metrics for instances" in flowing(result)
    [nat] = diagnose_json(exit_code=0)["nats"]
    assert (nat["meters"], nat["kind"]) == (None, "NAT instance")
    assert "bw_out_allowance_exceeded" in nat["sentence"]


def test_a_regional_gateway_that_is_nowhere_yet_is_named() -> None:
    """A regional gateway without an address in any zone is named, because CloudWatch has no metrics for it."""
    nat = CrossedNat("nat-1", NatKind.REGIONAL, "us-east-1", "123456789012", "vpc-1", ("subnet-1",), ("rtb-1",))
    assert undiagnosed(NatDiagnosis(nat, ("subnet-1",), ())) == (
        "nat-1 was not diagnosed: CloudWatch has no metrics for any of its zones; "
        "subnet-1 reaches S3 Express through it"
    )


def test_many_subnets_and_tables_are_told_as_a_few_and_more(network: BehindNatGateway) -> None:
    """A sentence has at most three subnets, and the terminal eight commands; the JSON has all."""
    for _ in range(9):
        table = network.account.table(network.vpc, NatGatewayId=network.nat)
        network.account.subnet(network.vpc, table)
    saturate(network)
    result = diagnose()
    assert "and 7 more reach S3 Express through it" in flowing(result)
    assert result.stdout.count("express-path heal subnet-") == 8
    assert "and 2 more, one for each route table; --format json lists all" in flowing(result)
    assert len(diagnose_json(exit_code=1)["nats"][0]["healCommands"]) == 10


def test_many_findings_are_told_as_the_worst_and_more(network: BehindNatGateway) -> None:
    """The terminal shows eight findings and the number of the others."""
    refused = [1.0 if index % 130 == 0 else 0.0 for index in range(MINUTES)]
    carry(network.account, network.nat, free(Random(2)), ErrorPortAllocation=refused)
    result = diagnose()
    assert result.stdout.count("HIGH port allocation errors") == 8
    assert "more; --format json lists all" in result.stdout


def test_without_a_nat_on_the_path_there_is_nothing_to_diagnose(network: BehindNatGateway) -> None:
    """No metric is read; an unknown subnet is an error."""
    network.account.endpoint(network.vpc, network.table)
    for options in ((), (network.subnet,), (network.public,)):
        result = diagnose(*options)
        assert (result.exit_code, result.stdout) == (
            0,
            "No selected path to S3 Express crosses a NAT, so there is nothing to diagnose.\n",
        )
    assert network.account.sandbox.calls.of("cloudwatch") == []
    absent = diagnose("subnet-00000000000000000")
    assert absent.exit_code == 2
    assert "no subnet subnet-00000000000000000 was found (check --region and --profile)" in absent.stderr
    nowhere = diagnose("subnet-00000000000000000", "--all-regions")
    assert "was found (check --profile)" in nowhere.stderr


def test_the_chart_is_written_as_svg(network: BehindNatGateway, tmp_path: Path) -> None:
    """The image's description has the sentence. If there is nothing to draw, no file is written."""
    file = tmp_path / "nat.svg"
    empty = diagnose("--chart", str(file), "--quiet")
    assert f"{file} was not written: there are no datapoints to draw" in empty.stderr
    assert not file.exists()
    saturate(network)
    result = diagnose("--chart", str(file))
    assert (result.exit_code, result.stderr) == (1, f"express-path: wrote {file}\n")
    assert diagnose("--chart", str(file), "--quiet").stderr == ""
    root = ET.fromstring(file.read_text(encoding="utf-8"))
    words = root.findtext("{http://www.w3.org/2000/svg}desc") or ""
    assert f"{network.nat} ran flat at 24.8 Gbit/s" in words
    assert f"express-path heal {network.subnet} --region us-east-1" in words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--from-dump", str(dump_of("nat-gateway-zonal"))), "a dump contains no CloudWatch metrics (leave"),
        (("--aggregator", "all"), "an aggregator contains no CloudWatch metrics"),
        (("--chart", "nat.png"), "--chart nat.png: charts are SVG files (use a name that ends in .svg"),
        (("--from", "noon"), "--from noon: not a valid time (use a time such as 2026-03-01T09:00 (UTC)"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options: tuple[str, ...], message: str) -> None:
    """Invalid options are rejected before any read."""
    result = diagnose(*options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_denied_metrics_are_named_and_the_rest_reported(sandbox: Sandbox) -> None:
    """The NAT is named with the command that heals it, and the status is 2."""
    network = BehindNatGateway(Account(sandbox))
    saturate(network)
    sandbox.faults.deny("cloudwatch", "GetMetricData")
    result = diagnose()
    assert result.exit_code == 2
    assert "account 123456789012 us-east-1: metrics: cloudwatch:GetMetricData failed with AccessDenied" in result.stderr
    assert f"{network.nat} was not diagnosed: its metrics could not be read" in flowing(result)
    assert f"express-path heal {network.subnet} --region us-east-1" in result.stdout


def test_a_region_that_cannot_be_read_is_named_beside_the_others(network: BehindNatGateway) -> None:
    """Symptoms in one Region are reported, and the status is 2 because of the other."""
    saturate(network)
    result = diagnose("--region", "us-east-1", "--region", "no-where-1")
    assert result.exit_code == 2
    assert "account 123456789012 no-where-1: " in result.stderr
    assert "ran flat at 24.8 Gbit/s" in result.stdout
    alone = diagnose("--region", "no-where-1", "subnet-00000000000000000")
    assert (alone.exit_code, alone.stdout) == (2, "")
    failed, absent = alone.stderr.splitlines()
    assert "account 123456789012 no-where-1: " in failed
    assert (
        "no subnet subnet-00000000000000000 was found (it may be in an account or Region that could not be read)"
        in absent
    )


def test_central_egress_is_diagnosed_in_the_network_account(sandbox: Sandbox) -> None:
    """With the role, the gateway is diagnosed; without it, the path beyond the transit gateway is unknown."""
    hub = Hub(Account(sandbox, NETWORK_ACCOUNT, first=100))
    spokes = Account(sandbox)
    hub.share(spokes)
    spoke = hub.join(spokes)
    carry(hub.account, hub.nat, throttled(Random(2)))
    role = f"networkRoleArn=arn:aws:iam::{NETWORK_ACCOUNT}:role/Network"
    [nat] = diagnose_json("--parameter", role, exit_code=1)["nats"]
    assert (nat["id"], nat["accountId"], nat["subnetIds"]) == (hub.nat, NETWORK_ACCOUNT, [spoke.subnet])


@pytest.mark.parametrize("shape", [throttled, free], ids=["throttled", "free"])
def test_a_window_in_the_past_is_looked_at_alone(
    network: BehindNatGateway, shape: Callable[[Random], list[float]]
) -> None:
    """A window before the plateau has no plateau."""
    carry(network.account, network.nat, shape(Random(2)))
    start = datetime.now(UTC) - timedelta(hours=24)
    window = ("--from", start.isoformat(), "--to", (start + timedelta(hours=6)).isoformat())
    document = diagnose_json(*window, exit_code=0)
    assert document["period"] == 60
    assert meter(document)["state"] == "NO_SIGN"


@pytest.mark.parametrize("word", [*Symptom, *MeterState, *Severity])
def test_whoever_reads_a_symptom_finds_what_to_do(word: str) -> None:
    """The documentation for people on call has every symptom, state, and severity."""
    document = Path(__file__).parents[3] / "docs" / "traffic.md"
    assert f"`{word}`" in document.read_text(encoding="utf-8")
