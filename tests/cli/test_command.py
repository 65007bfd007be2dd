"""The command itself: its help, its options, its exit statuses, and the table for people."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from express_path.domain.verdict.parameters import PARAMETERS
from tests.support.command import invoke
from tests.support.scenarios import dump_of

COMMAND = Path(sys.executable).with_name("express-path")
COMPLIANT = str(dump_of("gateway-endpoint"))
NAT = str(dump_of("nat-gateway-zonal"))


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command as a process of its own."""
    return subprocess.run(
        [COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "COLUMNS": "120", **environment},
    )


def test_command_is_installed() -> None:
    """The environment has the command, and it tells what it is for."""
    result = run("--help")
    assert result.returncode == 0
    assert "Find subnets that reach S3 Express One Zone through a NAT" in " ".join(result.stdout.split())
    assert {"scan", "collect"} <= set(result.stdout.split())


def test_without_arguments_it_helps() -> None:
    """The bare command explains itself and fails, as nothing was done."""
    result = invoke([])
    assert result.exit_code == 2
    assert "Usage" in result.output


@pytest.mark.parametrize(
    ("recording", "status", "said"),
    [(COMPLIANT, 0, "0 NON_COMPLIANT"), (NAT, 1, "1 NON_COMPLIANT"), ("/nowhere", 2, "")],
)
def test_exit_status_tells_what_was_found(recording: str, status: int, said: str) -> None:
    """0 nothing is NON_COMPLIANT, 1 something is, 2 could not tell; as a process as well as in process."""
    result = run("scan", "--from-dump", recording)
    assert (result.returncode, invoke(["scan", "--from-dump", recording]).exit_code) == (status, status)
    assert said in result.stdout
    assert bool(result.stderr) is (status == 2)


def test_table_is_the_default() -> None:
    """For people: the VPC, each subnet with verdict, reason, path and table, and a sentence at the end."""
    out = run("scan", "--from-dump", NAT).stdout
    [row] = [
        subnet
        for subnet in json.loads(invoke(["scan", "--from-dump", NAT, "--format", "json"]).stdout)["subnets"]
        if subnet["compliance"] == "NON_COMPLIANT"
    ]
    for part in (row["vpcId"], row["accountId"], row["region"], row["subnetId"], row["routeTableId"]):
        assert part in out
    for hop in row["path"]:
        assert f"{hop['destination']} -> {hop['id']}" in out
    assert "NON_COMPLIANT" in out
    assert row["reason"] in out
    assert out.splitlines()[-1].endswith("NOT_APPLICABLE")


def test_table_of_a_verdict_without_path_shows_why() -> None:
    """Where there is no path, the annotation stands in its place."""
    out = " ".join(run("scan", "--from-dump", str(dump_of("isolated-subnet"))).stdout.split())
    assert "no route leads to S3 Express" in out


def test_table_of_nothing_is_a_sentence() -> None:
    """An account without subnets has none to show, and that is said."""
    result = run("scan", "--from-dump", str(dump_of("vpc-without-subnets")))
    assert result.returncode == 0
    assert "0 subnets" in result.stdout


def test_ids_are_whole_in_narrow_terminals() -> None:
    """However narrow the terminal, an id can be copied in one piece."""
    [row, *_] = json.loads(invoke(["scan", "--from-dump", NAT, "--format", "json"]).stdout)["subnets"]
    assert row["subnetId"] in run("scan", "--from-dump", NAT, COLUMNS="60").stdout


def test_hops_are_whole_in_80_columns() -> None:
    """In the narrowest of usual terminals each hop, with its destination, has a line of its own."""
    dump = str(dump_of("transit-gateway-over-two-accounts"))
    lines = [line.rstrip() for line in run("scan", "--from-dump", dump, COLUMNS="80").stdout.splitlines()]
    rows = json.loads(invoke(["scan", "--from-dump", dump, "--format", "json"]).stdout)["subnets"]
    hops = [f"{hop['destination']} -> {hop['id']}" for row in rows for hop in row["path"]]
    assert "TRANSIT_GATEWAY_ATTACHMENT" in {hop["kind"] for row in rows for hop in row["path"]}
    assert [hop for hop in hops if not any(line.endswith(f" {hop}") for line in lines)] == []


def test_no_colours_where_nobody_sees_them() -> None:
    """Output into a file or a pipe is plain text."""
    assert "\x1b" not in run("scan", "--from-dump", NAT).stdout


def test_parameters_may_be_repeated() -> None:
    """Each --parameter adds one; the last verdict shows that both count."""
    public = str(dump_of("public-subnet"))
    strict = ["--parameter", "publicSubnets=NON_COMPLIANT"]
    assert invoke(["scan", "--from-dump", public]).exit_code == 0
    assert invoke(["scan", "--from-dump", public, *strict]).exit_code == 1
    assert invoke(["scan", "--from-dump", public, *strict, "--parameter", "vpcIds=vpc-0"]).exit_code == 0


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_of_the_rule_is_taken(name: str) -> None:
    """The command knows the rule's parameters by their names: a bad value of each is named."""
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
    """A parameter that is misspelt, has a bad value or comes twice: status 2, and the error says what is allowed."""
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
    """A missing value, an unknown one, an unknown format or command: status 2, in one line that leads to the help."""
    result = invoke(arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("express-path: ")
    assert line.endswith("--help shows the options)")


def test_json_is_pure() -> None:
    """The JSON format prints one document and nothing else."""
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
    ]
