"""express-path explain: the path route by route, why routes lose, and the heal with its patches."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.public_sides import BehindFirewall, BehindNatGateway
from config_rule_sandbox.server import Sandbox
from tests.support.command import invoke, scan
from tests.support.network import Builder, Private
from tests.support.scenarios import dump_of

SCENARIOS = [
    "equal-static-route-beats-the-prefix-list",
    "customer-list-unreadable",
    "more-specific-route-to-nat",
    "nat-instance-beside-the-endpoint",
    "shared-subnet-beside-its-owner",
    "transit-gateway-central-egress",
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
    for part in ("A heal would change nothing", "The path could not be followed: ", unknown, "To find out: ", how):
        assert part in text
    flagged_text = text_of(scenario, subnet_id, "--parameter", "unresolvedEgress=NON_COMPLIANT")
    annotation = from_dump(scenario, subnet_id)["annotation"]
    assert flagged_text.count(annotation) == 1
    assert "blocker NOT_A_NAT_PATH what to do:" in flagged_text
    assert "The path could not be followed: " in flagged_text


def test_a_list_that_cannot_be_read_may_win() -> None:
    """The route of an unreadable list is not shown as lost: it may win, and the fix is to grant the permission."""
    subnet_id = subnet_with("customer-list-unreadable", "UNRESOLVED_EGRESS")
    text = text_of("customer-list-unreadable", subnet_id)
    assert "may win pl-" in text
    assert "grant ec2:GetManagedPrefixListEntries" in text
    flagged_text = text_of("customer-list-unreadable", subnet_id, "--parameter", "unresolvedEgress=NON_COMPLIANT")
    assert "NOT_A_NAT_PATH what to do: grant ec2:GetManagedPrefixListEntries" in flagged_text
    contests = from_dump("customer-list-unreadable", subnet_id)["contests"]
    routes = [route for contest in contests for route in contest["routes"]]
    assert {(r["wins"], r["mayWin"]) for r in routes if "cannot be read" in r["why"]} == {(False, True)}
    for contest in contests:  # winners first, then those that may win
        order = [(not route["wins"], not route["mayWin"]) for route in contest["routes"]]
        assert order == sorted(order)


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
    assert "AWS drops the traffic: blackhole: its target does not exist any more" in text
    assert "S3 Express traffic uses that, except where a more specific route wins" in text


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
    assert "without gateway endpoints" in text_of("nat-instance-in-a-subnet-with-the-endpoint", found["subnetId"])


def test_the_main_route_table_is_named_as_such() -> None:
    """JSON and text say whether the table is explicitly associated or the VPC's main one."""
    main = from_dump("main-table-implicit")
    assert (main["isMainRouteTable"], from_dump("nat-gateway-zonal")["isMainRouteTable"]) == (True, False)
    assert "the main route table of vpc-" in text_of("main-table-implicit", main["subnetId"])


def test_the_plan_has_three_patches_and_says_what_was_not_checked() -> None:
    """What a dump does not contain is named; the NAT gateway's capacity has the names that the rule's function gives."""
    found = from_dump("nat-gateway-zonal")
    assert found["plan"]["action"] == "CREATE_AND_ASSOCIATE"
    assert set(found["plan"]["patches"]) == {"cloudFormation", "terraform", "cli"}
    assert any("security groups" in unchecked for unchecked in found["unchecked"])
    [hop] = [hop for hop in found["path"] if hop["kind"] == "NAT_GATEWAY"]
    name = "zonal public NAT gateway"
    assert found["capacity"] == [{"hopId": hop["id"], "name": name, "baselineGbps": 5.0, "peakGbps": 100.0}]
    assert f"{name}, carries 5 to 100 Gbit/s" in text_of("nat-gateway-zonal", found["subnetId"])


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
    assert (live["plan"]["action"], [blocker["code"] for blocker in live["plan"]["blockers"]]) == (
        "BLOCKED",
        ["SECURITY_GROUP_EGRESS"],
    )
    assert [warning["code"] for warning in live["plan"]["warnings"]] == ["DNS_ATTRIBUTES"]
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
    assert f"is named {subnet}" in elsewhere.stderr


@pytest.mark.parametrize("source", ["live", "dump"])
def test_a_route_table_or_vpc_is_explained_by_each_path_of_its_subnets(
    builder: Builder, tmp_path: Path, source: str
) -> None:
    """By ID or Name tag. One subnet of each path is explained, the worst path first, and the others are listed."""
    network = Private(builder)
    alike = builder.subnet(network.vpc, network.table)
    for name, resource_id in (("data", network.vpc), ("data-private", network.table), ("data-1", network.subnet)):
        builder.tag(resource_id, "Name", name)
    options = []
    if source == "dump":
        invoke(["collect", str(tmp_path / "dump")])
        options = ["--from-dump", str(tmp_path / "dump")]
    first, second = sorted((network.subnet, alike))
    for named in (network.table, "data-private"):
        found = explained(named, *options)
        assert (found["subnetId"], found["alike"], found["reason"]) == (first, [second], "NAT_GATEWAY")
    for named in (network.vpc, "data"):
        paths = explained(named, *options)["explanations"]
        assert [(path["subnetId"], path["alike"], path["reason"]) for path in paths] == [
            (first, [second], "NAT_GATEWAY"),
            (network.public_subnet, [], "INTERNET_GATEWAY"),
        ]
    assert (explained("data-1", *options)["subnetId"], explained("data-1", *options)["alike"]) == (network.subnet, [])
    assert f"The same path: {second}" in invoke(["explain", "data", *options]).stdout
    builder.tag(alike, "Name", "data-1")
    if source == "live":
        several = invoke(["explain", "data-1"])
        assert (several.exit_code, several.stdout) == (2, "")
        assert f"2 resources are named data-1 (use an ID: {first}, {second})" in several.stderr


def test_a_reason_is_explained_under_the_rules_parameters() -> None:
    """It says the compliance, the meaning, what to do, what to read, and how to find the subnets."""
    text = invoke(["explain", "nat_gateway"]).stdout
    for part in (
        "NAT_GATEWAY  NON_COMPLIANT",
        "crosses a NAT gateway",
        "Associate",
        "https://",
        "scan --show NAT_GATEWAY",
    ):
        assert part in text
    found = explained("INTERNET_GATEWAY", "--parameter", "publicSubnets=NON_COMPLIANT")
    assert (found["reason"], found["compliance"]) == ("INTERNET_GATEWAY", "NON_COMPLIANT")


def test_only_a_plan_has_subnets_that_lose_their_path() -> None:
    """The command that finds them names a plan, because no network alone shows them."""
    assert "express-path scan --plan plan.json --show LOSES_PATH" in invoke(["explain", "LOSES_PATH"]).output


def test_an_unknown_subnet_is_one_line(sandbox: Sandbox, tmp_path: Path) -> None:
    """It is named with where it was searched; the command that lists a dump's subnets can be copied."""
    folder = tmp_path / "my dump"
    copytree(dump_of("nat-gateway-zonal"), folder)
    for options, where in (
        ([], sandbox.region),
        (["--from-dump", str(folder)], f"--from-dump '{folder}' --format csv lists the subnets"),
    ):
        result = invoke(["explain", "subnet-0nowhere", *options])
        assert (result.exit_code, result.stdout) == (2, "")
        [line] = result.stderr.splitlines()
        assert "subnet-0nowhere" in line
        assert where in line


def test_a_denied_read_is_named_with_account_and_region(sandbox: Sandbox, builder: Builder) -> None:
    """A denied read: account, Region, operation and hint in one line, and the status is 2."""
    network = Private(builder)
    sandbox.faults.deny("ec2", "DescribeRouteTables")
    result = invoke(["explain", network.subnet])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {sandbox.region}: ec2:DescribeRouteTables failed with " in line
    assert "allow ec2:DescribeRouteTables" in line


def test_text_keeps_ids_whole_and_is_not_wrapped_in_a_pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """At any terminal width, each sentence is one line for grep, and so is each command. A name cannot control it."""
    monkeypatch.setenv("COLUMNS", "40")
    dump = copytree(dump_of("more-specific-route-to-nat"), tmp_path / "dump")
    described = (dump / "vpcs.json").read_text(encoding="utf-8").replace('"app"', '"\\u001b[2J[red]"')
    (dump / "vpcs.json").write_text(described, encoding="utf-8")
    command = ["explain", "subnet-private-a", "--from-dump", str(dump)]
    found = json.loads(invoke([*command, "--format", "json"]).stdout)
    lines = invoke(command).stdout.splitlines()
    for line in (found["annotation"], f"  {found['remedy']['text']}", found["remedy"]["command"]):
        assert line in lines
    assert found["remedy"].keys() == {"text", "command", "url", "patches", "note"}
    assert [line for line in lines if line != line.rstrip() or not line.isprintable()] == []
    assert any(line.startswith("subnet-private-a (private-a)") for line in lines)
    assert any(line.startswith("vpc-app (\ufffd[2J[red])") for line in lines)
    assert any("route table rtb-private (private), explicitly associated" in line for line in lines)
    healed = from_dump("nat-gateway-zonal")
    text = invoke(["explain", healed["subnetId"], "--from-dump", str(dump_of("nat-gateway-zonal"))]).stdout
    assert healed["plan"]["patches"]["cli"].strip() in text.splitlines()


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
    found = notes(only("nat-gateway-zonal"), "--from-dump", str(dump))
    assert [note.split()[0] for note in found] == ["proxy"]


def test_a_live_explanation_reads_the_nat_gateways_of_the_vpc(sandbox: Sandbox) -> None:
    """The capacity names the kind of NAT gateway, which one VPC's verdict does not need."""
    place = BehindNatGateway(Account(sandbox))
    shown = invoke(["explain", place.subnet]).stdout
    assert "zonal public NAT gateway" in " ".join(shown.split())
    assert len(sandbox.calls.of("ec2", "DescribeNatGateways")) == 1


def test_a_dns64_server_of_ones_own_is_mentioned() -> None:
    """It cannot be seen, so it may be there where a route leads to 64:ff9b:: addresses and the subnet has no DNS64."""
    scenario = "dual-stack-with-dns64-turned-off"
    rows = json.loads(scan(dump_of(scenario)).stdout)["subnets"]
    found = {row["subnetId"]: from_dump(scenario, row["subnetId"])["notes"] for row in rows}
    [note] = found.pop("subnet-private-a")
    assert "rtb-private has the route 64:ff9b::/96 -> nat-app" in note
    assert "DNS64 server" in note
    assert not any(found.values())
    assert from_dump("dual-stack-with-dns64")["notes"] == []
    assert "DNS64 server" in text_of(scenario, "subnet-private-a")


def test_a_saved_scan_is_explained_without_the_network(tmp_path: Path) -> None:
    """What the file has: verdict, path, and what to do, by the ID or the Name tag; other sources cannot be given."""
    saved = str(tmp_path / "scan.json")
    invoke(["scan", "--example", "--output", saved])
    by_name = invoke(["explain", "app-private-b", "--from", saved])
    assert by_name.exit_code == 0
    for text in ("NON_COMPLIANT  NAT_GATEWAY", "0.0.0.0/0 nat-", "aws ec2 modify-vpc-endpoint", "From the scan of "):
        assert text in by_name.stdout
    document = json.loads(invoke(["explain", "app-private-b", "--from", saved, "--format", "json"]).stdout)
    assert (document["names"]["subnet"], document["reason"]) == ("app-private-b", "NAT_GATEWAY")
    for words in (["nothing", "--from", saved], ["app-private-b", "--from", saved, "--example"]):
        refused = invoke(["explain", *words])
        assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
