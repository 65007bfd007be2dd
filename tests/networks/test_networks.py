"""Every network gets the expected verdicts, and mistakes in network files are errors.

The commands' tests build on this: what a scan prints of a verdict is shown here, for every reason and with each parameter.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from botocore.model import ListShape, MapShape, Shape, StructureShape
from botocore.session import get_session

from tests.cli.collect.test_collect import OPTIONAL, REQUIRED
from tests.support import command, scenarios
from tests.support.network_files import read, write_dump
from tests.support.scenarios import EXPECTED, NETWORKS, RECORDINGS, Expected, Run, dump_of

# The file or folder of a dump, and the service and operation whose output it holds.
CALLS = {name.rstrip("/"): call for name, call in (REQUIRED | OPTIONAL).items() if name != "identity.json"}


EXAMPLE = re.search(r"```yaml\n(.*?)```", (NETWORKS / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def outputs() -> dict[str, Shape | None]:
    """Return the output shape of each call in a dump, from botocore's models."""
    models = {service: get_session().get_service_model(service) for service in ("ec2", "network-firewall", "ram", "s3")}
    return {
        file: models[service].operation_model(operation).output_shape for file, (service, operation) in CALLS.items()
    }


@pytest.mark.parametrize("name", scenarios.names())
def test_scenario(name: str) -> None:
    """A scan gives the expected rows and exit status for each set of parameters."""
    for run in scenarios.runs(name):
        result = command.scan(dump_of(name), run.parameters)
        assert result.exit_code == run.exit_status, result.stderr
        assert result.stderr == ""
        _check(json.loads(result.stdout), run)


def _check(document: dict[str, Any], run: Run) -> None:
    rows = document["subnets"]
    order = [(row["accountId"], row["region"], row["subnetId"]) for row in rows]
    assert order == sorted(order)
    several = any("/" in key for key in run.subnets)
    by_key = {f"{row['accountId']}/{row['subnetId']}" if several else row["subnetId"]: row for row in rows}
    assert len(by_key) == len(rows)
    verdicts = {key: (row["compliance"], row["reason"], row["routeTableId"]) for key, row in by_key.items()}
    assert verdicts == {key: tuple(expected[:3]) for key, expected in run.subnets.items()}, run.parameters
    for key, row in by_key.items():
        _check_evidence(row, run.subnets[key])


def _check_evidence(row: dict[str, Any], expected: Expected) -> None:
    assert 1 <= len(row["annotation"]) <= 256
    words = set(re.split(r"[\s,;()]+", row["annotation"]))
    named = [route for route in expected.routes if words.issuperset(route)]
    assert named or not expected.routes, f"{row['annotation']!r} names none of {expected.routes}"
    hops = iter([hop["id"] for hop in row["path"]])
    assert all(hop_id in hops for hop_id in expected.through), f"{row['path']} misses {expected.through}"


def test_there_are_enough_scenarios() -> None:
    """There are at least 220 scenarios, 12 of them recordings, so a lost file is noticed."""
    assert len(scenarios.names()) >= 220
    assert len(list(RECORDINGS.iterdir())) >= 12


def test_every_reason_is_in_a_scenario() -> None:
    """Each reason except DELETED, which needs a deleted subnet, is the verdict of a scenario."""
    reasons = {
        expected.reason
        for name in scenarios.names()
        for run in scenarios.runs(name)
        for expected in run.subnets.values()
    }
    assert reasons == {
        "PARTLY_NAT",
        "NAT_GATEWAY",
        "NAT_INSTANCE",
        "NAT_BEHIND_APPLIANCE",
        "NAT_BEYOND_TRANSIT_GATEWAY",
        "UNRESOLVED_EGRESS",
        "INTERNET_GATEWAY",
        "ENDPOINT",
        "DROPPED",
        "NO_ROUTE",
        "NOT_OWNED",
        "EXCLUDED",
        "NO_DIRECTORY_BUCKETS",
        "SERVICE_NOT_OFFERED",
    }


def test_a_recording_without_an_expectation_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording without expected.yaml raises an error instead of passing."""
    shutil.copytree(RECORDINGS / "gateway-endpoint", tmp_path / "new")
    (tmp_path / "new" / EXPECTED).unlink()
    monkeypatch.setattr(scenarios, "RECORDINGS", tmp_path)
    with pytest.raises(FileNotFoundError):
        list(scenarios.runs("new"))


@pytest.mark.parametrize("name", scenarios.names())
def test_a_dump_is_what_the_aws_cli_prints(name: str, outputs: dict[str, Shape | None]) -> None:
    """Every field in a scenario's dump is in botocore's model of that call and has the right type."""
    files = [file for file in dump_of(name).rglob("*.json") if file.name != "identity.json"]
    assert files
    for file in files:
        shape = outputs[file.name if file.name in outputs else file.parent.name]
        if file.stat().st_size:
            _check_shape(json.loads(file.read_text(encoding="utf-8")), shape, file.name)


def _check_shape(value: object, shape: Shape | None, where: str) -> None:
    if isinstance(shape, StructureShape):
        assert isinstance(value, dict), where
        assert set(value) <= set(shape.members), where
        for field, member in value.items():
            _check_shape(member, shape.members[field], f"{where}.{field}")
    elif isinstance(shape, MapShape):
        assert isinstance(value, dict), where
        for member in value.values():
            _check_shape(member, shape.value, where)
    elif isinstance(shape, ListShape):
        assert isinstance(value, list), where
        for member in value:
            _check_shape(member, shape.member, where)
    else:
        assert shape, where
        types = {"boolean": bool, "integer": int, "long": int}
        assert type(value) is types.get(shape.type_name, str), where


@pytest.mark.parametrize(("name", "is_said"), [("nat64-beside-the-endpoint", True), ("one-family-through-nat", False)])
def test_annotation_says_where_ipv6_is_at_fault(name: str, is_said: bool) -> None:
    """If only one address family crosses a NAT, the annotation names IPv6, or no family for IPv4."""
    rows = json.loads(command.scan(dump_of(name)).stdout)["subnets"]
    partly = [row["annotation"] for row in rows if row["reason"] == "PARTLY_NAT"]
    assert ["(IPv6)" in annotation for annotation in partly] == [is_said]


def test_the_example_of_the_readme_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in the README gets the verdicts that the README shows."""
    assert EXAMPLE
    monkeypatch.setattr(scenarios, "NETWORKS", tmp_path)
    (tmp_path / "example.yaml").write_text(EXAMPLE[1], encoding="utf-8")
    (run,) = scenarios.runs("example")
    rows = json.loads(command.scan(dump_of("example")).stdout)["subnets"]
    assert {row["subnetId"]: row["reason"] for row in rows} == {
        subnet_id: expected.reason for subnet_id, expected in run.subnets.items()
    }


@pytest.mark.parametrize(
    "text",
    [
        "rtb-a: {main: true}\nrtb-a: {}",
        "subnet-{1..2}: {}\nsubnet-2: {}",
        "subnet-{1..2}: {cidr: '10.0.{1..3}.0/24'}",
    ],
    ids=["key twice", "key of a range twice", "ranges of different lengths"],
)
def test_duplicate_keys_are_refused(tmp_path: Path, text: str) -> None:
    """YAML would keep the last of two equal keys and silently lose a resource."""
    (tmp_path / "network.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"repeat|numbers"):
        read(tmp_path / "network.yaml")


@pytest.mark.parametrize("route", ["0.0.0.0/0 nat-a", "0.0.0.0/0 -> nat-a lost", "0.0.0.0/0 -> eni-a of nat-a"])
def test_a_route_that_cannot_be_read_is_refused(tmp_path: Path, route: str) -> None:
    """A misspelled route would not be the one that the network is about."""
    with pytest.raises(ValueError, match="is no route such as"):
        write_dump(tmp_path, {"vpcs": {"vpc-app": {"route_tables": {"rtb-a": {"routes": [route]}}}}})
