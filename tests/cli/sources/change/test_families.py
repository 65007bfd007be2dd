"""What each type of resource in a plan changes in the network, by the verdict on the subnet that it decides about."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from tests.support.command import invoke
from tests.support.plans import UNKNOWN, PlanBuilder, endpoint, nat_route, network

pytestmark = pytest.mark.usefixtures("no_credentials")

TABLE = {"route_table_id": ["aws_route_table.private.id", "aws_route_table.private"]}
PRIVATE, ANALYTICS, PUBLIC = "rtb-07c93e5d1fa84b602", "rtb-0482dfa6b9e13c750", "rtb-0e5f7a2c4b9d81366"
MAIN, VPC, NAT = "rtb-0b6a1d8f3e7c5924d", "vpc-0a17f3c2d94b6e580", "nat-0e92b5c7d1a3f6048"
ENDPOINT, APP_SUBNET = "vpce-0b1c6d8e3f5a7294c", "subnet-0c4e81b7a2d3f5961"
"""Resources of the sample network."""


def reasons(plan: PlanBuilder, folder: Path, *options: str) -> dict[str, str]:
    """Return the reason of each subnet by its address or ID."""
    result = invoke(["scan", "--plan", str(plan.write(folder)), "--format", "json", *options])
    assert result.exit_code in (0, 1), result.output
    rows = json.loads(result.stdout)["subnets"]
    return {row["subnetId"] or row["address"]: row["reason"] for row in rows}


def route(
    name: str, target: str, references: Sequence[str], table: str = "aws_route_table.private.id", **more: Any
) -> tuple[str, dict[str, Any], dict[str, Sequence[str]]]:
    """Return a default route to a target that is known after the apply."""
    values = {"route_table_id": UNKNOWN, "destination_cidr_block": "0.0.0.0/0", target: UNKNOWN, **more}
    return f"aws_route.{name}", values, {"route_table_id": [table], target: references}


def with_gateway() -> PlanBuilder:
    """Return the network with a route to an internet gateway."""
    plan = network().add("aws_internet_gateway.this", {"id": UNKNOWN})
    return plan.add(*route("out", "gateway_id", ["aws_internet_gateway.this.id", "aws_internet_gateway.this"]))


def with_interface(check: bool) -> PlanBuilder:
    """Return the network with a route to an instance, whose own subnet leads to an internet gateway."""
    return (
        network()
        .add("aws_internet_gateway.this", {"id": UNKNOWN})
        .subnet_with_table("public")
        .add(*route("public", "gateway_id", ["aws_internet_gateway.this.id"], "aws_route_table.public.id"))
        .add(
            "aws_instance.nat",
            {"id": UNKNOWN, "subnet_id": UNKNOWN, "source_dest_check": check, "primary_network_interface_id": UNKNOWN},
            {"subnet_id": ["aws_subnet.public.id"]},
        )
        .add(
            *route("nat", "network_interface_id", ["aws_instance.nat.primary_network_interface_id", "aws_instance.nat"])
        )
    )


def two_targets(nat: Sequence[str]) -> PlanBuilder:
    """Return the network with a route to a NAT gateway, or perhaps to an interface of which nothing is known."""
    address, values, references = route("any", "nat_gateway_id", nat, network_interface_id=UNKNOWN)
    return network().add(address, values, {**references, "network_interface_id": ["data.external.interface.result"]})


def with_stack(kind: str) -> PlanBuilder:
    """Return the network with a route to an internet gateway, and a stack with a resource of a type."""
    template = {"Resources": {"Only": {"Type": kind}}, "Outputs": {"Id": {"Value": {"Fn::ImportValue": "id"}}}}
    return with_gateway().add("aws_cloudformation_stack.exports", {"template_body": json.dumps(template)})


def with_own_interface() -> PlanBuilder:
    """Return the network with a route to the first interface of an instance, which is a resource of its own."""
    interface = ["aws_network_interface.nat.id", "aws_network_interface.nat"]
    return (
        network()
        .add("aws_internet_gateway.this", {"id": UNKNOWN})
        .subnet_with_table("public")
        .add(*route("public", "gateway_id", ["aws_internet_gateway.this.id"], "aws_route_table.public.id"))
        .add(
            "aws_network_interface.nat",
            {"id": UNKNOWN, "subnet_id": UNKNOWN, "source_dest_check": False},
            {"subnet_id": ["aws_subnet.public.id"]},
        )
        .add(
            "aws_instance.nat",
            {"id": UNKNOWN, "network_interface": [{"device_index": 0, "network_interface_id": UNKNOWN}]},
            {"network_interface": [{"network_interface_id": interface}]},
        )
        .add(
            *route("nat", "network_interface_id", ["aws_instance.nat.primary_network_interface_id", "aws_instance.nat"])
        )
    )


def with_firewall(*others: str) -> PlanBuilder:
    """Return the network with a route to a firewall, behind which is a NAT gateway. others: its subnet may be one of these."""
    return (
        network()
        .subnet_with_table("firewall")
        .add(*route("firewall", "nat_gateway_id", ["aws_nat_gateway.this.id"], "aws_route_table.firewall.id"))
        .add(
            "aws_networkfirewall_firewall.this",
            {
                "id": UNKNOWN,
                "arn": UNKNOWN,
                "vpc_id": UNKNOWN,
                "firewall_status": UNKNOWN,
                "subnet_mapping": [{"subnet_id": UNKNOWN}],
            },
            {"vpc_id": ["aws_vpc.this.id"], "subnet_mapping": [{"subnet_id": ["aws_subnet.firewall.id", *others]}]},
        )
        .add(
            *route(
                "out",
                "vpc_endpoint_id",
                ["aws_networkfirewall_firewall.this.firewall_status", "aws_networkfirewall_firewall.this"],
            )
        )
    )


def with_transit(*, target: str = "egress", own_table: bool = True, zone: str = "private") -> PlanBuilder:
    """Return the network with a route to a transit gateway, whose table leads to a VPC with a NAT gateway, or nowhere.

    zone: the subnet of the VPC's attachment.
    """
    attachment = {"id": UNKNOWN, "transit_gateway_id": UNKNOWN, "vpc_id": UNKNOWN, "subnet_ids": UNKNOWN}
    gateway = ["aws_ec2_transit_gateway.this.id", "aws_ec2_transit_gateway.this"]
    default = "disable" if own_table else "enable"
    plan = (
        network()
        .add(
            "aws_ec2_transit_gateway.this",
            {"id": UNKNOWN, "default_route_table_association": default, "association_default_route_table_id": UNKNOWN},
        )
        .add("aws_vpc.egress", {"id": UNKNOWN})
        .subnet_with_table("egress", "egress")
        .add(*route("egress", "nat_gateway_id", ["aws_nat_gateway.this.id"], "aws_route_table.egress.id"))
        .add(*route("transit", "transit_gateway_id", gateway))
    )
    for name, subnet in (("this", zone), ("egress", "egress")):
        plan.add(
            f"aws_ec2_transit_gateway_vpc_attachment.{name}",
            attachment,
            {
                "transit_gateway_id": gateway,
                "vpc_id": [f"aws_vpc.{name}.id"],
                "subnet_ids": [f"aws_subnet.{subnet}.id", f"aws_subnet.{subnet}"],
            },
        )
    table = ["aws_ec2_transit_gateway.this.association_default_route_table_id", "aws_ec2_transit_gateway.this"]
    if own_table:
        table = ["aws_ec2_transit_gateway_route_table.this.id", "aws_ec2_transit_gateway_route_table.this"]
        plan.add("aws_ec2_transit_gateway_route_table.this", {"id": UNKNOWN})
        for kind in ("association", "propagation"):
            plan.add(
                f"aws_ec2_transit_gateway_route_table_{kind}.this",
                {"transit_gateway_attachment_id": UNKNOWN, "transit_gateway_route_table_id": UNKNOWN},
                {
                    "transit_gateway_attachment_id": ["aws_ec2_transit_gateway_vpc_attachment.this.id"],
                    "transit_gateway_route_table_id": table,
                },
            )
    destination = "10.0.0.0/8" if target == "elsewhere" else "0.0.0.0/0"
    values = {"destination_cidr_block": destination, "transit_gateway_route_table_id": UNKNOWN}
    way: dict[str, Any] = {"blackhole": True} if target == "blackhole" else {"transit_gateway_attachment_id": UNKNOWN}
    names = {
        "egress": ["aws_ec2_transit_gateway_vpc_attachment.egress.id"],
        "vpn": ["aws_vpn_connection.office.transit_gateway_attachment_id", "aws_vpn_connection.office"],
        "blackhole": [],
        "elsewhere": ["aws_ec2_transit_gateway_vpc_attachment.egress.id"],
    }[target]
    if target == "vpn":
        plan.add("aws_vpn_connection.office", {"id": UNKNOWN, "transit_gateway_attachment_id": UNKNOWN})
    return plan.add(
        "aws_ec2_transit_gateway_route.out",
        {**values, **way},
        {"transit_gateway_attachment_id": names, "transit_gateway_route_table_id": table},
    )


def with_prefix_list(entry: Any) -> PlanBuilder:
    """Return an endpoint and a route to a customer's prefix list."""
    plan = endpoint(network()).add(
        "aws_ec2_managed_prefix_list.office",
        {
            "id": UNKNOWN,
            "address_family": "IPv4",
            "entry": UNKNOWN if entry is None else [] if entry is UNKNOWN else [{"cidr": entry}],
        },
        {} if entry is None else {"entry": ["var.entries"]},  # a plan does not show a dynamic block
    )
    if entry is UNKNOWN:
        plan.add(
            "aws_ec2_managed_prefix_list_entry.office",
            {"prefix_list_id": UNKNOWN, "cidr": UNKNOWN},
            {"prefix_list_id": ["aws_ec2_managed_prefix_list.office.id"], "cidr": ["data.external.cidr.result"]},
        )
    return plan.add(
        "aws_route.office",
        {"route_table_id": UNKNOWN, "destination_prefix_list_id": UNKNOWN, "nat_gateway_id": UNKNOWN},
        {
            **TABLE,
            "destination_prefix_list_id": ["aws_ec2_managed_prefix_list.office.id"],
            "nat_gateway_id": ["aws_nat_gateway.this.id"],
        },
    )


def in_main_table(how: str) -> PlanBuilder:
    """Return a subnet without an association, and what decides about the main route table of its VPC."""
    plan = (
        PlanBuilder()
        .add("aws_vpc.this", {"id": UNKNOWN, "default_route_table_id": UNKNOWN, "main_route_table_id": UNKNOWN})
        .add("aws_subnet.private", {"id": UNKNOWN, "vpc_id": UNKNOWN}, {"vpc_id": ["aws_vpc.this.id", "aws_vpc.this"]})
        .add("aws_nat_gateway.this", {"id": UNKNOWN, "subnet_id": UNKNOWN})
    )
    main = {"default_route_table_id": ["aws_vpc.this.default_route_table_id", "aws_vpc.this"]}
    if how == "route":
        plan.add(*route("main", "nat_gateway_id", ["aws_nat_gateway.this.id"], "aws_vpc.this.main_route_table_id"))
    elif how == "default":
        values = {"id": UNKNOWN, "default_route_table_id": UNKNOWN, "vpc_id": UNKNOWN}
        plan.add(
            "aws_default_route_table.main",
            {**values, "route": [{"cidr_block": "0.0.0.0/0", "nat_gateway_id": NAT}]},
            {**main, "route": []},
        )
    elif how == "association":
        plan.add(
            "aws_route_table.private",
            {"id": UNKNOWN, "vpc_id": UNKNOWN, "route": UNKNOWN},
            {"vpc_id": ["aws_vpc.this.id"]},
        )
        nat_route(plan)
        plan.add(
            "aws_main_route_table_association.main",
            {"vpc_id": UNKNOWN, "route_table_id": UNKNOWN},
            {"vpc_id": ["aws_vpc.this.id"], **TABLE},
        )
    elif how == "unknown association":
        plan.add(
            "aws_main_route_table_association.main",
            {"vpc_id": UNKNOWN, "route_table_id": UNKNOWN},
            {"vpc_id": ["aws_vpc.this.id"], "route_table_id": ["data.external.table.result"]},
        )
    return plan


CASES = {
    "internet gateway": (with_gateway(), "INTERNET_GATEWAY"),
    "internet gateway, or the endpoint": (
        endpoint(with_gateway(), ["aws_route_table.private", "local.tables"]),
        "INTERNET_GATEWAY",
    ),
    "instance that forwards": (with_interface(check=False), "NAT_INSTANCE"),
    "instance that does not": (with_interface(check=True), "UNRESOLVED_EGRESS"),
    "firewall": (with_firewall(), "NAT_BEHIND_APPLIANCE"),
    "firewall in one of two subnets": (with_firewall("aws_subnet.private.id"), "UNRESOLVED_EGRESS"),
    "firewall, and maybe the endpoint behind it": (
        endpoint(
            with_firewall().add("aws_route_table.other", {"id": UNKNOWN}),
            ["var.which", "aws_route_table.firewall.id", "aws_route_table.other.id"],
        ),
        "UNRESOLVED_EGRESS",
    ),
    "transit gateway, own table": (with_transit(), "NAT_BEYOND_TRANSIT_GATEWAY"),
    "transit gateway, default table": (with_transit(own_table=False), "NAT_BEYOND_TRANSIT_GATEWAY"),
    "transit gateway, blackhole": (with_transit(target="blackhole"), "DROPPED"),
    "transit gateway, no route": (with_transit(target="elsewhere"), "NO_ROUTE"),
    "transit gateway, no route, or another zone": (
        with_transit(target="elsewhere", zone="other").add("aws_subnet.other", {"id": UNKNOWN, "vpc_id": UNKNOWN}),
        "UNRESOLVED_EGRESS",
    ),
    "transit gateway, VPN": (with_transit(target="vpn"), "UNRESOLVED_EGRESS"),
    "prefix list elsewhere": (with_prefix_list("192.168.0.0/16"), "ENDPOINT"),
    "prefix list with public addresses": (with_prefix_list("52.0.0.0/8"), "UNRESOLVED_EGRESS"),
    "prefix list with an unknown entry": (with_prefix_list(UNKNOWN), "UNRESOLVED_EGRESS"),
    "prefix list with dynamic entries": (with_prefix_list(None), "UNRESOLVED_EGRESS"),
    "main table without routes": (in_main_table(""), "NO_ROUTE"),
    "main table with a route": (in_main_table("route"), "NAT_GATEWAY"),
    "default route table": (in_main_table("default"), "NAT_GATEWAY"),
    "another main table": (in_main_table("association"), "NAT_GATEWAY"),
    "an unknown main table": (in_main_table("unknown association"), "UNRESOLVED_EGRESS"),
    "peering connection": (
        network().add(*route("peer", "vpc_peering_connection_id", ["aws_vpc_peering_connection.this.id"])),
        "UNRESOLVED_EGRESS",
    ),
    "egress-only internet gateway": (
        network().add(*route("out", "egress_only_gateway_id", ["aws_egress_only_internet_gateway.this[0].id"])),
        "INTERNET_GATEWAY",
    ),
    "two targets that may be set": (
        network().add(
            *route("any", "nat_gateway_id", ["aws_nat_gateway.this.id"], gateway_id=UNKNOWN),
        ),
        "NAT_GATEWAY",
    ),
    "a certain target, and another that may be set": (two_targets(["aws_nat_gateway.this.id"]), "NAT_GATEWAY"),
    "two targets of which neither is certain": (
        two_targets(["aws_nat_gateway.this.id", "aws_vpc.this.arn"]),
        "UNRESOLVED_EGRESS",
    ),
    "a NAT, and a resource that may change any path": (
        nat_route(network()).add("aws_autoscaling_group.proxies", {"name": "proxies"}),
        "NAT_GATEWAY",
    ),
    "no NAT, and a resource that may change any path": (
        with_gateway().add("aws_autoscaling_group.proxies", {"name": "proxies"}),
        "UNRESOLVED_EGRESS",
    ),
    "a file system in two zones": (
        with_gateway().add("aws_fsx_ontap_file_system.f", {"deployment_type": "MULTI_AZ_1"}),
        "UNRESOLVED_EGRESS",
    ),
    "a file system in one zone": (
        with_gateway().add("aws_fsx_ontap_file_system.f", {"deployment_type": "SINGLE_AZ_1"}),
        "INTERNET_GATEWAY",
    ),
    "a stack with outputs only": (with_stack("AWS::CloudFormation::WaitConditionHandle"), "INTERNET_GATEWAY"),
    "a stack with a route": (with_stack("AWS::EC2::Route"), "UNRESOLVED_EGRESS"),
    "an instance with an interface of its own": (with_own_interface(), "NAT_INSTANCE"),
    "block public access changes": (
        with_gateway().add("aws_vpc_block_public_access_options.this", {"id": UNKNOWN}),
        "UNRESOLVED_EGRESS",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_resources_decide_about_a_new_subnet(tmp_path: Path, case: str) -> None:
    """The private subnet of a plan that is judged alone has the reason of AWS's routing."""
    plan, expected = CASES[case]
    assert reasons(plan, tmp_path)["aws_subnet.private"] == expected


def test_a_deferred_resource_may_change_every_table(tmp_path: Path) -> None:
    """Its values are not known, so a path that is not certainly a NAT is unknown."""
    plan = endpoint(network())
    plan.document["deferred_changes"] = [
        {"resource_change": {"address": "aws_route.later", "type": "aws_route", "name": "later"}}
    ]
    plan.document["complete"] = False
    assert reasons(plan, tmp_path)["aws_subnet.private"] == "UNRESOLVED_EGRESS"


def test_an_association_may_be_in_another_configuration(tmp_path: Path) -> None:
    """Without a network, an existing subnet is not assumed to use the main table, unless the plan ends its association."""
    subnet = {"id": "subnet-1", "vpc_id": "vpc-1"}
    vpc = {"id": "vpc-1", "main_route_table_id": "rtb-1", "default_route_table_id": "rtb-1"}
    main = {"id": "rtb-1", "default_route_table_id": "rtb-1", "vpc_id": "vpc-1", "route": []}
    plan = PlanBuilder()
    for address, values in {"aws_vpc.a": vpc, "aws_default_route_table.a": main, "aws_subnet.a": subnet}.items():
        plan.add(address, values, before=values, actions=["no-op"])
    assert reasons(plan, tmp_path) == {"subnet-1": "UNRESOLVED_EGRESS"}
    association = {"id": "rtbassoc-1", "subnet_id": "subnet-1", "route_table_id": "rtb-2"}
    plan.add("aws_route_table_association.a", None, before=association, actions=["delete"])
    assert reasons(plan, tmp_path) == {"subnet-1": "NO_ROUTE"}


def test_a_subnet_that_loses_ipv6_uses_no_ipv6_route(tmp_path: Path) -> None:
    """While it has IPv6 addresses, a route for them may lead to S3 Express."""
    way = {"ipv6_cidr_block": "::/0", "egress_only_gateway_id": "eigw-1"}
    plan = (
        changed("aws_subnet.a", {"id": "subnet-1", "ipv6_cidr_block": "2001:db8::/64"}, ipv6_cidr_block="")
        .add("aws_route_table.private", {"id": UNKNOWN, "route": [way]})
        .add("aws_route_table_association.a", {"subnet_id": "subnet-1", "route_table_id": UNKNOWN}, TABLE)
    )
    assert reasons(plan, tmp_path) == {"subnet-1": "NO_ROUTE"}


def gone(address: str, **before: Any) -> PlanBuilder:
    """Return a plan that deletes a resource."""
    return PlanBuilder().add(address, None, before=before, actions=["delete"])


def changed(
    address: str, before: Mapping[str, Any], references: Mapping[str, Sequence[str]] | None = None, **after: Any
) -> PlanBuilder:
    """Return a plan that updates a resource."""
    return PlanBuilder().add(address, {**before, **after}, references, before=before, actions=["update"])


INLINE: dict[str, Any] = {"id": ANALYTICS, "vpc_id": VPC, "route": [{"cidr_block": "0.0.0.0/0", "nat_gateway_id": NAT}]}
LISTED = {
    "id": ENDPOINT,
    "vpc_id": VPC,
    "vpc_endpoint_type": "Gateway",
    "service_name": "com.amazonaws.us-east-1.s3express",
    "route_table_ids": [ANALYTICS],
}
NEWER = {**LISTED, "id": "vpce-0f2d4b6a8c0e1f3a5", "route_table_ids": [PRIVATE]}
OVER_SAMPLE = {
    "a route goes": (
        gone("aws_route.out", route_table_id=PRIVATE, destination_cidr_block="0.0.0.0/0"),
        {"LOSES_PATH": 2, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
    "an endpoint goes": (gone("aws_vpc_endpoint.this", id=ENDPOINT), {"NAT_GATEWAY": 3, "INTERNET_GATEWAY": 1}),
    "an association goes": (
        gone("aws_route_table_association.a", subnet_id=APP_SUBNET, route_table_id=PRIVATE),
        {"LOSES_PATH": 1, "NAT_GATEWAY": 1, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
    "a subnet goes": (gone("aws_subnet.app", id=APP_SUBNET), {"NAT_GATEWAY": 1, "ENDPOINT": 1, "INTERNET_GATEWAY": 1}),
    "an internet gateway goes": (
        gone("aws_internet_gateway.this", id="igw-03d8e1f5a6c7b2940"),
        {"NAT_GATEWAY": 2, "ENDPOINT": 1, "LOSES_PATH": 1},
    ),
    "routes inside a table change": (
        changed("aws_route_table.analytics", INLINE, route=[{"cidr_block": "3.4.112.0/24", "nat_gateway_id": NAT}]),
        {"NAT_GATEWAY": 2, "PARTLY_NAT": 1, "INTERNET_GATEWAY": 1},
    ),
    "a route inside a table stays, whose own resource goes": (
        changed(
            "aws_route_table.private",
            {**INLINE, "id": PRIVATE},
            route=[*INLINE["route"], {"cidr_block": "203.0.113.0/24", "nat_gateway_id": NAT}],
        ).add(
            "aws_route.out",
            None,
            before={"route_table_id": PRIVATE, "destination_cidr_block": "0.0.0.0/0"},
            actions=["delete"],
        ),
        {"LOSES_PATH": 2, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
    "an association may be with a table of another VPC": (
        PlanBuilder()
        .add(
            "aws_subnet.app",
            {"id": APP_SUBNET, "vpc_id": VPC},
            before={"id": APP_SUBNET, "vpc_id": VPC},
            actions=["no-op"],
        )
        .add("aws_vpc.new", {"id": UNKNOWN})
        .add("aws_subnet.new", {"id": UNKNOWN, "vpc_id": UNKNOWN}, {"vpc_id": ["aws_vpc.new.id"]})
        .add("aws_route_table.new", {"id": UNKNOWN, "vpc_id": UNKNOWN}, {"vpc_id": ["aws_vpc.new.id"]})
        .add(
            "aws_route_table_association.new",
            {"subnet_id": UNKNOWN, "route_table_id": UNKNOWN},
            {"subnet_id": ["each.value.id"], "route_table_id": ["aws_route_table.new.id"]},
        ),
        {"NAT_GATEWAY": 2, "ENDPOINT": 1, "INTERNET_GATEWAY": 1, "NO_ROUTE": 1},
    ),
    "a table has a route to a NAT that the network does not show": (
        changed(
            "aws_route_table.analytics",
            {**INLINE, "route": [*INLINE["route"], {"cidr_block": "3.4.112.0/24", "nat_gateway_id": NAT}]},
            tags={"a": "b"},
        ),
        {"NAT_GATEWAY": 2, "UNRESOLVED_EGRESS": 1, "INTERNET_GATEWAY": 1},
    ),
    "only tags of a table change": (
        changed("aws_route_table.analytics", INLINE, tags={"a": "b"}),
        {"NAT_GATEWAY": 2, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
    "an endpoint lists other tables": (
        changed(
            "aws_vpc_endpoint.this",
            LISTED,
            route_table_ids=[PRIVATE],
        ),
        {"ENDPOINT": 2, "NAT_GATEWAY": 1, "INTERNET_GATEWAY": 1},
    ),
    "an endpoint lists one more table, and the association of another goes": (
        changed("aws_vpc_endpoint.this", LISTED, route_table_ids=[ANALYTICS, PRIVATE]).add(
            "aws_vpc_endpoint_route_table_association.a",
            None,
            before={"vpc_endpoint_id": ENDPOINT, "route_table_id": ANALYTICS},
            actions=["delete"],
        ),
        {"ENDPOINT": 2, "NAT_GATEWAY": 1, "INTERNET_GATEWAY": 1},
    ),
    "an endpoint that the network does not list yet": (
        PlanBuilder().add("aws_vpc_endpoint.newer", NEWER, before=NEWER, actions=["no-op"]),
        {"UNRESOLVED_EGRESS": 2, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
    "an endpoint may list a table no longer": (
        changed(
            "aws_vpc_endpoint.this",
            LISTED,
            {"route_table_ids": ["data.aws_route_tables.express.ids", "aws_route_table.new.id"]},
            route_table_ids=UNKNOWN,
        )
        .add("aws_route_table.new", {"id": UNKNOWN, "vpc_id": VPC})
        .add_data("aws_route_tables.express", {"ids": [ANALYTICS]}),
        {"NAT_GATEWAY": 2, "UNRESOLVED_EGRESS": 1, "INTERNET_GATEWAY": 1},
    ),
    "a table that an endpoint names goes": (
        gone("aws_route_table.analytics", id=ANALYTICS),
        {"NAT_GATEWAY": 2, "LOSES_PATH": 1, "INTERNET_GATEWAY": 1},
    ),
    "another main table": (
        PlanBuilder()
        .add("aws_main_route_table_association.main", {"vpc_id": VPC, "route_table_id": PRIVATE})
        .add("aws_subnet.new", {"id": UNKNOWN, "vpc_id": VPC}),
        {"NAT_GATEWAY": 3, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
    "a subnet is forgotten, and stays": (
        PlanBuilder().add("aws_subnet.app", None, before={"id": APP_SUBNET, "vpc_id": VPC}, actions=["forget"]),
        {"NAT_GATEWAY": 2, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
    "a subnet is forgotten, and another one is made": (
        PlanBuilder().add(
            "aws_subnet.app",
            {"id": UNKNOWN, "vpc_id": VPC},
            before={"id": APP_SUBNET, "vpc_id": VPC},
            actions=["forget", "create"],
        ),
        {"NAT_GATEWAY": 2, "ENDPOINT": 1, "INTERNET_GATEWAY": 1, "NO_ROUTE": 1},
    ),
    "a subnet is excluded": (
        changed("aws_subnet.app", {"id": APP_SUBNET, "vpc_id": VPC}, tags_all={"express-path:exclude": ""}),
        {"EXCLUDED": 1, "NAT_GATEWAY": 1, "ENDPOINT": 1, "INTERNET_GATEWAY": 1},
    ),
}


@pytest.mark.parametrize("case", OVER_SAMPLE)
def test_changes_of_the_sample_network(tmp_path: Path, case: str) -> None:
    """How many subnets have each reason after the apply."""
    plan, expected = OVER_SAMPLE[case]
    found = list(reasons(plan, tmp_path, "--example").values())
    assert {reason: found.count(reason) for reason in found} == expected


def test_a_new_directory_bucket_brings_subnets_into_scope(sandbox: Sandbox, tmp_path: Path) -> None:
    """With the scope DIRECTORY_BUCKETS, a plan that makes the first bucket, or shares a subnet, makes the paths matter."""
    network_of(sandbox)
    options = ["--parameter", "scope=DIRECTORY_BUCKETS", "--region", "us-east-1"]
    assert set(reasons(PlanBuilder(), tmp_path, *options).values()) == {"NO_DIRECTORY_BUCKETS"}
    for kind, expected in (("s3_directory_bucket", "NO_ROUTE"), ("ram_resource_association", "UNRESOLVED_EGRESS")):
        plan = PlanBuilder().add(f"aws_{kind}.this", {"id": UNKNOWN})
        assert set(reasons(plan, tmp_path, *options).values()) == {expected}


def network_of(sandbox: Sandbox) -> None:
    """Make a VPC with a subnet."""
    ec2 = sandbox.client("ec2")
    for vpc in ec2.describe_vpcs()["Vpcs"]:
        for subnet in ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc["VpcId"]]}])["Subnets"]:
            ec2.delete_subnet(SubnetId=subnet["SubnetId"])
    vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")


def test_a_tag_of_its_own_may_exclude_a_table(tmp_path: Path) -> None:
    """It counts like a tag of the table, and its deletion like none."""
    tag = {"resource_id": PRIVATE, "key": "express-path:exclude", "value": "yes"}
    plan = PlanBuilder().add("aws_ec2_tag.exclude", {"id": UNKNOWN, **tag})
    options = ("--example", "--parameter", "excludeTag=express-path:exclude")
    assert [*reasons(plan, tmp_path, *options).values()].count("EXCLUDED") == 2
    gone = PlanBuilder().add("aws_ec2_tag.exclude", None, before={"id": "x", **tag}, actions=["delete"])
    assert "EXCLUDED" not in reasons(gone, tmp_path, *options).values()
