"""express-path diagnose: its sentences, its options, its exit status, and what it reads in the sandbox."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import pi, sin
from pathlib import Path
from random import Random
from time import time
from typing import Any

import pytest
from typer.testing import Result

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.public_sides import BehindNatGateway, BehindNatInstance
from config_rule_sandbox.server import Sandbox
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind
from express_path_cli.nat.metrics import Meter
from express_path_cli.traffic.diagnose_command import finding_numbers, headline, undiagnosed
from express_path_cli.traffic.diagnosing import NatDiagnosis
from express_path_cli.traffic.symptoms import (
    METRICS,
    Diagnosis,
    MeterLoad,
    MeterState,
    Severity,
    Symptom,
    SymptomFinding,
)
from tests.cli.traffic.costs import regional_nat_gateway
from tests.support.command import invoke

pytestmark = pytest.mark.slow

# --- sentences -------------------------------------------------------------------------------------------------------

NAT = CrossedNat("nat-1", NatKind.ZONAL, "us-east-1", "123456789012", "vpc-1", ("subnet-1",), ("rtb-1",))
START = datetime(2026, 3, 1, tzinfo=UTC)
PERIODS = 288
RATE = tuple((START + index * timedelta(minutes=5), 3e9) for index in range(PERIODS))
OWN_LIMIT = "so the clients may be the limit"
DROPPED = {"droppedPackets": 2.0, "droppedShare": 1e-7}


def diagnosis(*findings: SymptomFinding, carried: Sequence[tuple[datetime, float]] = RATE) -> NatDiagnosis:
    """Return the diagnosis of a NAT gateway over one day."""
    load = MeterLoad(carried=tuple(carried))
    meter = Diagnosis(Meter("nat-1"), START, START + timedelta(days=1), 300, load, findings)
    return NatDiagnosis(NAT, ("subnet-1",), (meter,))


def found(
    symptom: Symptom, value: float, unit: str = "bit/s", severity: Severity = Severity.MEDIUM, **evidence: float
) -> SymptomFinding:
    """Return a finding of nine hours."""
    return SymptomFinding(symptom, severity, START, START + timedelta(hours=9), value, unit, evidence)


def plateau(severity: Severity = Severity.MEDIUM, **evidence: float) -> SymptomFinding:
    """Return a plateau at 24.8 Gbit/s."""
    return found(Symptom.PLATEAU, 24.8e9, severity=severity, jitter=0.01, usualJitter=0.08, **evidence)


SENTENCES: dict[str, tuple[NatDiagnosis, str]] = {
    "plateau with losses": (
        diagnosis(plateau(Severity.HIGH, droppedPackets=2e6, droppedShare=0.01, portAllocationErrors=12)),
        (
            "nat-1 ran flat at 24.8 Gbit/s for 9 h with 2,000,000 dropped packets (1.0 %) and 12 port allocation errors: "
            "subnet-1 uses this NAT gateway; to move traffic to the free gateway endpoint"
        ),
    ),
    "plateau at the maximum": (diagnosis(plateau(Severity.HIGH)), "for 9 h, near the maximum of a NAT gateway: "),
    "plateau without drops": (diagnosis(plateau(droppedPackets=0)), f"for 9 h and dropped nothing, {OWN_LIMIT}: "),
    "plateau with few drops": (diagnosis(plateau(**DROPPED)), "%), so few that the clients may be the limit: "),
    "plateau, drops unknown": (diagnosis(plateau()), f", and CloudWatch has no data on dropped packets, {OWN_LIMIT}: "),
    "ports": (diagnosis(found(Symptom.PORT_ALLOCATION_ERRORS, 1)), "nat-1 had no source port left for 1 connection: "),
    "drops": (
        diagnosis(found(Symptom.PACKETS_DROPPED, 9e9, droppedPackets=9e9, droppedShare=0.2)),
        "nat-1 dropped 9,000,000,000 packets (20 %): ",
    ),
    "drops of unknown share": (
        diagnosis(found(Symptom.PACKETS_DROPPED, 7, droppedPackets=7)),
        "nat-1 dropped 7 packets: ",
    ),
    "peaks": (
        diagnosis(found(Symptom.PEAK_NEAR_LIMIT, 96e9)),
        "nat-1 peaked at 96 Gbit/s, near the maximum of a NAT gateway: ",
    ),
    "flat peaks": (
        diagnosis(found(Symptom.PEAKS_FLAT, 24.8e9, droppedPackets=0)),
        f"nat-1 had 10-second peaks that stayed flat at 24.8 Gbit/s for 9 h and dropped nothing, {OWN_LIMIT}: ",
    ),
    "no sign": (
        diagnosis(),
        (
            "nat-1 shows no sign of saturation in this window: at most 3 Gbit/s; "
            "subnet-1 still uses this NAT gateway, and AWS charges for it by the GB"
        ),
    ),
    "no sign, one point": (
        diagnosis(carried=RATE[:1]),
        "no sign of saturation in the 0.35 % of this window with datapoints: at most 3 Gbit/s; ",
    ),
    "idle": (diagnosis(carried=[(at, 0.0) for at, _ in RATE]), "nat-1 carried nothing in this window; "),
    "idle, half": (
        diagnosis(carried=[(at, 0.0) for at, _ in RATE[: PERIODS // 2]]),
        "nat-1 carried nothing in the 50 % of this window with datapoints; ",
    ),
    "no data": (diagnosis(carried=[]), "CloudWatch has no datapoints for nat-1 in this window; "),
}


@pytest.mark.parametrize(("diagnosed", "words"), SENTENCES.values(), ids=SENTENCES)
def test_a_diagnosis_is_told_in_one_sentence(diagnosed: NatDiagnosis, words: str) -> None:
    """The sentence has the worst symptom with its evidence, or what is known of a gateway without symptoms."""
    assert diagnosed.diagnoses
    assert words in headline(diagnosed, diagnosed.diagnoses[0])


def test_many_subnets_are_told_as_a_few_and_more() -> None:
    """A sentence has at most three subnets, and the zone of a regional gateway."""
    many = diagnosis()
    assert many.diagnoses
    nat = replace(NAT, subnet_ids=tuple(f"subnet-{number}" for number in range(10)))
    [one] = many.diagnoses
    sentence = headline(replace(many, nat=nat), replace(one, meter=Meter("nat-1", "us-east-1b")))
    assert "; subnet-0, subnet-1, subnet-2 and 7 more still use this NAT gateway" in sentence
    assert sentence.startswith("nat-1 in us-east-1b shows")


def test_nats_without_metrics_have_their_sentence() -> None:
    """An instance has no NAT metrics, a regional gateway may have no zone yet, and reading may fail."""
    for kind, diagnoses, why in (
        (NatKind.INSTANCE, None, "CloudWatch has no NAT metrics for instances (on it, ethtool -S shows"),
        (NatKind.REGIONAL, (), "CloudWatch has no metrics for any of its zones; subnet-1 uses this NAT gateway"),
        (NatKind.ZONAL, None, "its metrics could not be read; subnet-1 uses this NAT gateway"),
    ):
        shown = undiagnosed(NatDiagnosis(replace(NAT, kind=kind), ("subnet-1",), diagnoses))
        assert shown.startswith(f"nat-1 was not diagnosed: {why}")


@pytest.mark.parametrize(
    ("finding", "numbers"),
    [
        (
            plateau(peakBitsPerSecond=26e9, portAllocationErrors=12, **DROPPED),
            (
                "24.8 Gbit/s, jitter 1.0 % (usually 8.0 %), 2 dropped packets (0.000010 %), not above the 0.01 % at which AWS "
                "suspects a problem, 12 port allocation errors, 10-second peak 26 Gbit/s"
            ),
        ),
        (
            found(
                Symptom.PORT_ALLOCATION_ERRORS, 5, portAllocationErrors=5, activeConnections=61_000, droppedPackets=1
            ),
            "5 port allocation errors, up to 61,000 active connections (an address supports 55,000 to one destination)",
        ),
        (
            found(Symptom.PACKETS_DROPPED, 5, droppedPackets=5, droppedShare=0.1, portAllocationErrors=5),
            "5 dropped packets (10 %), above the 0.01 % at which AWS suspects a problem",
        ),
        (found(Symptom.PACKETS_DROPPED, 5, droppedPackets=5), "5 dropped packets"),
        (found(Symptom.PEAKS_FLAT, 8e9, jitter=0.01), "8 Gbit/s, jitter 1.0 % (no other traffic to compare with)"),
        (found(Symptom.PEAK_NEAR_LIMIT, 1e6, "packets/s"), "1 Mpackets/s"),
    ],
)
def test_a_finding_has_its_numbers(finding: SymptomFinding, numbers: str) -> None:
    """Each finding has the numbers that explain it, and no others."""
    assert finding_numbers(finding) == numbers


def test_whoever_reads_a_symptom_finds_what_to_do() -> None:
    """The documentation for people on call has every symptom, state, and severity."""
    document = (Path(__file__).parents[3] / "docs" / "traffic.md").read_text(encoding="utf-8")
    assert [word for word in (*Symptom, *MeterState, *Severity) if f"`{word}`" not in document] == []


# --- the command -----------------------------------------------------------------------------------------------------

MINUTES = 1500
PACKET = 1400.0


def diagnose(*options: str) -> Result:
    """Run the command."""
    return invoke(["diagnose", *options])


def diagnose_json(*options: str, exit_code: int) -> dict[str, Any]:
    """Run the command for JSON and return the document."""
    result = diagnose("--format", "json", *options)
    assert result.exit_code == exit_code, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def flowing(result: Result) -> str:
    """Return the output as one line."""
    return " ".join(result.stdout.split())


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
        "PacketsDropCount": [0.0] * MINUTES,
        "ErrorPortAllocation": [0.0] * MINUTES,
        **more,
    }
    assert values.keys() <= METRICS.keys()
    place = (account.account_id, account.sandbox.region)
    for metric, points in values.items():
        account.sandbox.metrics.record(nat_gateway_id, metric, zip(times, points, strict=True), zone, place)


def free(random: Random) -> list[float]:
    """Return a day's traffic in Gbit/s that rises and falls between 4 and 36, with jitter."""
    return [20 * (1 + 0.8 * sin(2 * pi * index / 1440 - 3)) * max(0, random.gauss(1, 0.1)) for index in range(MINUTES)]


def throttled(random: Random) -> list[float]:
    """Return the same traffic with a limit of 24.9 Gbit/s."""
    return [min(rate, 24.9 * random.gauss(1, 0.004)) for rate in free(random)]


STACK = {"StackName": "express-path"}


@pytest.fixture
def network(sandbox: Sandbox) -> BehindNatGateway:
    """A private subnet behind a NAT gateway, in an account with a stack that has runbooks."""
    names = ("HealDocumentName", "UndoDocumentName", "AutomationRoleArn", "PlanFunctionArn", "LedgerTableName")
    template = {
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": name} for name in names},
    }
    sandbox.client("cloudformation").create_stack(**STACK, TemplateBody=json.dumps(template))
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


def test_a_saturated_gateway_has_its_findings_its_chart_and_one_command(network: BehindNatGateway) -> None:
    """The text has the sentence, the findings, a chart, and a heal command for each route table."""
    saturate(network)
    other = network.account.subnet(network.vpc, network.table)
    result = diagnose()
    assert (result.exit_code, result.stderr) == (1, "")
    text, (first, second) = flowing(result), sorted((network.subnet, other))
    sentence = f"{network.nat} ran flat at 24.9 Gbit/s for 8 h "
    assert f"SYMPTOMS: {sentence}" in text
    assert f"\n  express-path heal {first} --region us-east-1\n" in result.stdout
    assert f"express-path heal {second}" not in result.stdout
    for words in ("HIGH plateau, ", "HIGH port allocation errors, ", "HIGH packets dropped, "):
        assert words in text
    assert "carried, both directions" in result.stdout
    assert "A limit of less than 18 min, or with variations of more than 5%, cannot be seen at this resolution." in text
    assert "Use express-path cost --flow-logs to measure the S3 Express share" in text


@pytest.mark.parametrize("is_denied", [False, True])
def test_without_runbooks_the_change_is_shown(network: BehindNatGateway, sandbox: Sandbox, *, is_denied: bool) -> None:
    """One command of the AWS CLI is for all route tables of the VPC, also of those behind another NAT gateway.

    No heal is recommended if there is no runbook, or if that may not be read.
    """
    if is_denied:
        sandbox.faults.deny("cloudformation", "DescribeStacks")
    else:
        sandbox.client("cloudformation").delete_stack(**STACK)
    account = network.account
    others = [
        account.table(network.vpc, NatGatewayId=nat) for nat in (network.nat, account.nat_gateway(network.public))
    ]
    for table_id in others:
        account.subnet(network.vpc, table_id)
    saturate(network)
    result = diagnose(network.subnet)
    assert result.exit_code == 1
    [command] = [line.strip() for line in result.stdout.splitlines() if line.startswith("  aws ec2 ")]
    assert all(table_id in command for table_id in (network.table, *others))
    assert "--format json also has patches for CloudFormation and Terraform" in result.stdout
    assert "express-path heal" not in result.stdout
    for nat in diagnose_json(exit_code=1)["nats"]:
        [change] = nat["changes"]
        assert (nat["healCommands"], change["command"]) == ([], command)
        assert network.table in change["text"]
        assert change["patches"].keys() == {"cli", "cloudFormation", "terraform"}


def test_the_json_has_every_number(network: BehindNatGateway) -> None:
    """The JSON has findings with times, values, units, and evidence, next to the sentence and the commands."""
    saturate(network)
    document = diagnose_json(exit_code=1)
    [nat] = document["nats"]
    assert (document["schemaVersion"], document["period"], nat["id"]) == (1, 60, network.nat)
    assert document["shortestPlateau"] == 18 * 60
    assert (nat["kind"], nat["accountId"], nat["region"]) == ("zonal NAT gateway", "123456789012", "us-east-1")
    assert (nat["vpcId"], nat["subnetIds"]) == (network.vpc, [network.subnet])
    assert nat["healCommands"] == [f"express-path heal {network.subnet} --region us-east-1"]
    assert nat["changes"] == []
    [only] = nat["meters"]
    assert (only["availabilityZone"], only["state"]) == (None, "SYMPTOMS")
    assert only["sentence"].startswith(f"{network.nat} ran flat at 24.9 Gbit/s for 8 h ")
    assert only["missing"] == pytest.approx(0, abs=6.5 / 1440)  # the last five minutes may have no data yet
    symptoms = ["PLATEAU", "PORT_ALLOCATION_ERRORS", "PACKETS_DROPPED"]
    assert [finding["symptom"] for finding in only["findings"]] == symptoms
    [flat, *_] = only["findings"]
    assert (flat["severity"], flat["unit"]) == ("HIGH", "bit/s")
    assert flat["value"] == pytest.approx(24.8e9, rel=0.01)
    assert document["start"] <= flat["start"] < flat["end"] <= document["end"]
    assert flat["evidence"]["jitter"] < 0.4 * flat["evidence"]["usualJitter"]
    assert flat["evidence"]["activeConnections"] > 60_000
    assert flat["evidence"]["portAllocationErrors"] == 12


@pytest.mark.parametrize("window", [False, True], ids=["last day", "before the plateau"])
def test_traffic_without_symptoms_ends_with_status_0(network: BehindNatGateway, window: bool) -> None:
    """Free traffic has no plateau, and neither has a window before one."""
    carry(network.account, network.nat, (throttled if window else free)(Random(2)))
    start = datetime.now(UTC) - timedelta(hours=24)
    options = ("--from", start.isoformat(), "--to", (start + timedelta(hours=6)).isoformat()) if window else ()
    document = diagnose_json(*options, exit_code=0)
    assert document["nats"][0]["meters"][0]["state"] == "NO_SIGN"
    result = diagnose(*options)
    assert result.exit_code == 0
    assert f"NO SIGN: {network.nat} shows no sign of saturation in " in flowing(result)
    assert "carried, both directions" in result.stdout


def test_a_regional_gateway_is_diagnosed_zone_by_zone(sandbox: Sandbox) -> None:
    """Only the throttled zone has symptoms and a chart."""
    account = Account(sandbox)
    nat = regional_nat_gateway(account)
    carry(account, nat, free(Random(2)), "us-east-1a")
    carry(account, nat, throttled(Random(2)), "us-east-1b")
    meters = diagnose_json(exit_code=1)["nats"][0]["meters"]
    states = {meter["availabilityZone"]: meter["state"] for meter in meters}
    assert states == {"us-east-1a": "NO_SIGN", "us-east-1b": "SYMPTOMS"}
    assert flowing(diagnose()).count("carried, both directions") == 1


def test_gateways_with_symptoms_come_first(sandbox: Sandbox) -> None:
    """Gateways with symptoms come first, whatever their ids, each with its own subnets; a subnet selects its own."""
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
    """It has no meters, and that is no failure."""
    instance = BehindNatInstance(Account(sandbox)).interface
    result = diagnose()
    assert (result.exit_code, f"{instance} was not diagnosed: CloudWatch has no NAT" in flowing(result)) == (0, True)
    [nat] = diagnose_json(exit_code=0)["nats"]
    assert (nat["meters"], nat["kind"]) == (None, "NAT instance")
    assert "bw_out_allowance_exceeded" in nat["sentence"]


def test_the_terminal_shows_eight_commands_and_findings(network: BehindNatGateway) -> None:
    """The others are counted; the JSON has all."""
    for _ in range(9):
        network.account.subnet(network.vpc, network.account.table(network.vpc, NatGatewayId=network.nat))
    dropped = [1e9 if index % 130 == 0 else 0.0 for index in range(MINUTES)]
    carry(network.account, network.nat, free(Random(2)), PacketsDropCount=dropped)
    result = diagnose()
    assert result.stdout.count("express-path heal subnet-") == result.stdout.count("HIGH packets dropped") == 8
    assert "and 2 more commands; --format json lists all" in flowing(result)
    assert flowing(result).count("more; --format json lists all") == 1
    assert len(diagnose_json(exit_code=1)["nats"][0]["healCommands"]) == 10


def test_without_a_nat_on_the_path_there_is_nothing_to_diagnose(network: BehindNatGateway) -> None:
    """No metric is read; an unknown subnet is an error."""
    network.account.endpoint(network.vpc, network.table)
    nothing = "No selected path to S3 Express crosses a NAT, so there is nothing to diagnose.\n"
    for options in ((), (network.subnet,), (network.public,), (network.vpc,)):
        result = diagnose(*options)
        assert (result.exit_code, result.stdout) == (0, nothing)
    assert network.account.sandbox.calls.of("cloudwatch") == []
    absent = diagnose("subnet-00000000000000000")
    assert absent.exit_code == 2
    assert "is named subnet-00000000000000000 (check --region and --profile)" in absent.stderr
    nowhere = diagnose("subnet-00000000000000000", "--all-regions")
    assert "(check --profile)" in nowhere.stderr


def test_denied_metrics_are_named_and_the_rest_reported(network: BehindNatGateway) -> None:
    """The NAT is named with the command that heals it, and the status is 2."""
    saturate(network)
    network.account.sandbox.faults.deny("cloudwatch", "GetMetricData")
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
    assert "ran flat at 24.9 Gbit/s" in result.stdout
    alone = diagnose("--region", "no-where-1", "subnet-00000000000000000")
    assert (alone.exit_code, alone.stdout) == (2, "")
    failed, absent = alone.stderr.splitlines()
    assert "account 123456789012 no-where-1: " in failed
    assert "(it may be in an account or Region that could not be read)" in absent
