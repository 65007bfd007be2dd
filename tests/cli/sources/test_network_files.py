"""Network files: their dumps contain what they describe, and mistakes are errors."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import scenarios
from tests.support.command import scan
from tests.support.network_files import read, spread, write_dump
from tests.support.scenarios import NETWORKS, dump_of, dump_with_aws_ids

EXAMPLE = re.search(r"```yaml\n(.*?)```", (NETWORKS / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def written(tmp_path: Path, text: str) -> dict[str, Any]:
    """Return the dump of a network file with this text."""
    (tmp_path / "network.yaml").write_text(text, encoding="utf-8")
    return read(tmp_path / "network.yaml")


def vpc_with(**options: object) -> dict[str, Any]:
    """Return a network of one VPC with these options."""
    return {"vpcs": {"vpc-app": options}}


def test_the_example_of_the_readme_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in the README gets the verdicts that the README shows."""
    assert EXAMPLE
    monkeypatch.setattr(scenarios, "NETWORKS", tmp_path)
    (tmp_path / "example.yaml").write_text(EXAMPLE[1], encoding="utf-8")
    (run,) = scenarios.runs("example")
    rows = json.loads(scan(dump_of("example")).stdout)["subnets"]
    assert {row["subnetId"]: row["reason"] for row in rows} == {
        subnet_id: expected.reason for subnet_id, expected in run.subnets.items()
    }


def test_an_expanded_dump_has_the_fields_of_a_recording() -> None:
    """A network file's dump has every field that the AWS CLI prints, so both have the same format."""
    recording, expanded = dump_of("gateway-endpoint"), dump_of("endpoint-on-the-wrong-table")
    names = {file.name for file in expanded.rglob("*.json")}
    assert names == {file.name for file in recording.rglob("*.json")}
    for name in names:
        recorded, written_ = (json.loads((dump / name).read_text(encoding="utf-8")) for dump in (recording, expanded))
        assert fields(written_) == fields(recorded), name


def fields(value: object, path: str = "") -> set[str]:
    """Return the path of every field in a JSON document."""
    if isinstance(value, Mapping):
        return {path, *(name for key, member in value.items() for name in fields(member, f"{path}.{key}"))}
    if isinstance(value, list):
        return {path, *(name for member in value for name in fields(member, path))}
    return {path}


def test_ids_as_long_as_awss_change_nothing_else() -> None:
    """A dump with AWS's 17-digit ids gets the same verdicts, and no other scenario has its ids."""
    name, other = "transit-gateway-central-egress", "transit-gateway-loop"
    reasons = [
        sorted(row["reason"] for row in json.loads(scan(dump).stdout)["subnets"])
        for dump in (dump_of(name), dump_with_aws_ids(name))
    ]
    assert reasons[0] == reasons[1]
    ids, others = (
        {row["subnetId"] for row in json.loads(scan(dump_with_aws_ids(scenario)).stdout)["subnets"]}
        for scenario in (name, other)
    )
    assert all(re.fullmatch(r"subnet-[0-9a-f]{17}", subnet_id) for subnet_id in ids)
    assert not ids & others


def test_a_range_is_expanded() -> None:
    """Ranges expand as in a shell, with leading zeros and steps; the first range changes slowest."""
    assert spread("subnet-{08..10}") == ["subnet-08", "subnet-09", "subnet-10"]
    assert spread("{1..7..3}") == ["1", "4", "7"]
    assert spread("10.{0..1}.{0..1}.0/24") == ["10.0.0.0/24", "10.0.1.0/24", "10.1.0.0/24", "10.1.1.0/24"]


def test_ranges_of_a_resource_advance_together(tmp_path: Path) -> None:
    """Each id of a range has its own options."""
    found = written(tmp_path, "subnet-{1..2}: {cidr: '10.0.{7..8}.0/24', zone: b}")
    assert found == {
        "subnet-1": {"cidr": "10.0.7.0/24", "zone": "b"},
        "subnet-2": {"cidr": "10.0.8.0/24", "zone": "b"},
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
    with pytest.raises(ValueError, match=r"repeat|numbers"):
        written(tmp_path, text)


@pytest.mark.parametrize(
    "network",
    [
        vpc_with(subnet={}),
        vpc_with(subnets={"subnet-a": {"cidr": "10.0.0.0/24", "dns46": True}}),
        vpc_with(route_tables={"rtb-a": {"route": []}}),
        vpc_with(nat_gateways={"nat-a": {"subnets": ["subnet-a"]}}),
        {"vpcs": {}, "transit_gateway": {"id": "tgw-a", "attachments": {"tgw-attach-a": {"vpcs": "vpc-a"}}}},
    ],
    ids=["VPC", "subnet", "route table", "NAT gateway", "attachment"],
)
def test_an_unknown_option_is_refused(tmp_path: Path, network: dict[str, Any]) -> None:
    """With a misspelled option, the scenario would test the default instead."""
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        write_dump(tmp_path, network)


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    """Unknown sections are refused, as is a network next to folders."""
    with pytest.raises(KeyError, match="interfaces"):
        write_dump(tmp_path, {"vpcs": {}, "interfaces": {}})


@pytest.mark.parametrize("route", ["0.0.0.0/0 nat-a", "0.0.0.0/0 -> nat-a lost", "0.0.0.0/0 -> eni-a of nat-a"])
def test_a_route_that_cannot_be_read_is_refused(tmp_path: Path, route: str) -> None:
    """The error says what a route looks like."""
    with pytest.raises(ValueError, match="is no route such as"):
        write_dump(tmp_path, vpc_with(route_tables={"rtb-a": {"routes": [route]}}))


@pytest.mark.parametrize("route", ["0.0.0.0/0 tgw-attach-a", "0.0.0.0/0 -> tgw-attach-a static"])
def test_a_transit_gateway_route_that_cannot_be_read_is_refused(tmp_path: Path, route: str) -> None:
    """The error says what a transit gateway route looks like."""
    attachments = {"tgw-attach-a": {"vpc": "vpc-a", "subnets": ["subnet-a"]}}
    gateway = {"id": "tgw-a", "attachments": attachments, "route_tables": {"tgw-rtb-a": [route]}}
    with pytest.raises(ValueError, match="is no route such as"):
        write_dump(tmp_path, {"vpcs": {}, "transit_gateway": gateway})
