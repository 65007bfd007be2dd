"""express-path scan --plan: what a plan would do to the paths. tests/terraform compares real plans with their applies."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate

from benchmarks.command_runs import environment
from express_path_cli.findings.formats import Format
from tests.support.command import NO_CREDENTIALS, invoke
from tests.support.plans import UNKNOWN, PlanBuilder, endpoint, nat_route, network
from tests.support.scenarios import dump_of

pytestmark = pytest.mark.usefixtures("no_credentials")

PRIVATE, ANALYTICS, PUBLIC = "rtb-07c93e5d1fa84b602", "rtb-0482dfa6b9e13c750", "rtb-0e5f7a2c4b9d81366"
APP_SUBNETS = ("subnet-08d2f6b13c7a9e405", "subnet-0c4e81b7a2d3f5961")
ANALYTICS_SUBNET, PUBLIC_SUBNET = "subnet-0f5b92c8e1d7a3640", "subnet-01e7d4a9c5b8f2360"
NAT, ENDPOINT, VPC = "nat-0e92b5c7d1a3f6048", "vpce-0b1c6d8e3f5a7294c", "vpc-0a17f3c2d94b6e580"
"""Route tables, subnets, and targets of the sample network."""


def document(*options: str, status: int | None = None) -> dict[str, Any]:
    """Return the JSON output of a scan."""
    result = invoke(["scan", "--format", "json", *options])
    assert result.exit_code in ((0, 1) if status is None else (status,)), result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def alone(plan: PlanBuilder, folder: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Return the subnets of a plan that is judged without a network, by their address."""
    rows = document("--plan", str(plan.write(folder)), *options)["subnets"]
    return {row["address"]: row for row in rows}


def reason(plan: PlanBuilder, folder: Path, *options: str) -> str:
    """Return the reason of the private subnet of a plan that is judged without a network."""
    return str(alone(plan, folder, *options)["aws_subnet.private"]["reason"])


def over_sample(plan: PlanBuilder, folder: Path, *options: str) -> dict[str, Any]:
    """Return the output for a plan that is laid over the sample network."""
    return document("--plan", str(plan.write(folder)), "--example", *options)


def test_a_reference_stands_for_an_id_that_is_not_known(tmp_path: Path) -> None:
    """The path leads to the NAT gateway's address, and the IDs of the subnet and its table are null."""
    [row] = alone(nat_route(network()), tmp_path).values()
    assert row["reason"] == "NAT_GATEWAY"
    assert row["path"] == [{"kind": "NAT_GATEWAY", "id": "aws_nat_gateway.this", "destination": "0.0.0.0/0"}]
    assert (row["subnetId"], row["routeTableId"], row["routeTableAddress"]) == (None, None, "aws_route_table.private")
    assert (row["accountId"], row["region"], row["baseline"]) == ("unknown", "us-east-1", "new")
    assert row["changedBy"] == ["aws_route.nat", "aws_route_table_association.private"]


def test_code_for_two_tables_of_nearly_one_name_names_both(tmp_path: Path) -> None:
    """Their addresses differ only in characters that no name of a placeholder has."""
    plan = nat_route(network())
    for name in ("a-b", "a_b"):
        plan.subnet_with_table(name).add(
            f"aws_route.{name}",
            {"route_table_id": UNKNOWN, "destination_cidr_block": "0.0.0.0/0", "nat_gateway_id": UNKNOWN},
            {
                "route_table_id": [f"aws_route_table.{name}.id", f"aws_route_table.{name}"],
                "nat_gateway_id": ["aws_nat_gateway.this.id", "aws_nat_gateway.this"],
            },
        )
    found = invoke(["scan", "--plan", str(plan.write(tmp_path)), "--format", "json"])
    code = found.stdout.replace("\\n", "\n")
    for table in ("a-b", "a_b", "private"):
        assert f" = aws_route_table.{table}.id\n" in code


def test_the_document_of_a_plan_fits_the_schema(tmp_path: Path) -> None:
    """The schema describes what a plan adds."""
    schema = json.loads(invoke(["schema"]).stdout)
    validate(document("--plan", str(nat_route(network()).write(tmp_path))), schema)
    validate(over_sample(PlanBuilder(), tmp_path), schema)


def with_list(cidr: str) -> PlanBuilder:
    """Return a plan that adds a prefix list, and a route to it, to a table of the sample network that leads to the endpoint."""
    plan = PlanBuilder().add(
        "aws_ec2_managed_prefix_list.office",
        {"id": UNKNOWN, "address_family": "IPv4", "entry": [{"cidr": cidr}]},
        {"entry": []},
    )
    return plan.add(
        "aws_route.office",
        {"route_table_id": ANALYTICS, "destination_prefix_list_id": UNKNOWN, "nat_gateway_id": NAT},
        {"destination_prefix_list_id": ["aws_ec2_managed_prefix_list.office.id"]},
    )


@pytest.mark.parametrize("output", Format)
def test_a_prefix_list_that_the_plan_makes_may_win(tmp_path: Path, output: Format) -> None:
    """Every format shows it by its address, because it has no ID yet."""
    file = with_list("44.220.0.0/16").write(tmp_path)
    assert "PARTLY_NAT" in {row["reason"] for row in document("--plan", str(file), "--example", status=1)["subnets"]}
    result = invoke(["scan", "--format", output, "--plan", str(file), "--example"])
    assert result.exit_code == 1, result.output


@pytest.mark.parametrize("cidr", ["office", "44.220.0.0/99", "44.220.0.0"])
def test_a_prefix_list_with_anything_but_a_cidr_is_bad_input(tmp_path: Path, cidr: str) -> None:
    """The line names the file and the argument."""
    file = with_list(cidr).write(tmp_path)
    result = invoke(["scan", "--plan", str(file), "--example"])
    [line] = [line for line in result.stderr.splitlines() if "note:" not in line]
    assert (result.exit_code, result.stdout) == (2, "")
    assert line.startswith(
        f"express-path: {file}: aws_ec2_managed_prefix_list.office.entry.cidr must be a CIDR block such as"
    )


@pytest.mark.parametrize("planned", [[], "x", {"root_module": []}])
def test_planned_values_are_an_object(tmp_path: Path, planned: object) -> None:
    """A document with other ones is no plan."""
    plan = nat_route(network())
    plan.document["planned_values"] = planned
    result = invoke(["scan", "--plan", str(plan.write(tmp_path))])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "planned_values" in result.stderr


def test_a_more_specific_public_route_needs_a_network(tmp_path: Path) -> None:
    """Without a network, such a route may match. If that would change the verdict, a snapshot decides.

    The addresses of S3 Express are not known then, but its prefix list is more specific than a default route.
    """
    plan = nat_route(endpoint(nat_route(network())), "52.0.0.0/8", "specific")
    [row] = alone(plan, tmp_path).values()
    assert row["reason"] == "UNRESOLVED_EGRESS"
    assert "a snapshot decides" in row["annotation"]
    private = nat_route(endpoint(nat_route(network())), "192.168.0.0/16", "specific")
    assert reason(private, tmp_path) == "ENDPOINT"
    same = nat_route(nat_route(network()), "52.0.0.0/8", "specific")
    assert reason(same, tmp_path) == "NAT_GATEWAY"


def tier(plan: PlanBuilder, keys: str = "ab") -> PlanBuilder:
    """Add route tables with for_each."""
    for key in keys:
        plan.add(
            f'aws_route_table.tier["{key}"]',
            {"id": UNKNOWN, "vpc_id": UNKNOWN, "route": UNKNOWN},
            {"vpc_id": ["aws_vpc.this.id"]},
        )
    return plan


def without_association(keys: str) -> PlanBuilder:
    """Return a private subnet without an association, and route tables with for_each, the first of which leads to a NAT."""
    plan = PlanBuilder().add("aws_vpc.this", {"id": UNKNOWN}).add("aws_nat_gateway.this", {"id": UNKNOWN})
    plan.add("aws_subnet.private", {"id": UNKNOWN, "vpc_id": UNKNOWN}, {"vpc_id": ["aws_vpc.this.id"]})
    return tier(plan, keys).add(
        "aws_route.nat",
        {"route_table_id": UNKNOWN, "destination_cidr_block": "0.0.0.0/0", "nat_gateway_id": UNKNOWN},
        {"route_table_id": ['aws_route_table.tier["a"].id'], "nat_gateway_id": ["aws_nat_gateway.this.id"]},
    )


UNRESOLVED: dict[str, Callable[[], PlanBuilder]] = {
    "some tables of a resource with for_each": lambda: endpoint(
        tier(nat_route(network())), ["aws_route_table.tier", "aws_route_table.private.id", "aws_route_table.private"]
    ),
    "a local value": lambda: endpoint(nat_route(network()), ["local.tables"]),
    "the table of a route": lambda: network().add(
        "aws_route.unknown",
        {"route_table_id": UNKNOWN, "destination_cidr_block": "0.0.0.0/0", "nat_gateway_id": UNKNOWN},
        {"route_table_id": ["data.external.table.result"], "nat_gateway_id": ["aws_nat_gateway.this.id"]},
    ),
    "the destination of a route": lambda: endpoint(network()).add(
        "aws_route.unknown",
        {"route_table_id": UNKNOWN, "destination_cidr_block": UNKNOWN, "nat_gateway_id": UNKNOWN},
        {
            "route_table_id": ["aws_route_table.private.id"],
            "destination_cidr_block": ["data.aws_vpc.peer.cidr_block"],
            "nat_gateway_id": ["aws_nat_gateway.this.id"],
        },
    ),
    "the kind of a gateway": lambda: network().add(
        "aws_route.unknown",
        {"route_table_id": UNKNOWN, "destination_cidr_block": "0.0.0.0/0", "gateway_id": UNKNOWN},
        {"route_table_id": ["aws_route_table.private.id"], "gateway_id": ["data.external.gateway.result"]},
    ),
    "the service of an endpoint": lambda: nat_route(network()).add(
        "aws_vpc_endpoint.any",
        {
            "id": UNKNOWN,
            "vpc_id": UNKNOWN,
            "service_name": UNKNOWN,
            "vpc_endpoint_type": "Gateway",
            "route_table_ids": UNKNOWN,
        },
        {
            "vpc_id": ["aws_vpc.this.id"],
            "service_name": ["data.aws_region.here.name"],
            "route_table_ids": ["aws_route_table.private.id"],
        },
    ),
    "the subnet of another association": lambda: without_association("a").add(
        "aws_route_table_association.unknown",
        {"subnet_id": UNKNOWN, "route_table_id": UNKNOWN},
        {"subnet_id": ["data.external.subnet.result"], "route_table_id": ['aws_route_table.tier["a"].id']},
    ),
}
"""Plans in which a value is not known that decides about the private subnet."""


@pytest.mark.parametrize("unknown", UNRESOLVED)
def test_what_is_not_known_is_never_guessed(tmp_path: Path, unknown: str) -> None:
    """The reason is UNRESOLVED_EGRESS, and the annotation names the value."""
    row = alone(UNRESOLVED[unknown](), tmp_path)["aws_subnet.private"]
    assert row["reason"] == "UNRESOLVED_EGRESS"
    assert "known after" in row["annotation"]


# --- over a network --------------------------------------------------------------------------------------------------


def removed_endpoint() -> PlanBuilder:
    """The association of the analytics table with the endpoint goes away."""
    values = {"id": "a-1", "route_table_id": ANALYTICS, "vpc_endpoint_id": ENDPOINT}
    table = {"id": ANALYTICS, "vpc_id": VPC, "route": []}
    return (
        PlanBuilder()
        .add("aws_vpc_endpoint_route_table_association.analytics", None, before=values, actions=["delete"])
        .add("aws_route_table.analytics", table, before=table, actions=["no-op"])
    )


def specific_route() -> PlanBuilder:
    """The analytics table gets a more specific route to the NAT gateway."""
    values = {"route_table_id": ANALYTICS, "destination_cidr_block": "3.4.112.0/24", "nat_gateway_id": NAT}
    return PlanBuilder().add("aws_route.specific", values)


def moved_subnet() -> PlanBuilder:
    """The analytics subnet moves to the private table."""
    before = {"id": "rtbassoc-1", "subnet_id": ANALYTICS_SUBNET, "route_table_id": ANALYTICS}
    after = {**before, "route_table_id": PRIVATE}
    return PlanBuilder().add("aws_route_table_association.analytics", after, before=before, actions=["update"])


def replaced_table() -> PlanBuilder:
    """The analytics table is replaced by one that only leads to the NAT gateway."""
    before = {"id": ANALYTICS, "vpc_id": VPC, "route": []}
    after = {"id": UNKNOWN, "vpc_id": VPC, "route": [{"cidr_block": "0.0.0.0/0", "nat_gateway_id": NAT}]}
    association = {"id": "rtbassoc-1", "subnet_id": ANALYTICS_SUBNET, "route_table_id": ANALYTICS}
    return (
        PlanBuilder()
        .add("aws_route_table.analytics", after, before=before, actions=["delete", "create"])
        .add(
            "aws_route_table_association.analytics",
            {**association, "route_table_id": UNKNOWN},
            {"route_table_id": ["aws_route_table.analytics.id", "aws_route_table.analytics"]},
            before=association,
            actions=["update"],
        )
    )


MAIN = """resource "aws_route_table" "analytics" {
  vpc_id = "vpc-1"
}

resource "aws_route" "specific" {
  route_table_id = "rtb-1"
}

resource "aws_route_table_association" "analytics" {
  route_table_id = aws_route_table.analytics.id
}
"""


@pytest.mark.parametrize(
    ("plan", "expected", "sentence", "line"),
    [
        (removed_endpoint(), "NAT_GATEWAY", f"Route table {ANALYTICS} loses the endpoint.", 1),
        (specific_route(), "PARTLY_NAT", "This plan puts 1 subnet behind a NAT.", 5),
        (moved_subnet(), "NAT_GATEWAY", "This plan puts 1 subnet behind a NAT.", 9),
        (replaced_table(), "NAT_GATEWAY", "This plan puts 1 subnet behind a NAT.", 9),
    ],
    ids=["removed endpoint", "specific route", "moved subnet", "replaced table"],
)
def test_a_change_for_the_worse_is_found(
    tmp_path: Path, plan: PlanBuilder, expected: str, sentence: str, line: int
) -> None:
    """The finding is new, so that --fail-on new fails without a baseline, and SARIF has the line of the cause."""
    (tmp_path / "main.tf").write_text(MAIN, encoding="utf-8")
    found = over_sample(plan, tmp_path, "--fail-on", "new")
    [row] = [row for row in found["subnets"] if row["subnetId"] == ANALYTICS_SUBNET]
    assert (row["reason"], row["baseline"]) == (expected, "new")
    assert sentence in found["plan"]
    assert (row["file"], row["line"]) == ("main.tf", line)
    sarif = invoke(["scan", "--plan", str(tmp_path / "plan.json"), "--example", "--format", "sarif"])
    results = json.loads(sarif.stdout)["runs"][0]["results"]
    [place] = [result["locations"][0]["physicalLocation"] for result in results if result.get("baselineState") == "new"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("main.tf", line)


def test_the_worlds_before_and_after_are_compared_by_route_table(tmp_path: Path) -> None:
    """A moved subnet leaves one route table and adds to another; text and Markdown show it too."""
    plan = moved_subnet()
    changed = {row["routeTableId"]: (row["before"], row["after"]) for row in over_sample(plan, tmp_path)["routeTables"]}
    assert changed == {
        PRIVATE: ({"NAT_GATEWAY": 2}, {"NAT_GATEWAY": 3}),
        ANALYTICS: ({"ENDPOINT": 1}, {}),
    }
    for form in ("table", "markdown"):
        shown = invoke(["scan", "--plan", str(tmp_path / "plan.json"), "--example", "--format", form]).stdout
        assert "This plan puts 1 subnet behind a NAT." in shown
        assert f"{PRIVATE}: 2 NAT" in shown.replace("\\", "")


def test_an_unknown_route_table_is_null(tmp_path: Path) -> None:
    """Subnets that several tables may govern are one entry without an ID and without an address."""
    plan = without_association("ab")
    either = {"subnet_id": ["aws_subnet.private.id"], "route_table_id": ["aws_route_table.tier", "var.tier"]}
    plan.add("aws_route_table_association.any", {"subnet_id": UNKNOWN, "route_table_id": UNKNOWN}, either)
    found = document("--plan", str(plan.write(tmp_path)))
    assert found["routeTables"] == [
        {"routeTableId": None, "address": None, "before": {}, "after": {"UNRESOLVED_EGRESS": 1}}
    ]
    shown = invoke(["scan", "--plan", str(tmp_path / "plan.json")]).stdout
    assert "unknown route table: no subnet -> 1 UNRESOLVED_EGRESS" in shown
    assert "aws_route_table_association.any.route_table_id" in found["subnets"][0]["annotation"]


def test_findings_that_exist_do_not_fail_a_plan(tmp_path: Path) -> None:
    """What is before the plan is the baseline: the sample network has findings, and this plan adds none."""
    found = over_sample(PlanBuilder(), tmp_path, "--fail-on", "new")
    assert {row["baseline"] for row in found["subnets"]} == {"unchanged", None}
    assert found["plan"] == ["This plan puts no subnet behind a NAT."]
    assert document("--plan", str(tmp_path / "plan.json"), "--example", "--fail-on", "new", status=0)


def test_a_plan_that_fixes_a_finding_says_so(tmp_path: Path) -> None:
    """An endpoint for the private table takes both subnets off the NAT."""
    values = {"route_table_id": PRIVATE, "vpc_endpoint_id": ENDPOINT}
    found = over_sample(PlanBuilder().add("aws_vpc_endpoint_route_table_association.private", values), tmp_path)
    assert found["plan"] == ["This plan takes 2 subnets off a NAT."]
    assert found["totals"]["compliances"]["NON_COMPLIANT"] == 0


def test_a_table_that_may_keep_the_endpoint_does_not_lose_it(tmp_path: Path) -> None:
    """The plan does not say which tables the endpoint will list, so the annotation names the argument."""
    before = {"id": ENDPOINT, "vpc_id": VPC, "vpc_endpoint_type": "Gateway", "route_table_ids": [ANALYTICS]}
    before["service_name"] = "com.amazonaws.us-east-1.s3express"
    after, names = {**before, "route_table_ids": UNKNOWN}, {"route_table_ids": ["local.tables"]}
    plan = PlanBuilder().add("aws_vpc_endpoint.this", after, names, before=before, actions=["update"])
    found = over_sample(plan, tmp_path)
    assert found["plan"] == ["The egress path of 3 subnets is not known before the apply."]
    [row] = [row for row in found["subnets"] if row["subnetId"] == ANALYTICS_SUBNET]
    assert row["routeTableId"] == ANALYTICS
    assert "known after the apply, or with --source DIR" in row["annotation"]
    assert "aws_vpc_endpoint.this.route_table_ids" in row["annotation"]
    file = str(tmp_path / "plan.json")
    assert "To find out: add --source DIR" in invoke(["scan", "--plan", file, "--example"]).stdout
    (tmp_path / "main.tf").touch()
    named = ["--source", str(tmp_path)]
    assert "To find out: scan again after the apply" in invoke(["scan", "--plan", file, "--example", *named]).stdout


@pytest.fixture
def network_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a plan that lacks ids, and its initialized configuration; the current folder is another one."""
    folder, programs, elsewhere = (tmp_path / name for name in ("network", "programs", "elsewhere"))
    for made in (folder / ".terraform", programs, elsewhere):
        made.mkdir(parents=True)
    (folder / "main.tf").touch()
    plan = nat_route(network())
    plan.document["configuration"]["provider_config"]["aws"]["full_name"] = "registry.terraform.io/hashicorp/aws"
    plan.write(folder)
    terraform = programs / "terraform"
    terraform.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho Terraform v1.9.0\n", encoding="utf-8")
    terraform.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.environ["PATH"])))
    monkeypatch.chdir(elsewhere)
    return folder


def asks_terraform(plan: str, *options: str) -> bool:
    """Return whether a scan of a plan runs Terraform, which a note says."""
    found = Path("../asked").resolve()
    found.unlink(missing_ok=True)
    result = invoke(["scan", "--plan", plan, "--plan-only", *options])
    assert result.exit_code == 1, result.output
    assert found.exists() is ("Terraform 1.11 or newer is needed" in result.stderr), result.stderr
    assert found.exists() is not ("Terraform was not asked" in result.stderr), result.stderr
    return found.exists()


@pytest.mark.parametrize("options", [[], ["--terraform", "terraform"]], ids=["", "--terraform"])
def test_a_plan_file_alone_runs_nothing(network_folder: Path, options: list[str]) -> None:
    """Terraform runs the providers of a folder, so that must be the current folder or be named by --source."""
    plan = network_folder / "plan.json"
    elsewhere = Path.cwd()
    (elsewhere / "link").symlink_to(network_folder)
    for file in (str(plan), "../network/plan.json", "link/plan.json"):
        assert not asks_terraform(file, *options)
    result = invoke(["scan", "--plan", str(plan), "--plan-only", *options])
    assert f"add --source {network_folder}" in result.stderr
    assert asks_terraform(str(plan), "--source", str(network_folder), *options)


def test_a_plan_of_the_current_folder_asks_terraform(network_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the current folder also by the path of a link to it; the folder of a file that a link leads to is not asked."""
    (network_folder.parent / "link").symlink_to(network_folder)
    monkeypatch.chdir(network_folder.parent / "link")
    for file in ("plan.json", str(network_folder / "plan.json"), "../link/plan.json"):
        assert asks_terraform(file)
    monkeypatch.chdir(network_folder.parent / "elsewhere")
    Path("plan.json").symlink_to(network_folder / "plan.json")
    assert not asks_terraform("plan.json")


def endpoint_of_a_hub() -> PlanBuilder:
    """Return a plan that gives the egress VPC of a test network an endpoint, for the tables of its attachment."""
    plan = PlanBuilder().add(
        "aws_vpc_endpoint.hub",
        {
            "id": UNKNOWN,
            "vpc_id": "vpc-egress",
            "service_name": "com.amazonaws.us-east-1.s3express",
            "vpc_endpoint_type": "Gateway",
        },
    )
    for zone in "ab":
        plan.add(
            f"aws_vpc_endpoint_route_table_association.{zone}",
            {"route_table_id": f"rtb-egress-attachment-{zone}", "vpc_endpoint_id": UNKNOWN},
            {"vpc_endpoint_id": ["aws_vpc_endpoint.hub.id", "aws_vpc_endpoint.hub"]},
        )
    return plan


def removed(address: str, **before: str) -> PlanBuilder:
    """Return a plan that deletes a resource."""
    return PlanBuilder().add(address, None, before=before, actions=["delete"])


CENTRAL = ("--from-dump", str(dump_of("transit-gateway-central-egress")))
DEFAULT = {"destination_cidr_block": "0.0.0.0/0"}
ATTACHMENT = {"transit_gateway_attachment_id": "tgw-attach-egress", "transit_gateway_route_table_id": "tgw-rtb-spokes"}
LOSSES: dict[str, tuple[PlanBuilder, tuple[str, ...], dict[str, str], str]] = {
    "an endpoint for a hub's table": (
        endpoint_of_a_hub(),
        CENTRAL,
        {"subnet-spoke-a": "NAT_BEYOND_TRANSIT_GATEWAY before, then DROPPED: "},
        "Leave aws_vpc_endpoint_route_table_association.a out, until each VPC behind the hub has its own endpoint.",
    ),
    "a route of a transit gateway that is removed": (
        removed("aws_ec2_transit_gateway_route.spokes", **DEFAULT, **ATTACHMENT),
        CENTRAL,
        {"subnet-spoke-a": "NAT_BEYOND_TRANSIT_GATEWAY before, then NO_ROUTE"},
        "",
    ),
    "a route to an internet gateway that is removed": (
        removed("aws_route.public", **DEFAULT, route_table_id=PUBLIC, gateway_id="igw-0b1c6d8e3f5a7294c"),
        ("--example",),
        {PUBLIC_SUBNET: "INTERNET_GATEWAY before, then NO_ROUTE"},
        "Keep aws_route.public.",
    ),
    "a NAT gateway that is deleted": (
        removed("aws_nat_gateway.this", id=NAT),
        ("--example",),
        dict.fromkeys(APP_SUBNETS, "NAT_GATEWAY before, then DROPPED: blackhole: "),
        "Keep aws_nat_gateway.this.",
    ),
}
"""Plans that take paths away: the network, which subnets lose theirs and what was and is, and what to change."""


@pytest.mark.parametrize("name", LOSSES)
def test_a_path_that_a_plan_takes_away_is_a_finding(name: str, tmp_path: Path) -> None:
    """It is new, fails the scan, and names what to change. Its address is the one of the change, however far it is."""
    plan, network_options, subnets, fix = LOSSES[name]
    options = ["--plan", str(plan.write(tmp_path)), *network_options, "--fail-on", "new"]
    found = document(*options, status=1)
    lost = {row["subnetId"]: row for row in found["subnets"] if row["reason"] == "LOSES_PATH"}
    assert lost.keys() == subnets.keys()
    for subnet_id, row in lost.items():
        assert (row["compliance"], row["baseline"]) == ("NON_COMPLIANT", "new")
        assert row["note"].startswith(subnets[subnet_id])
        assert subnets[subnet_id] in row["annotation"]
        assert fix in found["changes"][row["change"]]["text"]
        assert found["changes"][row["change"]]["command"] == ""
    number = f"{len(subnets)} subnet{'s' if len(subnets) > 1 else ''}"
    assert found["plan"][0] == f"This plan takes the path to S3 Express away from {number}."


TABLE = {"id": ANALYTICS, "vpc_id": VPC}
EXPRESS = {
    "id": ENDPOINT,
    "vpc_id": VPC,
    "service_name": "com.amazonaws.us-east-1.s3express",
    "vpc_endpoint_type": "Gateway",
}
MORE_SPECIFIC = {"route_table_id": ANALYTICS, "destination_cidr_block": "3.4.112.0/24", "nat_gateway_id": NAT}


def kept(plan: PlanBuilder, address: str, values: dict[str, str]) -> PlanBuilder:
    """Add a resource that a plan does not change."""
    return plan.add(address, values, before=values, actions=["no-op"])


def with_analytics(plan: PlanBuilder) -> PlanBuilder:
    """Add the table of the analytics subnet to a plan, which does not change the table itself."""
    return kept(plan, "aws_route_table.analytics", TABLE)


FIXES: dict[str, tuple[PlanBuilder, str, str]] = {
    "an association that is removed": (
        with_analytics(
            removed(
                "aws_vpc_endpoint_route_table_association.analytics",
                route_table_id=ANALYTICS,
                vpc_endpoint_id=ENDPOINT,
            )
        ),
        "Keep aws_vpc_endpoint_route_table_association.analytics, which gives aws_route_table.analytics its route to the endpoint.",
        "",
    ),
    "a table that an endpoint no longer lists": (
        with_analytics(PlanBuilder()).add(
            "aws_vpc_endpoint.this",
            {**EXPRESS, "route_table_ids": []},
            before={**EXPRESS, "route_table_ids": [ANALYTICS]},
            actions=["update"],
        ),
        "Keep aws_route_table.analytics in route_table_ids of aws_vpc_endpoint.this.",
        "",
    ),
    "a new table beside an endpoint of the configuration": (
        kept(replaced_table(), "aws_vpc_endpoint.this", EXPRESS),
        "with gateway endpoint aws_vpc_endpoint.this, so that",
        "vpc_endpoint_id = aws_vpc_endpoint.this.id\n  route_table_id  = aws_route_table.analytics.id\n",
    ),
    "a table and an endpoint of other configurations": (
        PlanBuilder()
        .add("aws_subnet.new", {"id": UNKNOWN, "vpc_id": VPC})
        .add(
            "aws_route_table_association.new",
            {"subnet_id": UNKNOWN, "route_table_id": PRIVATE},
            {"subnet_id": ["aws_subnet.new.id", "aws_subnet.new"]},
        ),
        f"Associate route table {PRIVATE} with",
        f"vpc_endpoint_id = data.aws_vpc_endpoint.s3express_{VPC.replace('-', '_')}.id\n",
    ),
    "a more specific route": (
        with_analytics(PlanBuilder()).add("aws_route.specific", MORE_SPECIFIC),
        "Check what else uses that route, then delete it or give it a broader CIDR. Look at aws_route.specific.",
        "",
    ),
}
"""Plans that add a finding, what to do about it, and the code for that."""


@pytest.mark.parametrize("name", FIXES)
def test_a_fix_is_a_change_of_the_configuration(name: str, tmp_path: Path) -> None:
    """It names resources by their addresses, and no AWS command is beside it."""
    plan, text, code = FIXES[name]
    found = over_sample(plan, tmp_path)
    [new] = [row for row in found["subnets"] if row["baseline"] == "new"]
    fix = found["changes"][new["change"]]
    assert text in fix["text"]
    assert fix["command"] == ""
    assert fix["patches"].keys() == ({"terraform"} if code else set())
    assert code in fix["patches"].get("terraform", "")


def test_a_plan_alone_lacks_a_network(tmp_path: Path) -> None:
    """What would decide is a dump, because without credentials no permission helps."""
    plan = nat_route(network(), "52.0.0.0/8", "specific").write(tmp_path)
    [row] = document("--plan", str(plan), "--plan-only")["subnets"]
    assert (row["reason"], row["unknown"]) == ("UNRESOLVED_EGRESS", "NETWORK")
    shown = invoke(["scan", "--plan", str(plan), "--plan-only", "--fail-on", "never"]).stdout
    assert "add --from-dump DIR, a dump of the network that express-path collect writes" in shown


def test_a_path_is_lost_without_a_network_too(tmp_path: Path) -> None:
    """What the plan contains shows both the path before it and that there is none afterwards."""
    plan = PlanBuilder()
    kept(plan, "aws_vpc.this", {"id": "vpc-1"})
    kept(plan, "aws_internet_gateway.this", {"id": "igw-1", "vpc_id": "vpc-1"})
    kept(plan, "aws_subnet.public", {"id": "subnet-1", "vpc_id": "vpc-1"})
    kept(plan, "aws_route_table.public", {"id": "rtb-1", "vpc_id": "vpc-1"})
    association = {"id": "rtbassoc-1", "subnet_id": "subnet-1", "route_table_id": "rtb-1"}
    kept(plan, "aws_route_table_association.public", association)
    route = {**DEFAULT, "id": "r-rtb-1", "route_table_id": "rtb-1", "gateway_id": "igw-1"}
    plan.add("aws_route.public", None, before=route, actions=["delete"])
    [row] = document("--plan", str(plan.write(tmp_path)), "--plan-only", status=1)["subnets"]
    assert (row["before"], row["reason"], row["routeTableAddress"]) == (
        *("INTERNET_GATEWAY", "LOSES_PATH"),
        "aws_route_table.public",
    )


def test_a_subnet_that_is_replaced_loses_the_path_of_the_old_one(tmp_path: Path) -> None:
    """Its workloads have none afterwards: the new subnet is in the main route table, which leads nowhere."""
    before = {"id": APP_SUBNETS[0], "vpc_id": VPC}
    plan = PlanBuilder().add(
        "aws_subnet.app", {"id": UNKNOWN, "vpc_id": VPC}, before=before, actions=["delete", "create"]
    )
    found = over_sample(plan, tmp_path)
    [row] = [row for row in found["subnets"] if row["address"]]
    assert (row["subnetId"], row["before"], row["reason"]) == (None, "NAT_GATEWAY", "LOSES_PATH")


def test_show_all_lists_what_a_plan_does_not_change(tmp_path: Path) -> None:
    """Without it, the old findings and the other subnets are one line; the exit status is about all of them either way."""
    plan = str(with_analytics(PlanBuilder()).add("aws_route.specific", MORE_SPECIFIC).write(tmp_path))
    command = ["scan", "--plan", plan, "--example", "--format", "csv"]
    listed = {options: invoke([*command, *options]) for options in ((), ("--show", "all"), ("--show", "NON_COMPLIANT"))}
    assert {result.exit_code for result in listed.values()} == {1}
    assert [result.stdout.count("\nsubnet-") + result.stdout.count(",subnet-") for result in listed.values()] == [
        1,
        4,
        1,
    ]
    assert ANALYTICS_SUBNET in listed[()].stdout
    line = "Not listed: 2 findings that are not new and 1 other subnet. --show all lists them."
    assert line in invoke(["scan", "--plan", plan, "--example"]).stdout
    assert "Not listed" not in invoke(["scan", "--plan", plan, "--example", "--show", "all"]).stdout


def test_only_a_path_that_is_certain_before_and_gone_afterwards_is_lost(tmp_path: Path) -> None:
    """A new subnet has none to lose, one whose path was not known may have had none, and one that gets another path keeps one."""
    new = PlanBuilder().subnet_with_table("new")
    assert "LOSES_PATH" not in document("--plan", str(new.write(tmp_path)), "--plan-only")["totals"]["reasons"]
    office = removed("aws_route.carrier", **DEFAULT, route_table_id="rtb-private", carrier_gateway_id="cagw-app")
    where = ("--from-dump", str(dump_of("carrier-gateway")))
    [row] = [
        row
        for row in document("--plan", str(office.write(tmp_path)), *where)["subnets"]
        if row["routeTableId"] == "rtb-private"
    ]
    assert (row["before"], row["reason"]) == ("UNRESOLVED_EGRESS", "NO_ROUTE")


def test_a_plan_of_another_account_or_region_is_refused(tmp_path: Path) -> None:
    """It would be laid over the wrong network."""
    arn = "arn:aws:ec2:us-east-1:444455556666:subnet/subnet-1"
    other = {"id": "subnet-1", "arn": arn}
    plan = PlanBuilder().add("aws_subnet.other", other, before=other, actions=["no-op"]).write(tmp_path)
    result = invoke(["scan", "--plan", str(plan), "--example"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is for account 444455556666" in result.stderr
    elsewhere = network()
    elsewhere.document["configuration"]["provider_config"]["aws"]["expressions"]["region"]["constant_value"] = (
        "eu-west-1"
    )
    result = invoke(["scan", "--plan", str(elsewhere.write(tmp_path)), "--example"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "has resources in eu-west-1" in result.stderr


def test_the_region_of_each_of_several_providers_must_be_known(tmp_path: Path) -> None:
    """Resources would count for the wrong Region. A VPC alone has no paths, and another resource may show the Region."""
    plan = nat_route(network()).add("aws_vpc.dr", {"id": UNKNOWN}, block={"provider_config_key": "aws.dr"})
    regions = {"references": ["local.dr"]}
    plan.document["configuration"]["provider_config"]["aws.dr"] = {"name": "aws", "expressions": {"region": regions}}
    command = ["scan", "--plan", str(plan.write(tmp_path)), "--format", "json"]
    assert invoke(command).exit_code == 1
    plan.add("aws_subnet.dr", {"id": UNKNOWN, "vpc_id": UNKNOWN}, block={"provider_config_key": "aws.dr"})
    plan.write(tmp_path)
    refused = invoke(command)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "aws_subnet.dr has a provider whose Region the plan does not say" in refused.stderr
    plan.output("names", "dr", ["var.dr"]).pass_on("names", "dr", ["var.region"])
    plan.document["variables"] = {"region": {"value": "eu-west-1"}}
    for references, status in (["module.names.dr", "module.names"], 1), (["local.dr"], 2):
        regions["references"] = references
        plan.write(tmp_path)
        assert invoke(command).exit_code == status
    zoned = {"id": UNKNOWN, "vpc_id": UNKNOWN, "availability_zone": "eu-west-1a"}
    plan.add("aws_subnet.zoned", zoned, block={"provider_config_key": "aws.dr"})
    plan.write(tmp_path)
    rows = json.loads(invoke(command).stdout)["subnets"]
    assert {row["address"]: row["region"] for row in rows} == {
        "aws_subnet.private": "us-east-1",
        "aws_subnet.dr": "eu-west-1",
        "aws_subnet.zoned": "eu-west-1",
    }


def test_without_credentials_the_plan_is_judged_alone(tmp_path: Path) -> None:
    """A pipeline for a pull request may have none; a note says what that means."""
    result = invoke(["scan", "--plan", str(nat_route(network()).write(tmp_path)), "--format", "json"])
    assert result.exit_code == 1, result.output
    assert "no AWS credentials" in result.stderr


@pytest.mark.parametrize(
    "options", [["--plan-only"], ["--source", "."], ["--no-terraform"], ["--terraform", "terraform"]]
)
def test_options_of_a_plan_need_a_plan(options: list[str]) -> None:
    """They would be ignored."""
    result = invoke(["scan", "--example", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{options[0]} needs a plan" in result.stderr


def test_a_plan_can_be_judged_without_reading_the_network(tmp_path: Path) -> None:
    """A pipeline may have credentials that may not read it. With the sample network, there would be more subnets."""
    found = document("--plan", str(nat_route(network()).write(tmp_path)), "--example", "--plan-only")
    assert [row["address"] for row in found["subnets"]] == ["aws_subnet.private"]


def test_a_resource_that_is_not_judged_leaves_a_plan_undecided(tmp_path: Path) -> None:
    """The first sentence names it, also if there is no subnet; --fail-on UNRESOLVED_EGRESS stops it. Findings stay."""
    plan = str(PlanBuilder().add("aws_cloudformation_stack.network", {"id": UNKNOWN}).write(tmp_path))
    sentence = "Could not be decided: what aws_cloudformation_stack.network would change."
    assert document("--plan", plan, status=0)["plan"] == [sentence]
    assert document("--plan", plan, "--fail-on", "UNRESOLVED_EGRESS", status=1)["plan"] == [sentence]
    over = document("--plan", plan, "--example", status=1)
    assert (over["plan"][0], over["totals"]["reasons"]) == (sentence, {"NAT_GATEWAY": 2, "UNRESOLVED_EGRESS": 2})


# --- hostile input ---------------------------------------------------------------------------------------------------

SECRET = "correct-horse-battery-staple"  # what must not be printed


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "another format": lambda plan: plan.update(format_version="2.0"),
    "no format": lambda plan: plan.pop("format_version"),
    "a state": lambda plan: plan.pop("resource_changes"),
    "a failed plan": lambda plan: plan.update(errored=True),
    "no list": lambda plan: plan.update(resource_changes=SECRET),
    "a new action": lambda plan: plan["resource_changes"][0]["change"].update(actions=[SECRET]),
    "no address": lambda plan: plan["resource_changes"][0].update(address=7),
    "an address that controls the terminal": lambda plan: plan["resource_changes"][0].update(address="\x1b[2J"),
    "a module that is none": lambda plan: plan["resource_changes"][0].update(module_address=SECRET),
    "no configuration": lambda plan: plan.update(configuration=SECRET),
    "a provider with for_each": lambda plan: plan["configuration"]["provider_config"]["aws"]["expressions"].update(
        region={"references": ["each.key"]}
    ),
    "values of another type": lambda plan: plan["resource_changes"][0]["change"].update(after=[SECRET]),
    "a new resource without values": lambda plan: plan["resource_changes"][0]["change"].update(after=None),
    "a deleted resource without values": lambda plan: plan["resource_changes"][0]["change"].update(actions=["delete"]),
}


@pytest.mark.parametrize("fault", HOSTILE)
def test_a_document_that_is_no_plan_is_an_error(tmp_path: Path, fault: str) -> None:
    """The error names the file and what to do, and no value; nothing is printed to standard output."""
    plan = nat_route(network())
    HOSTILE[fault](plan.document)
    result = invoke(["scan", "--plan", str(plan.write(tmp_path))])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "plan.json: " in result.stderr
    assert SECRET not in result.stderr
    assert "unexpected" not in result.stderr


def test_secrets_are_never_printed(tmp_path: Path) -> None:
    """Only facts about the network are shown: no other values, no sensitive tags, and no variables."""
    plan = nat_route(network())
    plan.add("aws_db_instance.main", {"id": UNKNOWN, "password": SECRET, "arn": SECRET})
    plan.document["variables"] = {"password": {"value": SECRET}}
    subnet = plan.document["resource_changes"][1]["change"]
    subnet["after"]["tags_all"] = {"Name": SECRET, "owner": SECRET}
    subnet["after_sensitive"] = {"tags_all": {"Name": True, "owner": True}}
    file = str(plan.write(tmp_path))
    for form in Format:
        result = invoke(["scan", "--plan", file, "--format", form])
        assert result.exit_code == 1, result.output
        assert SECRET not in result.output, form


def test_values_of_any_shape_are_no_crash(tmp_path: Path) -> None:
    """A provider may change the type of an argument; what cannot be read is not known."""
    junk: list[Any] = [None, 0, "", "x", [], [1], [{}], {}, {"a": 1}, True]
    for number, value in enumerate(junk):
        plan = endpoint(nat_route(network()))
        for row in plan.document["resource_changes"]:
            change = row["change"]
            change["after"] = {
                **dict.fromkeys(("route", "cidr_block", "subnet_ids", "tags", "entry", "vpc_id"), value),
                **change["after"],
            }
            change["after_unknown"] = {**change["after_unknown"], "route": value, "tags": value}
        for block in plan.document["configuration"]["root_module"]["resources"]:
            block["expressions"] = {**block["expressions"], "route": value, "subnet_ids": value}
        file = plan.write(tmp_path, f"plan{number}.json")
        result = invoke(["scan", "--plan", str(file), "--format", "json"])
        assert "unexpected" not in result.stderr, (value, result.stderr)


RESOURCES = 10_000
MEASURED = """
import sys, time
from pathlib import Path
from express_path_cli.main import app
try:
    app(sys.argv[1:])
except SystemExit as done:
    status = int(done.code)
[peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(status, time.process_time(), int(peak.split()[1]) / 1024)
"""


def large(blocks: int) -> PlanBuilder:
    """Return a plan of 10,000 resources: each subnet of a block has a table, a NAT gateway, a route, and an association."""
    plan = PlanBuilder().add("aws_vpc.this", {"id": UNKNOWN})
    tags = {"Name": "private", "owner": "platform", "description": "x" * 200}
    for block in range(blocks):
        for number in range(RESOURCES // 5 // blocks):
            values = {"id": UNKNOWN, "vpc_id": UNKNOWN, "tags_all": tags}
            to_vpc, table = {"vpc_id": ["local.vpc_id"]}, [f"aws_route_table.t{block}", "count.index"]
            plan.add(f"aws_nat_gateway.n{block}[{number}]", {"id": UNKNOWN})
            plan.add(f"aws_subnet.s{block}[{number}]", values, to_vpc)
            plan.add(f"aws_route_table.t{block}[{number}]", {**values, "route": UNKNOWN}, to_vpc)
            plan.add(
                f"aws_route.r{block}[{number}]",
                {"destination_cidr_block": "0.0.0.0/0", "route_table_id": UNKNOWN, "nat_gateway_id": UNKNOWN},
                {"route_table_id": table, "nat_gateway_id": [f"aws_nat_gateway.n{block}", "count.index"]},
            )
            plan.add(
                f"aws_route_table_association.a{block}[{number}]",
                {"subnet_id": UNKNOWN, "route_table_id": UNKNOWN},
                {"subnet_id": [f"aws_subnet.s{block}", "count.index"], "route_table_id": table},
            )
    return plan


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is that of Linux")
@pytest.mark.parametrize("blocks", [1, 500])
def test_ten_thousand_resources_take_seconds(tmp_path: Path, blocks: int) -> None:
    """At most 5 seconds of processor time and 300 MiB, with all imports, also if any of 2,000 tables may be meant."""
    command = [
        "scan",
        "--plan",
        str(large(blocks).write(tmp_path)),
        "--output",
        str(tmp_path / "o.json"),
    ]
    alone = {name: value for name, value in environment().items() if not name.startswith("AWS_")} | NO_CREDENTIALS
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], env=alone, capture_output=True, text=True, check=True
    )
    status, seconds, mebibytes = done.stdout.split()
    assert status == "1", done.stderr
    assert float(seconds) < 5
    assert float(mebibytes) < 300
    assert json.loads((tmp_path / "o.json").read_text())["totals"]["reasons"] == {"NAT_GATEWAY": RESOURCES // 5}
