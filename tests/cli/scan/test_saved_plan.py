"""scan --from with the scan of a plan: every format is the one of the scan itself, and no command has an address."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from express_path_cli.findings.formats import Format
from tests.cli.findings.test_saved import changed, check_wrong_values
from tests.cli.scan.test_from import without_times
from tests.cli.scan.test_plan import ENDPOINT, MAIN, PRIVATE, UNRESOLVED, VPC, moved_subnet, replaced_table
from tests.cli.scan.test_template import TEMPLATE
from tests.cli.sources.change.test_families import in_main_table
from tests.support.command import invoke
from tests.support.plans import UNKNOWN, PlanBuilder, endpoint, nat_route, network

pytestmark = pytest.mark.usefixtures("no_credentials")


def mixed() -> PlanBuilder:
    """A new and an existing table of one VPC need the endpoint, which is replaced, so AWS has not given all ids yet."""
    values = {"id": UNKNOWN, "vpc_id": VPC, "vpc_endpoint_type": "Gateway", "route_table_ids": []}
    values["service_name"] = "com.amazonaws.us-east-1.s3express"
    return replaced_table().add(
        "aws_vpc_endpoint.this", values, before={**values, "id": ENDPOINT}, actions=["delete", "create"]
    )


PLANS: dict[str, Callable[[], PlanBuilder]] = {
    "new network": lambda: nat_route(network()),
    "new endpoint": lambda: endpoint(nat_route(network()), []),
    "new main table": lambda: in_main_table("default"),
    "undecided": lambda: nat_route(network()).add("aws_cloudformation_stack.network", {"id": UNKNOWN}),
    **UNRESOLVED,
    "nothing --example": PlanBuilder,
    "moved subnet --example": moved_subnet,
    "replaced table --example": replaced_table,
    "mixed --example": mixed,
    "fixed --example": lambda: PlanBuilder().add(
        "aws_vpc_endpoint_route_table_association.private", {"route_table_id": PRIVATE, "vpc_endpoint_id": ENDPOINT}
    ),
}
"""Plans, and the network that they are laid over."""


def given(name: str, folder: Path) -> list[str]:
    """Write a plan and its configuration into a folder, and return the options that judge it."""
    (folder / "main.tf").write_text(MAIN, encoding="utf-8")
    options = [word for word in name.split() if word == "--example"]
    return ["--plan", str(PLANS[name]().write(folder)), "--no-terraform", *options]


def check(options: list[str], saved: Path) -> None:
    """Check that output and exit status are those of the scan, with every format and whatever fails."""
    invoke(["scan", *options, "--output", str(saved)])
    choices = [*(["--format", chosen] for chosen in Format), ["--fail-on", "new"], ["--fail-on", "UNRESOLVED_EGRESS"]]
    for more in choices:
        now, earlier = invoke(["scan", *options, *more]), invoke(["scan", "--from", str(saved), *more])
        assert without_times(earlier.stdout) == without_times(now.stdout) != "", more
        assert earlier.exit_code == now.exit_code, more


@pytest.mark.parametrize("name", PLANS)
def test_each_format_is_that_of_the_scan(name: str, tmp_path: Path) -> None:
    """So the address, the line, what could not be decided, and what is new are in the file; no command has an address."""
    check(given(name, tmp_path), tmp_path / "scan.json")
    for change in json.loads((tmp_path / "scan.json").read_text(encoding="utf-8"))["changes"]:
        assert "aws_" not in change["command"]
        if change["endpoint"] and "aws_" in json.dumps([change["endpoint"], change["routeTableIds"]]):
            assert (change["command"], [*change["patches"]]) == ("", ["terraform"])
            assert not re.search(r' = "(aws_|module)', change["patches"]["terraform"])


def test_a_template_is_kept_with_its_lines(tmp_path: Path) -> None:
    """A new stack has no address of Terraform, but the names of its resources."""
    (tmp_path / "template.yaml").write_text(TEMPLATE, encoding="utf-8")
    check(["--plan", str(tmp_path / "template.yaml"), "--region", "us-east-1"], tmp_path / "scan.json")


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("subnets.0.address", None, "field address"),
        ("subnets.0.address", "a\u001b[2J", "field address"),
        ("subnets.0.line", "one", "field line"),
        ("undecided", "everything", "field undecided"),
        ("routeTables.0.after", {"LUCK": 1}, "field after"),
        ("routeTables.0.before", {"NAT_GATEWAY": "many"}, "field NAT_GATEWAY"),
        ("changes.0.endpoint.id", "vpce-1; reboot", ""),
    ],
)
def test_a_damaged_or_forged_file_is_refused(path: str, value: object, fault: str, tmp_path: Path) -> None:
    """The error names the field. What does not have the form of an id counts as an address, which no command has."""
    saved = tmp_path / "scan.json"
    invoke(["scan", *given("new network", tmp_path), "--output", str(saved)])
    document = json.loads(saved.read_text(encoding="utf-8"))
    changed(document, path, value)
    saved.write_text(json.dumps(document), encoding="utf-8")
    result = invoke(["scan", "--from", str(saved), "--format", "json"])
    assert (result.exit_code, bool(result.stdout)) == ((1, True) if not fault else (2, False))
    assert fault in result.stderr
    assert '"command":"aws' not in result.stdout


@pytest.mark.parametrize("name", ["new network", "mixed --example"])
def test_a_value_of_another_type_is_refused(name: str, tmp_path: Path) -> None:
    """At each level of the document, as of the scan of a network."""
    saved = tmp_path / "scan.json"
    invoke(["scan", *given(name, tmp_path), "--output", str(saved)])
    check_wrong_values(json.loads(saved.read_text(encoding="utf-8")), saved)


def test_a_plan_is_not_split(tmp_path: Path) -> None:
    """Tickets are for a network that exists."""
    saved = str(tmp_path / "scan.json")
    invoke(["scan", *given("nothing --example", tmp_path), "--output", saved])
    result = invoke(["scan", "--from", saved, "--split-by", "account", "--output", str(tmp_path / "owners")])
    assert result.exit_code == 2
    assert "--split-by and the scan of a plan cannot be used together" in result.stderr
