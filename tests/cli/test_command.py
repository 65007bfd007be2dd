"""The command's help, options, and exit statuses, and the table."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from express_path.domain.verdict.parameters import PARAMETERS
from tests.support import processes
from tests.support.command import invoke
from tests.support.scenarios import dump_of

COMMAND = Path(sys.executable).with_name("express-path")
COMPLIANT = str(dump_of("gateway-endpoint"))
NAT = str(dump_of("nat-gateway-zonal"))


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in its own process."""
    env = {"PATH": os.environ["PATH"], "COLUMNS": "120", **environment}
    line = [*processes.command(env), *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=env)


def test_command_is_installed() -> None:
    """The environment has the command, and its help describes it."""
    result = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert "Find subnets that reach S3 Express One Zone through a NAT" in " ".join(result.stdout.split())
    assert {"scan", "collect"} <= set(result.stdout.split())


def test_without_arguments_it_helps() -> None:
    """Without arguments, the command prints its help and fails."""
    result = invoke([])
    assert result.exit_code == 2
    assert "Usage" in result.output


@pytest.mark.parametrize(
    ("dump", "status", "expected_text"),
    [(COMPLIANT, 0, "0 NON_COMPLIANT"), (NAT, 1, "1 NON_COMPLIANT"), ("/nowhere", 2, "")],
)
def test_exit_status_tells_what_was_found(dump: str, status: int, expected_text: str) -> None:
    """The status is 0 without and 1 with noncompliant subnets, and 2 on errors, also in a new process."""
    result = run("scan", "--from-dump", dump)
    assert (result.returncode, invoke(["scan", "--from-dump", dump]).exit_code) == (status, status)
    assert expected_text in result.stdout
    assert bool(result.stderr) is (status == 2)


def test_table_is_the_default() -> None:
    """Totals, the route table with its reason and NAT, the remedy, and commands that run as they are printed."""
    out = run("scan", "--from-dump", NAT).stdout
    [row] = [
        subnet
        for subnet in json.loads(invoke(["scan", "--from-dump", NAT, "--format", "json"]).stdout)["subnets"]
        if subnet["compliance"] == "NON_COMPLIANT"
    ]
    assert out.startswith("2 subnets: 1 NON_COMPLIANT, 1 COMPLIANT, 0 NOT_APPLICABLE\n\nNON_COMPLIANT\n")
    [line] = [line for line in out.splitlines() if line.startswith("      1  ")]
    for part in (
        row["vpcId"],
        row["accountId"],
        row["region"],
        row["routeTableId"],
        row["reason"],
        row["path"][-1]["id"],
    ):
        assert f" {part}" in line
    assert "1 of 2 subnets reaches S3 Express through a NAT (1 route table)." in out
    commands = [shlex.split(line) for line in out.splitlines() if line.startswith("  express-path ")]
    assert [command[1] for command in commands] == ["scan", "explain"]
    for command in commands:
        assert row["subnetId"] in run(*command[1:]).stdout


def test_details_of_a_verdict_without_path_show_why() -> None:
    """The annotation is shown if there is no path."""
    out = run("scan", "--details", "--from-dump", str(dump_of("isolated-subnet"))).stdout
    assert "no route leads to S3 Express" in out


def test_table_of_nothing_is_a_sentence() -> None:
    """For an account without subnets, the summary says so."""
    result = run("scan", "--from-dump", str(dump_of("vpc-without-subnets")))
    assert result.returncode == 0
    assert "0 subnets" in result.stdout


def test_no_colors_in_files_and_pipes() -> None:
    """Output to a file or a pipe is plain text."""
    assert "\x1b" not in run("scan", "--from-dump", NAT).stdout


def test_parameters_can_be_repeated() -> None:
    """Each --parameter adds one; the verdict shows that both have an effect."""
    public = str(dump_of("public-subnet"))
    strict = ["--parameter", "publicSubnets=NON_COMPLIANT"]
    assert invoke(["scan", "--from-dump", public]).exit_code == 0
    assert invoke(["scan", "--from-dump", public, *strict]).exit_code == 1
    assert invoke(["scan", "--from-dump", public, *strict, "--parameter", "vpcIds=vpc-0"]).exit_code == 0


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_of_the_rule_is_accepted(name: str) -> None:
    """The command accepts every rule parameter and names it if its value is invalid."""
    result = invoke(["scan", "--from-dump", COMPLIANT, "--parameter", f"{name}="])
    assert (result.exit_code, result.stdout) == (2, "")
    assert name in result.stderr


@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        (["scop=ALL"], "scop"),
        (["scope"], "name=value"),
        (["=ALL"], "one of the names"),
        (["scope=all"], "ALL, DIRECTORY_BUCKETS"),
        (["scope=ALL", "scope=ALL"], "given once"),
    ],
)
def test_wrong_parameters_are_refused(pairs: list[str], named: str) -> None:
    """An unknown, invalid, or repeated parameter gives status 2 and an error with the allowed values."""
    options = [part for pair in pairs for part in ("--parameter", pair)]
    result = invoke(["scan", "--from-dump", NAT, *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert named in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan", "--from-dump"],
        ["scan", "--from-dump", COMPLIANT, "--format", "xml"],
        ["scan", "--dump", COMPLIANT],
        ["collect"],
        ["heal"],
        ["cure"],
        ["--verbose"],
    ],
)
def test_wrong_usage_is_refused(arguments: list[str]) -> None:
    """A missing or unknown value, format, or command gives status 2 and one line that refers to the help."""
    result = invoke(arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("express-path: ")
    assert line.endswith("--help shows the options)")


def test_json_is_pure() -> None:
    """The JSON format prints only the document."""
    result = run("scan", "--from-dump", NAT, "--format", "json")
    document = json.loads(result.stdout)
    assert document["schemaVersion"] == 1
    assert list(document["subnets"][0]) == [
        "accountId",
        "region",
        "vpcId",
        "subnetId",
        "availabilityZoneId",
        "routeTableId",
        "compliance",
        "reason",
        "annotation",
        "path",
        "names",
        "tags",
    ]
