"""What `explain` adds: NAT/Proxy firewalls, and what the source leaves out."""

import json
from pathlib import Path
from shutil import copytree

from sandbox.networks import Account, BehindFirewall, BehindNatGateway
from sandbox.server import Sandbox
from tests.support.command import invoke
from tests.support.scenarios import dump_of


def notes(*arguments: str) -> list[str]:
    """Return the notes of an explanation."""
    found: list[str] = json.loads(invoke(["explain", *arguments, "--format", "json"]).stdout)["notes"]
    return found


def test_a_proxy_firewall_is_mentioned(sandbox: Sandbox) -> None:
    """Routes do not show explicit proxies, so the VPC's NAT/Proxy firewalls are named, with NO_PROXY."""
    account = Account(sandbox)
    [note] = notes(BehindFirewall(account, nat_scope="NAT_NONE").subnet)
    assert "is a NAT/Proxy firewall" in note
    assert "NO_PROXY" in note
    assert notes(BehindFirewall(account).subnet) == []


def test_a_proxy_firewall_is_known_by_its_nat_gateway(tmp_path: Path) -> None:
    """DescribeNatGateways shows the firewall, although no path meets its endpoint."""
    dump = copytree(dump_of("nat-gateway-zonal"), tmp_path / "dump")
    file = dump / "nat-gateways.json"
    described = json.loads(file.read_text(encoding="utf-8"))
    arn = "arn:aws:network-firewall:us-east-1:123456789012:firewall/proxy"
    described["NatGateways"][0]["AttachedAppliances"] = [{"Type": "network-firewall-proxy", "ApplianceArn": arn}]
    file.write_text(json.dumps(described), encoding="utf-8")
    row = next(
        row for row in json.loads(invoke(["scan", "--from-dump", str(dump), "--format", "json"]).stdout)["subnets"]
    )
    assert [note.split()[0] for note in notes(row["subnetId"], "--from-dump", str(dump))] == ["proxy"]


def test_a_live_explanation_reads_the_nat_gateways_of_the_vpc(sandbox: Sandbox) -> None:
    """The capacity names the kind of NAT gateway, which one VPC's verdict does not need."""
    place = BehindNatGateway(Account(sandbox))
    shown = invoke(["explain", place.subnet]).stdout
    assert "zonal public NAT gateway" in " ".join(shown.split())
    assert len(sandbox.calls.of("ec2", "DescribeNatGateways")) == 1


def test_an_incomplete_dump_is_noted(tmp_path: Path) -> None:
    """An endpoint names a route table that the dump does not list."""
    dump = copytree(dump_of("gateway-endpoint"), tmp_path / "dump")
    file = dump / "vpc-endpoints.json"
    described = json.loads(file.read_text(encoding="utf-8"))
    described["VpcEndpoints"][0]["RouteTableIds"].append("rtb-0123456789abcdef0")
    file.write_text(json.dumps(described), encoding="utf-8")
    rows = json.loads(invoke(["scan", "--from-dump", str(dump), "--format", "json"]).stdout)["subnets"]
    subnet = next(row["subnetId"] for row in rows if row["reason"] == "ENDPOINT")
    [note] = notes(subnet, "--from-dump", str(dump))
    assert "rtb-0123456789abcdef0, which is not listed" in note
    assert note.split()[0] in invoke(["explain", subnet, "--from-dump", str(dump)]).stdout
