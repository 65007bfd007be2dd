"""The recorder: which changes it detects, and which related resources also get an item."""

from collections.abc import Mapping

import pytest

from sandbox.config_items.direct import direct_client
from sandbox.config_items.items import ItemStyle, Recorded
from sandbox.config_items.recorder import Change, Recorder
from sandbox.server import Sandbox


def recorder_of(sandbox: Sandbox, style: ItemStyle | None = None) -> Recorder:
    """Return a recorder that has recorded once."""
    recorder = Recorder(
        direct_client(sandbox, "ec2"),
        direct_client(sandbox, "s3"),
        Recorded(sandbox.account_id, sandbox.region, style or ItemStyle()),
    )
    recorder.look()
    return recorder


def summary(changes: list[Change]) -> list[tuple[str, str, set[str]]]:
    """Return the type, id, and changed properties of each change."""
    return [
        (
            change.item["resourceType"].rpartition(":")[2],
            change.item["resourceId"],
            set(change.diff["changedProperties"]),
        )
        for change in changes
    ]


def test_first_look_discovers_everything(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """At first, every resource is new. A second recording finds no changes."""
    recorder = Recorder(
        direct_client(sandbox, "ec2"),
        direct_client(sandbox, "s3"),
        Recorded(sandbox.account_id, sandbox.region, ItemStyle()),
    )
    changes = recorder.look()
    assert {change.item["configurationItemStatus"] for change in changes} == {"ResourceDiscovered"}
    assert {network["public"], network["private"], network["isolated"]} <= {
        change.item["resourceId"] for change in changes
    }
    assert recorder.look() == []


def test_route_change_reaches_the_subnets_and_the_vpc(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """A new route leads to items of the table and, with an empty diff, of its subnets and its VPC.

    https://docs.aws.amazon.com/config/latest/developerguide/faq.html, indirect relationships.
    """
    recorder = recorder_of(sandbox)
    sandbox.client("ec2").create_route(
        RouteTableId=network["rtb-public"], DestinationCidrBlock="10.9.0.0/16", GatewayId=network["igw"]
    )
    assert summary(recorder.look()) == [
        ("RouteTable", network["rtb-public"], {"Configuration.Routes.0"}),
        ("Subnet", network["public"], set()),
        ("VPC", network["vpc"], set()),
    ]


def test_indirect_relationships_can_be_off(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """Without indirect relationships, a change of a table records only the table, and interfaces record no item."""
    recorder = recorder_of(sandbox, ItemStyle(indirect_relationships=False))
    ec2 = sandbox.client("ec2")
    ec2.create_network_interface(SubnetId=network["private"])
    ec2.delete_route(RouteTableId=network["rtb-private"], DestinationCidrBlock="0.0.0.0/0")
    expected = [("RouteTable", network["rtb-private"], {"Configuration.Routes.0"})]
    assert summary(recorder.look()) == expected


def test_moved_association_changes_both_tables_and_the_subnet(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """The subnet's diff has the table only in its relationships."""
    recorder = recorder_of(sandbox)
    ec2 = sandbox.client("ec2")
    (table,) = ec2.describe_route_tables(RouteTableIds=[network["rtb-public"]])["RouteTables"]
    (association_id,) = [association["RouteTableAssociationId"] for association in table["Associations"]]
    ec2.replace_route_table_association(AssociationId=association_id, RouteTableId=network["rtb-isolated"])
    found = {resource_id: (kind, changed) for kind, resource_id, changed in summary(recorder.look())}
    assert found[network["rtb-public"]] == ("RouteTable", {"Configuration.Associations.0", "Relationships.0"})
    assert found[network["rtb-isolated"]] == ("RouteTable", {"Configuration.Associations.0", "Relationships.0"})
    assert found[network["public"]] == ("Subnet", {"Relationships.0", "Relationships.1"})


@pytest.mark.parametrize(
    ("style", "changed"),
    [
        (ItemStyle(), {"Relationships.0"}),
        (ItemStyle(counts_addresses=True), {"Relationships.0", "Configuration.AvailableIpAddressCount"}),
    ],
)
def test_interface_touches_its_subnet(
    sandbox: Sandbox, network: Mapping[str, str], style: ItemStyle, changed: set[str]
) -> None:
    """A new interface records an item of its subnet and its VPC, with or without the new number of free addresses."""
    recorder = recorder_of(sandbox, style)
    sandbox.client("ec2").create_network_interface(SubnetId=network["private"])
    assert summary(recorder.look()) == [
        ("Subnet", network["private"], changed),
        ("VPC", network["vpc"], {"Relationships.0"}),
    ]


def test_interface_that_goes(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """The relationship is removed from the subnet's item."""
    ec2 = sandbox.client("ec2")
    interface = ec2.create_network_interface(SubnetId=network["private"])["NetworkInterface"]
    recorder = recorder_of(sandbox)
    ec2.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
    (subnet, _vpc) = recorder.look()
    assert subnet.diff["changedProperties"]["Relationships.0"]["changeType"] == "DELETE"


def test_deleted_subnet(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """A deleted subnet gets one item without a configuration, and its table no longer has a relationship to it."""
    recorder = recorder_of(sandbox)
    sandbox.client("ec2").delete_subnet(SubnetId=network["isolated"])
    (table, subnet, _vpc) = recorder.look()
    assert set(table.diff["changedProperties"]) == {"Configuration.Associations.0", "Relationships.0"}
    item = subnet.item
    assert (item["resourceId"], item["configurationItemStatus"]) == (network["isolated"], "ResourceDeleted")
    assert (item["configuration"], item["availabilityZone"], item["relationships"]) == (None, None, [])
    assert subnet.diff["changeType"] == "DELETE"
    assert recorder.look() == []


def test_capture_times_never_repeat(sandbox: Sandbox, network: Mapping[str, str]) -> None:
    """Each item has a different capture time, in the order of the items of one type."""
    recorder = recorder_of(sandbox)
    recorder.last.clear()
    times = [change.item["configurationItemCaptureTime"] for change in recorder.look()]
    assert len(set(times)) == len(times) > len(network)
