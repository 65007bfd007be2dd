"""express-path explain: the path route by route, why routes lose, and the heal with its patches."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from sandbox.server import Sandbox
from tests.support.command import invoke, scan
from tests.support.network import Builder, Private
from tests.support.scenarios import dump_of

SCENARIOS = [
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


def explained(subnet_id: str, *options: str) -> dict[str, Any]:
    """Explain a subnet as JSON."""
    result = invoke(["explain", subnet_id, "--format", "json", *options])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def flagged(scenario: str) -> list[str]:
    """Return the subnets of a scenario that cross a NAT."""
    rows = json.loads(scan(dump_of(scenario)).stdout)["subnets"]
    return [row["subnetId"] for row in rows if row["compliance"] == "NON_COMPLIANT"]


def only(scenario: str) -> str:
    """Return the one subnet of a scenario that crosses a NAT."""
    [subnet_id] = flagged(scenario)
    return subnet_id


def from_dump(scenario: str, subnet_id: str | None = None) -> dict[str, Any]:
    """Explain a subnet of a scenario, by default the one that crosses a NAT."""
    return explained(subnet_id or only(scenario), "--from-dump", str(dump_of(scenario)))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_verdict_is_the_scans_and_its_routes_are_among_the_winners(scenario: str) -> None:
    """Every subnet's explanation has the scan's verdict, and each hop's route wins in some table on the path."""
    dump = dump_of(scenario)
    for row in json.loads(scan(dump).stdout)["subnets"]:
        if row["reason"] == "NOT_OWNED":
            continue
        found = explained(row["subnetId"], "--from-dump", str(dump), "--region", row["region"])
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
    """Return why the routes of the subnet's own table won or lost, by target."""
    reasons: dict[str, set[str]] = {}
    for contest in found["contests"]:
        if contest["routeTableId"] == found["routeTableId"]:
            for route in contest["routes"]:
                reasons.setdefault(route["target"].split("-")[0], set()).add(route["why"].split(" -> ")[0])
    return reasons


def test_a_shorter_prefix_loses() -> None:
    """If a more specific route wins for part of a CIDR, the endpoint keeps the rest, and the default route loses."""
    found = from_dump("more-specific-route-to-nat")
    assert reasons_of(found) == {
        "vpce": {"used for all of these addresses", "used for the rest of 44.220.0.0/16"},
        "nat": {
            "used for 44.220.7.0/24",
            "less specific than pl-s3express",
            "less specific than 44.220.7.0/24",
        },
    }


def test_among_equal_prefixes_the_static_route_wins() -> None:
    """A prefix list's route loses to a static route of the same length, and the reason is given."""
    found = from_dump("equal-static-route-beats-the-prefix-list")
    lost = [
        r["why"] for c in found["contests"] for r in c["routes"] if r["target"].startswith("vpce-") and not r["wins"]
    ]
    assert lost
    assert all("static routes take priority over prefix list routes" in why for why in lost)


def test_a_tie_is_reported() -> None:
    """If two lists have the same prefix, both routes win, and the explanation says that AWS picks one at random."""
    found = from_dump("customer-lists-overlap")
    ties = [r for c in found["contests"] for r in c["routes"] if "at random" in r["why"]]
    assert len({route["target"] for route in ties}) == 2
    assert all(route["wins"] for route in ties)


def text_of(scenario: str, subnet_id: str, *options: str) -> str:
    """Explain a subnet of a scenario as text, in one line."""
    result = invoke(["explain", subnet_id, "--from-dump", str(dump_of(scenario)), *options])
    assert result.exit_code == 0, result.stderr
    return " ".join(result.stdout.split())


def subnet_with(scenario: str, reason: str) -> str:
    """Return the first subnet of a scenario with that reason."""
    rows = json.loads(scan(dump_of(scenario)).stdout)["subnets"]
    return next(str(row["subnetId"]) for row in rows if row["reason"] == reason)


@pytest.mark.parametrize(
    ("scenario", "unknown", "how"),
    [
        ("customer-list-unreadable", "the prefix list's entries cannot be read", "grant the permission"),
        ("gateway-load-balancer-then-endpoint", "its appliance may translate traffic", "ask the appliance's owner"),
        ("firewall-known-only-by-its-tag", "AWSNetworkFirewallManaged is no evidence", "ask the appliance's owner"),
        ("firewalls-not-read", "network-firewall:ListFirewalls", "grant the permission"),
        ("two-tables-claim-a-subnet", "rtb-one and rtb-two both claim", "associate it with one of them"),
        ("internet-gateway-closed-to-ingress", "under block-ingress", "from an instance in the subnet"),
        ("regional-nat-gateway-in-a-closed-vpc", "a regional NAT gateway in a VPC", "BytesOutToDestination"),
        ("dual-stack-ipv6-list-not-seen", "ec2:DescribeManagedPrefixLists", "grant the permission"),
        ("transit-gateway-spoke-alone", "ec2:SearchTransitGatewayRoutes", "networkRoleArn"),
        (
            "transit-gateway-vpn-attachment",
            "through an attachment of type vpn",
            "ask the transit gateway's owner",
        ),
        ("virtual-private-gateway", "a virtual private gateway", "ask the owner of the network behind it"),
        ("endpoint-pending", "the endpoint's state is pending", "aws ec2 describe-vpc-endpoints"),
        ("table-in-force-unreadable", "its route table", "grant the permission"),
    ],
)
def test_what_is_unknown_is_named_with_how_to_find_out(scenario: str, unknown: str, how: str) -> None:
    """An unresolved path may cross a NAT, so it is never called free of one."""
    subnet_id = subnet_with(scenario, "UNRESOLVED_EGRESS")
    text = text_of(scenario, subnet_id)
    assert "does not cross a NAT" not in text
    for part in ("A heal would change nothing", "What is unknown: ", unknown, "How to find out: ", how):
        assert part in text
    flagged_text = text_of(scenario, subnet_id, "--parameter", "unresolvedEgress=NON_COMPLIANT")
    annotation = from_dump(scenario, subnet_id)["annotation"]
    assert flagged_text.count(annotation) == 1
    assert "blocked by NOT_A_NAT_PATH what to do:" in flagged_text
    assert "What is unknown: " in flagged_text


def test_a_list_that_cannot_be_read_may_win() -> None:
    """The route of an unreadable list is not shown as lost: it may win, and the fix is to grant the permission."""
    subnet_id = subnet_with("customer-list-unreadable", "UNRESOLVED_EGRESS")
    text = text_of("customer-list-unreadable", subnet_id)
    assert "may win pl-" in text
    assert "grant ec2:GetManagedPrefixListEntries" in text
    routes = [r for c in from_dump("customer-list-unreadable", subnet_id)["contests"] for r in c["routes"]]
    assert {(r["wins"], r["mayWin"]) for r in routes if "cannot be read" in r["why"]} == {(False, True)}


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        ("customer-list-unreadable-same-target", "it has the same target as the winning route"),
        ("customer-list-unreadable-blackhole", "it is a blackhole and carries no traffic"),
    ],
)
def test_a_list_that_cannot_be_read_and_changes_nothing_loses(scenario: str, why: str) -> None:
    """The explanation says why its entries do not matter."""
    rows = json.loads(scan(dump_of(scenario)).stdout)["subnets"]
    explanations = [from_dump(scenario, row["subnetId"]) for row in rows]
    routes = [
        route for explanation in explanations for contest in explanation["contests"] for route in contest["routes"]
    ]
    assert {(route["wins"], route["mayWin"]) for route in routes if why in route["why"]} == {(False, False)}


def test_a_deleted_nat_gateway_has_no_capacity() -> None:
    """The target of a blackhole has no capacity, and the fix is named."""
    scenario = "nat-gateway-deleted-default-route-blackhole"
    subnet_id = subnet_with(scenario, "DROPPED")
    assert from_dump(scenario, subnet_id)["capacity"] == []
    text = text_of(scenario, subnet_id)
    assert "Gbit/s" not in text
    assert "AWS drops the traffic, and a gateway endpoint may not fix that" in text
    assert "blackhole: its target no longer exists" in text


def test_nat64_names_both_fixes_once() -> None:
    """The route is one blocker, not one for each address; the fixes are DNS64 and the host names."""
    text = text_of("dual-stack-with-dns64", only("dual-stack-with-dns64"))
    assert text.count("blocked by WOULD_NOT_CURE") == 1
    for part in ("turn off DNS64", "dual-stack host names", "the verdict changes only when"):
        assert part in text


def test_every_table_on_the_path_is_shown() -> None:
    """Behind a firewall, the table of its subnet is shown too, with the route to the NAT."""
    dump = dump_of("network-firewall-then-nat")
    subnet = next(
        row["subnetId"] for row in json.loads(scan(dump).stdout)["subnets"] if row["reason"] == "NAT_BEHIND_APPLIANCE"
    )
    found = explained(subnet, "--from-dump", str(dump))
    tables = [contest["routeTableId"] for contest in found["contests"]]
    assert tables[0] == found["routeTableId"]
    assert len(tables) == 2
    assert [r["target"][:4] for r in found["contests"][1]["routes"] if r["wins"]] == ["nat-"]


def test_nat_instances_table_is_shown_without_endpoints() -> None:
    """A NAT instance's traffic uses the table of its own subnet, whose endpoint route is ignored."""
    found = from_dump("nat-instance-in-a-subnet-with-the-endpoint")
    beyond = [contest for contest in found["contests"] if contest["routeTableId"] != found["routeTableId"]]
    assert [[r["target"][:3] for r in contest["routes"] if r["wins"]] for contest in beyond] == [["igw"]]
    assert not [r for contest in beyond for r in contest["routes"] if r["target"].startswith("vpce-")]


def test_the_main_route_table_is_named_as_such() -> None:
    """JSON and text say whether the table is explicitly associated or the VPC's main one."""
    main, explicit = from_dump("main-table-implicit"), from_dump("nat-gateway-zonal")
    assert (main["isMainRouteTable"], explicit["isMainRouteTable"]) == (True, False)
    text = invoke(["explain", main["subnetId"], "--from-dump", str(dump_of("main-table-implicit"))]).stdout
    assert "the main route table of vpc-" in " ".join(text.split())


def test_capacity_has_the_field_names_of_the_rule() -> None:
    """Capacity has the names that the rule's function gives it."""
    found = from_dump("nat-gateway-zonal")
    [hop] = [hop for hop in found["path"] if hop["kind"] == "NAT_GATEWAY"]
    name = "zonal public NAT gateway"
    assert found["capacity"] == [{"hopId": hop["id"], "name": name, "baselineGbps": 5.0, "peakGbps": 100.0}]


def test_the_plan_has_three_patches_and_says_what_was_not_checked() -> None:
    """From a dump, the change is shown for each tool, and what a dump does not contain is named as not checked."""
    found = from_dump("nat-gateway-zonal")
    assert found["plan"]["action"] == "CREATE_AND_ASSOCIATE"
    assert set(found["plan"]["patches"]) == {"cloudFormation", "terraform", "cli"}
    assert any("security groups" in unchecked for unchecked in found["unchecked"])


def test_a_blocked_heal_names_the_blocking_route() -> None:
    """A more specific route is named as the blocker, with what to do."""
    [blocker] = from_dump("more-specific-route-to-nat")["plan"]["blockers"]
    assert blocker["name"] == "MORE_SPECIFIC_ROUTE"
    assert "44.220.7.0/24" in blocker["evidence"]
    assert blocker["cure"]


@pytest.mark.parametrize("columns", ["80", "120"])
def test_text_keeps_every_id_whole(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any width, no id is cut or broken, and the AWS CLI's patch is one line to copy."""
    monkeypatch.setenv("COLUMNS", columns)
    found = from_dump("nat-gateway-zonal")
    text = invoke(["explain", found["subnetId"], "--from-dump", str(dump_of("nat-gateway-zonal"))]).stdout
    for part in (found["subnetId"], found["vpcId"], found["routeTableId"], found["path"][0]["id"]):
        assert part in text
    assert found["plan"]["patches"]["cli"].strip() in text.splitlines()


def test_live_explains_the_same_and_checks_more(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """Live, the routes are those of a dump; a closed security group blocks the heal, and the DNS attributes warn."""
    network = Private(builder)
    group = builder.ec2.create_security_group(GroupName="closed", Description="closed", VpcId=network.vpc)["GroupId"]
    everywhere = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    builder.ec2.revoke_security_group_egress(GroupId=group, IpPermissions=everywhere)
    builder.ec2.create_network_interface(SubnetId=network.subnet, Groups=[group])
    assert invoke(["collect", str(tmp_path / "dump")]).exit_code == 0
    sandbox.calls.clear()
    live, dumped = explained(network.subnet), explained(network.subnet, "--from-dump", str(tmp_path / "dump"))
    assert live["contests"] == dumped["contests"]
    assert dumped["plan"]["action"] == "CREATE_AND_ASSOCIATE"
    assert (live["plan"]["action"], [blocker["name"] for blocker in live["plan"]["blockers"]]) == (
        "BLOCKED",
        ["SECURITY_GROUP_EGRESS"],
    )
    assert [warning["name"] for warning in live["plan"]["warnings"]] == ["DNS_ATTRIBUTES"]
    assert live["unchecked"] == ["the change calendar"]
    assert sandbox.calls.mutating() == []


def test_a_pre_flight_that_fails_is_named_and_the_rest_explained(sandbox: Sandbox, builder: Builder) -> None:
    """If reads for the heal are denied, the verdict is shown with what was not checked, and the status is 2."""
    subnet = Private(builder).subnet
    sandbox.faults.deny("ec2", "DescribeNetworkAcls")
    result = invoke(["explain", subnet, "--format", "json"])
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert "ec2:DescribeNetworkAcls failed with UnauthorizedOperation" in line
    assert line.endswith("troubleshoot_access-denied.html)")
    found = json.loads(result.stdout)
    assert (found["reason"], found["plan"]["action"]) == ("NAT_GATEWAY", "CREATE_AND_ASSOCIATE")
    assert found["unchecked"][0].startswith("security groups, network ACLs")
    assert "not checked: security groups, network ACLs" in invoke(["explain", subnet]).stdout


@pytest.mark.parametrize(
    "rest", ["[/bold]", "1;touch x", "$(touch x)", "1`touch x`", "1 x", "1\nx", "1'x", "\u202e1", "A"]
)
@pytest.mark.parametrize("prefix", ["subnet-", "vpc-", "rtb-", "nat-", "pl-"])
def test_a_dump_with_anything_else_than_ids_is_refused(tmp_path: Path, prefix: str, rest: str) -> None:
    """Messages and commands contain the ids of someone else's dump, so each must have the form of an id."""
    source = dump_of("nat-gateway-zonal")
    texts = {file.name: file.read_text(encoding="utf-8") for file in source.glob("*.json")}
    [found, *_] = re.findall(rf'"({prefix}[0-9a-z-]+)"', "".join(texts.values()))
    for name, text in texts.items():
        hostile = text.replace(f'"{found}"', json.dumps(prefix + rest))
        (tmp_path / name).write_text(hostile, encoding="utf-8")
    result = scan(tmp_path)
    assert (result.exit_code, "must be an id such as" in result.stderr) == (2, True)
    assert "\u202e" not in result.stderr


def test_a_compliant_subnet_has_nothing_to_heal(builder: Builder) -> None:
    """If the path crosses no NAT, no heal is planned, and nothing more is read."""
    network = Private(builder)
    found = explained(network.public_subnet)
    assert (found["reason"], found["plan"]["action"], found["unchecked"]) == ("INTERNET_GATEWAY", "NOTHING_TO_DO", [])
    text = invoke(["explain", network.public_subnet]).stdout
    assert "the path to S3 Express does not cross a NAT" in text


def test_region_selects_the_folder_of_a_dump() -> None:
    """A subnet is explained in the Region of its folder, and not found in another one."""
    several = ["--from-dump", str(dump_of("two-regions"))]
    rows = json.loads(invoke(["scan", *several, "--format", "json"]).stdout)["subnets"]
    own, other = sorted({row["region"] for row in rows})
    subnet = next(row["subnetId"] for row in rows if row["region"] == own)
    assert invoke(["explain", subnet, *several, "--region", own]).exit_code == 0
    elsewhere = invoke(["explain", subnet, *several, "--region", other])
    assert (elsewhere.exit_code, elsewhere.stdout) == (2, "")
    assert f"has no subnet {subnet}" in elsewhere.stderr


def test_a_dump_that_lacks_the_subnet_can_be_listed(tmp_path: Path) -> None:
    """The command that lists its subnets can be copied, whatever the folder's name."""
    folder = tmp_path / "my dump"
    shutil.copytree(dump_of("nat-gateway-zonal"), folder)
    result = invoke(["explain", "subnet-0nowhere", "--from-dump", str(folder)])
    assert result.stderr.endswith(f"(express-path scan --from-dump '{folder}' --format csv lists its subnets)\n")


@pytest.mark.parametrize("source", ["live", "dump"])
def test_an_unknown_subnet_is_one_line(sandbox: Sandbox, source: str) -> None:
    """An unknown subnet is named with where it was searched, and the status is 2."""
    options = ["--from-dump", str(dump_of("nat-gateway-zonal"))] if source == "dump" else []
    result = invoke(["explain", "subnet-0nowhere", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "subnet-0nowhere" in line
    assert (sandbox.region if source == "live" else "nat-gateway-zonal") in line


def test_a_denied_read_is_named_with_account_and_region(sandbox: Sandbox, builder: Builder) -> None:
    """A denied read: account, Region, operation and hint in one line, and the status is 2."""
    network = Private(builder)
    sandbox.faults.deny("ec2", "DescribeRouteTables")
    result = invoke(["explain", network.subnet])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {sandbox.region}: ec2:DescribeRouteTables failed with " in line
    assert "allow ec2:DescribeRouteTables" in line


def test_text_in_a_pipe_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """At any terminal width, each sentence is one line for grep, without trailing spaces."""
    monkeypatch.setenv("COLUMNS", "40")
    dump = str(dump_of("more-specific-route-to-nat"))
    found = from_dump("more-specific-route-to-nat")
    lines = invoke(["explain", found["subnetId"], "--from-dump", dump]).stdout.splitlines()
    assert found["annotation"] in lines
    assert f"  {found['remedy']['text']}" in lines
    assert found["remedy"]["command"] in lines
    assert found["remedy"].keys() == {"text", "command", "url", "patches", "note"}
    assert [line for line in lines if line != line.rstrip()] == []
