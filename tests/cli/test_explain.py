"""express-path explain: the path route by route, what loses and why, and the heal with its patches."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.recordings import FOLDER, invoke, scan

RECORDINGS = [
    "equal-static-route-beats-the-prefix-list",
    "advertised-equal-route-loses",
    "customer-lists-overlap",
    "customer-list-unreadable",
    "dns64-without-a-nat",
    "main-table-implicit",
    "more-specific-route-to-nat",
    "nat-instance-beside-the-endpoint",
    "network-firewall-then-nat",
    "shared-subnet-beside-its-owner",
    "transit-gateway-central-egress",
    "transit-gateway-loop",
    "two-accounts",
]


def told(subnet_id: str, *options: str) -> dict[str, Any]:
    """What the command tells about a subnet, as JSON."""
    result = invoke(["explain", subnet_id, "--format", "json", *options])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def flagged(recording: str) -> list[str]:
    """The subnets of a recording that cross a NAT."""
    rows = json.loads(scan(FOLDER / recording).stdout)["subnets"]
    return [row["subnetId"] for row in rows if row["compliance"] == "NON_COMPLIANT"]


def only(recording: str) -> str:
    """The one subnet of a recording that crosses a NAT."""
    [subnet_id] = flagged(recording)
    return subnet_id


def from_dump(recording: str, subnet_id: str | None = None) -> dict[str, Any]:
    """What is told about a subnet of a recording: the one that crosses a NAT unless another is named."""
    return told(subnet_id or only(recording), "--from-dump", str(FOLDER / recording))


@pytest.mark.parametrize("recording", RECORDINGS)
def test_verdict_is_the_scans_and_its_routes_are_among_the_winners(recording: str) -> None:
    """Every subnet's explanation has the scan's verdict, and each hop's route wins in some table on the way."""
    dump = FOLDER / recording
    for row in json.loads(scan(dump).stdout)["subnets"]:
        if row["reason"] == "NOT_OWNED":
            continue
        found = told(row["subnetId"], "--from-dump", str(dump), "--region", row["region"])
        assert {name: found[name] for name in row if name in found} == {
            name: row[name] for name in row if name in found
        }
        winners = [
            (route["destination"], route["target"])
            for contest in found["contests"]
            for route in contest["routes"]
            if route["wins"] or route["mayWin"]
        ]
        for hop in row["path"]:
            assert hop["destination"] in [destination for destination, _ in winners]
        assert all(route["why"] for contest in found["contests"] for route in contest["routes"])


def reasons_of(found: dict[str, Any]) -> dict[str, set[str]]:
    """Why the routes of the subnet's own table won or lost, by target."""
    reasons: dict[str, set[str]] = {}
    for contest in found["contests"]:
        if contest["routeTableId"] == found["routeTableId"]:
            for route in contest["routes"]:
                reasons.setdefault(route["target"].split("-")[0], set()).add(route["why"].split(" -> ")[0])
    return reasons


def test_a_shorter_prefix_loses() -> None:
    """Beside a more specific route, the endpoint keeps the rest; the default route loses to both by its length."""
    found = from_dump("more-specific-route-to-nat")
    assert reasons_of(found) == {
        "vpce": {"decides", "decides the rest of 44.220.0.0/16"},
        "nat": {
            "decides 44.220.7.0/24",
            "its prefix is shorter than that of pl-0c2f61a4b98d7e035",
            "its prefix is shorter than that of 44.220.7.0/24",
        },
    }


def test_among_equal_prefixes_the_static_route_wins() -> None:
    """A prefix list's route loses to a static one of the same length, and it is said so."""
    found = from_dump("equal-static-route-beats-the-prefix-list")
    lost = [
        r["why"] for c in found["contests"] for r in c["routes"] if r["target"].startswith("vpce-") and not r["wins"]
    ]
    assert lost
    assert all("a static route goes before a prefix list's route" in why for why in lost)


def test_a_tie_is_told() -> None:
    """Two lists of one prefix: both win, and the explanation says that AWS picks one at random."""
    found = from_dump("customer-lists-overlap")
    ties = [r for c in found["contests"] for r in c["routes"] if "at random" in r["why"]]
    assert len({each["target"] for each in ties}) == 2
    assert all(each["wins"] for each in ties)


def words_of(recording: str, subnet_id: str, *options: str) -> str:
    """What is told as text about a subnet of a recording, in one line."""
    result = invoke(["explain", subnet_id, "--from-dump", str(FOLDER / recording), *options])
    assert result.exit_code == 0, result.stderr
    return " ".join(result.stdout.split())


def subnet_with(recording: str, reason: str) -> str:
    """The first subnet of a recording with that reason."""
    rows = json.loads(scan(FOLDER / recording).stdout)["subnets"]
    return next(str(row["subnetId"]) for row in rows if row["reason"] == reason)


@pytest.mark.parametrize(
    ("recording", "unknown", "how"),
    [
        ("customer-list-unreadable", "the prefix list's entries cannot be read", "grant the permission"),
        ("gateway-load-balancer-then-endpoint", "its appliance may translate traffic", "ask the appliance's owner"),
        ("transit-gateway-spoke-alone", "ec2:SearchTransitGatewayRoutes", "networkRoleArn"),
        ("transit-gateway-vpn-attachment", "it leaves through a vpn attachment", "ask the transit gateway's owner"),
        ("virtual-private-gateway", "a virtual private gateway", "ask the owner of the network behind it"),
        ("endpoint-pending", "the endpoint's state is pending", "aws ec2 describe-vpc-endpoints"),
        ("table-in-force-unreadable", "its route table", "grant the permission"),
    ],
)
def test_what_is_unknown_is_named_with_how_to_find_out(recording: str, unknown: str, how: str) -> None:
    """An unresolved path may cross a NAT, so it is never called free of one."""
    subnet_id = subnet_with(recording, "UNRESOLVED_EGRESS")
    text = words_of(recording, subnet_id)
    assert "no NAT" not in text
    for part in ("A heal would change nothing", "What is unknown: ", unknown, "How to find out: ", how):
        assert part in text
    flagged_text = words_of(recording, subnet_id, "--parameter", "unresolvedEgress=NON_COMPLIANT")
    annotation = from_dump(recording, subnet_id)["annotation"]
    assert flagged_text.count(annotation) == 1
    assert "blocked by NOT_A_NAT_PATH what to do:" in flagged_text
    assert "What is unknown: " in flagged_text


def test_a_list_that_cannot_be_read_may_win() -> None:
    """Its route did not lose: it may carry the traffic, and the fix is to grant the permission."""
    subnet_id = subnet_with("customer-list-unreadable", "UNRESOLVED_EGRESS")
    text = words_of("customer-list-unreadable", subnet_id)
    assert "may win pl-" in text
    assert "grant ec2:GetManagedPrefixListEntries" in text
    routes = [r for c in from_dump("customer-list-unreadable", subnet_id)["contests"] for r in c["routes"]]
    assert {(r["wins"], r["mayWin"]) for r in routes if "cannot be read" in r["why"]} == {(False, True)}


@pytest.mark.parametrize(
    ("recording", "why"),
    [
        ("customer-list-unreadable-same-target", "it leads where the winner leads"),
        ("customer-list-unreadable-blackhole", "it is a blackhole, which carries nothing"),
    ],
)
def test_a_list_that_cannot_be_read_and_changes_nothing_lost(recording: str, why: str) -> None:
    """It says why its entries do not matter."""
    rows = json.loads(scan(FOLDER / recording).stdout)["subnets"]
    told_of = [from_dump(recording, row["subnetId"]) for row in rows]
    routes = [route for each in told_of for contest in each["contests"] for route in contest["routes"]]
    assert {(route["wins"], route["mayWin"]) for route in routes if why in route["why"]} == {(False, False)}


def test_a_nat_gateway_that_is_gone_carries_nothing() -> None:
    """A blackhole's target has no capacity, and the fix is named."""
    recording = "nat-gateway-deleted-default-route-blackhole"
    subnet_id = subnet_with(recording, "DROPPED")
    assert from_dump(recording, subnet_id)["capacity"] == []
    text = words_of(recording, subnet_id)
    assert "Gbit/s" not in text
    assert "AWS drops the traffic, and an endpoint may not help: blackhole: its target no longer exists" in text


def test_nat64_names_both_fixes_once() -> None:
    """The plan is blocked by the route, not by each of the addresses; the fixes are DNS64 and the host names."""
    text = words_of("dual-stack-with-dns64", only("dual-stack-with-dns64"))
    assert text.count("blocked by WOULD_NOT_CURE") == 1
    for part in ("turn off DNS64", "dual-stack host names", "the verdict changes only when"):
        assert part in text


def test_every_table_on_the_way_is_shown() -> None:
    """Behind a firewall, the table of its subnet is shown too, with the route to the NAT."""
    dump = FOLDER / "network-firewall-then-nat"
    subnet = next(
        row["subnetId"] for row in json.loads(scan(dump).stdout)["subnets"] if row["reason"] == "NAT_BEHIND_APPLIANCE"
    )
    found = told(subnet, "--from-dump", str(dump))
    tables = [contest["routeTableId"] for contest in found["contests"]]
    assert tables[0] == found["routeTableId"]
    assert len(tables) == 2
    assert [r["target"][:4] for r in found["contests"][1]["routes"] if r["wins"]] == ["nat-"]


def test_nat_instances_table_is_shown_without_endpoints() -> None:
    """What an instance translates leaves by its own subnet's table, whose endpoint route takes no part."""
    found = from_dump("nat-instance-in-a-subnet-with-the-endpoint")
    beyond = [each for each in found["contests"] if each["routeTableId"] != found["routeTableId"]]
    assert [[r["target"][:3] for r in each["routes"] if r["wins"]] for each in beyond] == [["igw"]]
    assert not [r for each in beyond for r in each["routes"] if r["target"].startswith("vpce-")]


def test_main_table_is_called_so() -> None:
    """Whether the table is associated or the VPC's main one is half of most misunderstandings."""
    main, explicit = from_dump("main-table-implicit"), from_dump("nat-gateway-zonal")
    assert (main["isMainRouteTable"], explicit["isMainRouteTable"]) == (True, False)
    text = invoke(["explain", main["subnetId"], "--from-dump", str(FOLDER / "main-table-implicit")]).stdout
    assert "the main route table of vpc-" in " ".join(text.split())


def test_the_json_is_of_one_make() -> None:
    """Capacity has the names that the rule's function gives it."""
    found = from_dump("nat-gateway-zonal")
    [hop] = [each for each in found["path"] if each["kind"] == "NAT_GATEWAY"]
    name = "zonal public NAT gateway"
    assert found["capacity"] == [{"hopId": hop["id"], "name": name, "baselineGbps": 5.0, "peakGbps": 100.0}]


def test_the_plan_has_three_patches_and_says_what_it_did_not_see() -> None:
    """From a dump, the change is shown for each tool, and what a dump does not hold is named as not looked at."""
    found = from_dump("nat-gateway-zonal")
    assert found["plan"]["action"] == "CREATE_AND_ASSOCIATE"
    assert set(found["plan"]["patches"]) == {"cloudFormation", "terraform", "cli"}
    assert any("security groups" in each for each in found["unchecked"])


def test_a_blocked_heal_names_the_route_in_the_way() -> None:
    """A more specific route is named as the blocker, with what to do."""
    [blocker] = from_dump("more-specific-route-to-nat")["plan"]["blockers"]
    assert blocker["name"] == "MORE_SPECIFIC_ROUTE"
    assert "44.220.7.0/24" in blocker["evidence"]
    assert blocker["cure"]


@pytest.mark.parametrize("columns", ["80", "120"])
def test_text_keeps_every_id_whole(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any width no id is cut or broken, and the AWS CLI's patch is one line to copy."""
    monkeypatch.setenv("COLUMNS", columns)
    found = from_dump("nat-gateway-zonal")
    text = invoke(["explain", found["subnetId"], "--from-dump", str(FOLDER / "nat-gateway-zonal")]).stdout
    for part in (found["subnetId"], found["vpcId"], found["routeTableId"], found["path"][0]["id"]):
        assert part in text
    assert found["plan"]["patches"]["cli"].strip() in text.splitlines()


def test_live_tells_the_same_and_looks_further(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """Live, the routes are those of a dump; a closed security group blocks the heal, and the DNS attributes warn."""
    network = Private(builder)
    group = builder.ec2.create_security_group(GroupName="closed", Description="closed", VpcId=network.vpc)["GroupId"]
    everywhere = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    builder.ec2.revoke_security_group_egress(GroupId=group, IpPermissions=everywhere)
    builder.ec2.create_network_interface(SubnetId=network.subnet, Groups=[group])
    assert invoke(["collect", str(tmp_path / "dump")]).exit_code == 0
    sandbox.calls.clear()
    live, dumped = told(network.subnet), told(network.subnet, "--from-dump", str(tmp_path / "dump"))
    assert live["contests"] == dumped["contests"]
    assert dumped["plan"]["action"] == "CREATE_AND_ASSOCIATE"
    assert (live["plan"]["action"], [each["name"] for each in live["plan"]["blockers"]]) == (
        "BLOCKED",
        ["SECURITY_GROUP_EGRESS"],
    )
    assert [each["name"] for each in live["plan"]["warnings"]] == ["DNS_ATTRIBUTES"]
    assert live["unchecked"] == ["the change calendar"]
    assert sandbox.calls.mutating() == []


def test_a_pre_flight_that_fails_is_named_and_the_rest_explained(sandbox: Sandbox, builder: Builder) -> None:
    """Verdict, routes and patches are there all the same; what was not looked at is said, and the status is 2."""
    subnet = Private(builder).subnet
    sandbox.faults.deny("ec2", "DescribeNetworkAcls")
    result = invoke(["explain", subnet, "--format", "json"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "ec2:DescribeNetworkAcls failed with UnauthorizedOperation" in line
    assert line.endswith("docs/doctor.md has the policy)")
    found = json.loads(result.stdout)
    assert (found["reason"], found["plan"]["action"]) == ("NAT_GATEWAY", "CREATE_AND_ASSOCIATE")
    assert found["unchecked"][0].startswith("security groups, network ACLs")
    assert "not looked at here: security groups, network ACLs" in invoke(["explain", subnet]).stdout


def test_ids_are_no_markup(tmp_path: Path) -> None:
    """A dump of somebody else's may call a VPC anything."""
    source = FOLDER / "nat-gateway-zonal"
    vpc = json.loads((source / "vpcs.json").read_text(encoding="utf-8"))["Vpcs"][0]["VpcId"]
    for file in source.glob("*.json"):
        text = file.read_text(encoding="utf-8").replace(vpc, "vpc-[/bold]")
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    for row in json.loads(scan(tmp_path).stdout)["subnets"]:
        result = invoke(["explain", row["subnetId"], "--from-dump", str(tmp_path)])
        assert (result.exit_code, result.stderr) == (0, "")
        assert "vpc-[/bold]" in result.stdout


def test_a_compliant_subnet_has_nothing_to_heal(builder: Builder) -> None:
    """Where no NAT is on the path, nothing is planned, and nothing more is read."""
    network = Private(builder)
    found = told(network.public_subnet)
    assert (found["reason"], found["plan"]["action"], found["unchecked"]) == ("INTERNET_GATEWAY", "NOTHING_TO_DO", [])
    text = invoke(["explain", network.public_subnet]).stdout
    assert "no NAT is on the path" in text


def test_a_dump_that_lacks_the_subnet_can_be_listed(tmp_path: Path) -> None:
    """The command that lists what it holds can be copied, whatever the folder's name."""
    folder = tmp_path / "my dump"
    shutil.copytree(FOLDER / "nat-gateway-zonal", folder)
    result = invoke(["explain", "subnet-0nowhere", "--from-dump", str(folder)])
    assert result.stderr.endswith(f"(express-path scan --from-dump '{folder}' lists those that it holds)\n")


@pytest.mark.parametrize("source", ["live", "dump"])
def test_an_unknown_subnet_is_one_line(sandbox: Sandbox, source: str) -> None:
    """A subnet that is not there is named with where it was looked for, and the status is 2."""
    options = ["--from-dump", str(FOLDER / "nat-gateway-zonal")] if source == "dump" else []
    result = invoke(["explain", "subnet-0nowhere", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "subnet-0nowhere" in line
    assert (sandbox.region if source == "live" else "nat-gateway-zonal") in line


def test_what_cannot_be_read_is_named_by_its_place(sandbox: Sandbox, builder: Builder) -> None:
    """A denied read: account, Region, operation and hint in one line, and the status is 2."""
    network = Private(builder)
    sandbox.faults.deny("ec2", "DescribeRouteTables")
    result = invoke(["explain", network.subnet])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {sandbox.region}: ec2:DescribeRouteTables failed with " in line
    assert "allow ec2:DescribeRouteTables" in line
