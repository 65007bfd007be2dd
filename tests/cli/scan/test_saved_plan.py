"""scan --from with the scan of a plan: every format is the one of the scan itself, and no command has an address."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.findings.output import Format
from tests.cli.scan.test_from import without_times
from tests.cli.scan.test_plan import (
    ANALYTICS,
    ENDPOINT,
    MAIN,
    PRIVATE,
    UNRESOLVED,
    VPC,
    moved_subnet,
    removed_endpoint,
    replaced_table,
    specific_route,
)
from tests.cli.scan.test_template import TEMPLATE
from tests.support.command import invoke
from tests.support.plans import UNKNOWN, PlanBuilder, endpoint, nat_route, network

pytestmark = pytest.mark.usefixtures("no_credentials")


def new_main_table() -> PlanBuilder:
    """The main table of a new VPC has a name that only another resource gives it, and leads to a NAT gateway."""
    main = {"default_route_table_id": ["aws_vpc.this.default_route_table_id", "aws_vpc.this"]}
    return (
        PlanBuilder()
        .add("aws_vpc.this", {"id": UNKNOWN, "default_route_table_id": UNKNOWN, "main_route_table_id": UNKNOWN})
        .add("aws_subnet.private", {"id": UNKNOWN, "vpc_id": UNKNOWN}, {"vpc_id": ["aws_vpc.this.id", "aws_vpc.this"]})
        .add("aws_nat_gateway.this", {"id": UNKNOWN, "subnet_id": "subnet-1", "connectivity_type": "public"})
        .add(
            "aws_default_route_table.main",
            {
                "id": UNKNOWN,
                "default_route_table_id": UNKNOWN,
                "vpc_id": UNKNOWN,
                "route": [{"cidr_block": "0.0.0.0/0", "nat_gateway_id": UNKNOWN}],
            },
            {**main, "route": [{"nat_gateway_id": ["aws_nat_gateway.this.id", "aws_nat_gateway.this"]}]},
        )
    )


def undecided() -> PlanBuilder:
    """A nested stack may change any path."""
    return nat_route(network()).add("aws_cloudformation_stack.network", {"id": UNKNOWN, "name": "network"})


def fixed() -> PlanBuilder:
    """The private table gets the endpoint."""
    values = {"route_table_id": PRIVATE, "vpc_endpoint_id": ENDPOINT}
    return PlanBuilder().add("aws_vpc_endpoint_route_table_association.private", values)


def replaced_endpoint() -> PlanBuilder:
    """The endpoint is replaced by one that lists no table, so its id is not known either."""
    before = {"id": ENDPOINT, "vpc_id": VPC, "vpc_endpoint_type": "Gateway", "route_table_ids": [ANALYTICS]}
    before["service_name"] = "com.amazonaws.us-east-1.s3express"
    after = {**before, "id": UNKNOWN, "route_table_ids": []}
    return PlanBuilder().add("aws_vpc_endpoint.this", after, before=before, actions=["delete", "create"])


ALONE: dict[str, Callable[[], PlanBuilder]] = {
    "new network": lambda: nat_route(network()),
    "new network with an endpoint": lambda: endpoint(nat_route(network()), []),
    "new main table": new_main_table,
    "undecided": undecided,
    **UNRESOLVED,
}
OVER_SAMPLE: dict[str, Callable[[], PlanBuilder]] = {
    "nothing": PlanBuilder,
    "removed endpoint": removed_endpoint,
    "replaced endpoint": replaced_endpoint,
    "specific route": specific_route,
    "moved subnet": moved_subnet,
    "replaced table": replaced_table,
    "fixed": fixed,
    "undecided over a network": undecided,
}


def given(name: str, folder: Path) -> list[str]:
    """Write a plan and its configuration into a folder, and return the options that judge it."""
    (folder / "main.tf").write_text(MAIN, encoding="utf-8")
    plan = {**ALONE, **OVER_SAMPLE}[name]().write(folder)
    return ["--plan", str(plan), "--no-terraform", *(["--example"] if name in OVER_SAMPLE else [])]


@pytest.mark.parametrize("name", [*ALONE, *OVER_SAMPLE])
def test_each_format_is_that_of_the_scan(name: str, tmp_path: Path) -> None:
    """Output and exit status are the same, with every format and whatever fails."""
    options, saved = given(name, tmp_path), str(tmp_path / "scan.json")
    invoke(["scan", *options, "--output", saved])
    for more in (
        *(["--format", chosen] for chosen in Format),
        ["--fail-on", "new"],
        ["--fail-on", "UNRESOLVED_EGRESS"],
        ["--show", "NON_COMPLIANT", "--format", "markdown"],
    ):
        now, earlier = invoke(["scan", *options, *more]), invoke(["scan", "--from", saved, *more])
        assert without_times(earlier.stdout) == without_times(now.stdout) != "", more
        assert earlier.exit_code == now.exit_code, more


def test_a_template_is_kept_with_its_lines(tmp_path: Path) -> None:
    """SARIF made from the file has the line of the resource that causes the finding."""
    template, saved = tmp_path / "template.yaml", tmp_path / "scan.json"
    template.write_text(TEMPLATE, encoding="utf-8")
    options = ["--plan", str(template), "--region", "us-east-1"]
    invoke(["scan", *options, "--output", str(saved)])
    shown = [invoke(["scan", *source, "--format", "sarif"]).stdout for source in (options, ["--from", str(saved)])]
    assert without_times(shown[0]) == without_times(shown[1])
    places = [row["locations"][0]["physicalLocation"] for row in json.loads(shown[1])["runs"][0]["results"]]
    assert "AppRoute:" in [TEMPLATE.splitlines()[place["region"]["startLine"] - 1].strip() for place in places]


@pytest.mark.parametrize("name", [*ALONE, *OVER_SAMPLE])
def test_what_has_no_id_yet_is_changed_in_code(name: str, tmp_path: Path) -> None:
    """No command has an address, and only Terraform's code refers to it."""
    shown = invoke(["scan", *given(name, tmp_path), "--format", "json"]).stdout
    for change in json.loads(shown)["changes"]:
        assert "aws_" not in change["command"]
        if change["endpoint"] and "aws_" in json.dumps([change["endpoint"], change["routeTableIds"]]):
            assert (change["command"], [*change["patches"]]) == ("", ["terraform"])
            assert not re.search(r' = "(aws_|module)', change["patches"]["terraform"])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda found: found["subnets"][0].update(address=None), "field address"),
        (lambda found: found["subnets"][0].update(address="a\u001b[2J"), "field address"),
        (lambda found: found["subnets"][0].update(changedBy="aws_route.nat"), "field changedBy"),
        (lambda found: found["subnets"][0].update(line="one"), "field line"),
        (lambda found: found.update(undecided="everything"), "field undecided"),
        (lambda found: found["routeTables"][0].update(after={"LUCK": 1}), "field after"),
        (lambda found: found["routeTables"][0].update(before={"NAT_GATEWAY": "many"}), "field NAT_GATEWAY"),
        (lambda found: found["subnets"].append(found["subnets"][0]), "a subnet that is listed once"),
    ],
)
def test_a_damaged_file_is_refused(change: Callable[[Any], object], fault: str, tmp_path: Path) -> None:
    """The error names the field."""
    saved = tmp_path / "scan.json"
    invoke(["scan", *given("new network", tmp_path), "--output", str(saved)])
    document = json.loads(saved.read_text(encoding="utf-8"))
    change(document)
    saved.write_text(json.dumps(document), encoding="utf-8")
    result = invoke(["scan", "--from", str(saved)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr


def test_a_forged_id_is_in_no_command(tmp_path: Path) -> None:
    """What does not have the form of an id counts as an address, and a change with one has no command."""
    saved = tmp_path / "scan.json"
    invoke(["scan", *given("removed endpoint", tmp_path), "--output", str(saved)])
    document = json.loads(saved.read_text(encoding="utf-8"))
    assert "command" in document["changes"][0]
    document["changes"][0]["endpoint"]["id"] = "vpce-1; reboot"
    saved.write_text(json.dumps(document), encoding="utf-8")
    for form in Format:
        shown = invoke(["scan", "--from", str(saved), "--format", form]).stdout
        assert "endpoint-id vpce-1; reboot" not in shown
        assert "vpce-1; reboot --" not in shown


def test_a_plan_is_not_split(tmp_path: Path) -> None:
    """Tickets are for a network that exists."""
    saved = str(tmp_path / "scan.json")
    invoke(["scan", *given("nothing", tmp_path), "--output", saved])
    result = invoke(["scan", "--from", saved, "--split-by", "account", "--output", str(tmp_path / "owners")])
    assert result.exit_code == 2
    assert "--split-by and the scan of a plan cannot be used together" in result.stderr
