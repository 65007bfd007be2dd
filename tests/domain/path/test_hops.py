"""Following single hops: endpoints, interfaces, and what cannot be followed."""

from dataclasses import replace

import pytest

from express_path.domain.network.resources import Instance, NetworkInterface
from express_path.domain.network.snapshot import Snapshot
from tests.support.make import by_id, endpoint, firewalls, route, snapshot, subnet, table, verdict_on

APPLIANCE = endpoint("vpce-appliance", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-2",))
DEFAULT = "0.0.0.0/0"


def network(*first: object, beyond: tuple = (), **more: object) -> Snapshot:
    """subnet-1 with these routes, subnet-2 with those beyond a hop."""
    tables = by_id(
        table("rtb-1", *first, subnets=("subnet-1",)),
        table("rtb-2", *beyond, subnets=("subnet-2",)),
    )
    endpoints = by_id(endpoint(), APPLIANCE)
    return snapshot(
        **{"subnets": by_id(subnet(), subnet("subnet-2")), "route_tables": tables, "vpc_endpoints": endpoints, **more}
    )


TO_APPLIANCE = route(DEFAULT, "vpce-appliance")
TO_INTERFACE = route(DEFAULT, "eni-1")
OPEN = by_id(NetworkInterface("eni-1", "subnet-2", source_dest_check=False, instance_id="i-1", device_index=0))
TO_IGW, TO_NAT, TO_ENDPOINT = route(DEFAULT, "igw-1"), route(DEFAULT, "nat-1"), route("pl-express", "vpce-express")


def test_a_route_in_a_state_that_aws_does_not_explain_is_unresolved() -> None:
    """EC2's API model has the state filtered, and AWS does not document what it means."""
    assert verdict_on(network(route(DEFAULT, "nat-1", state="filtered"))).reason == "UNRESOLVED_EGRESS"


@pytest.mark.parametrize(
    "change",
    [
        {"state": "pending"},
        {"state": "deleting"},
        {"service_name": "com.amazonaws.us-east-1.s3"},
        {"service_name": ""},
        {"service_name": "com.amazonaws.eu-west-1.s3express"},
        {"endpoint_type": "interface"},
        {"vpc_id": "vpc-2"},
        {"vpc_id": ""},
    ],
)
def test_an_endpoint_that_does_not_serve_s3_express_is_unresolved(change: dict[str, str]) -> None:
    """Only an available gateway endpoint of this Region's s3express in the same VPC makes a subnet COMPLIANT."""
    assert verdict_on(network(TO_ENDPOINT)).reason == "ENDPOINT"
    changed = network(TO_ENDPOINT, vpc_endpoints=by_id(replace(endpoint(), **change)))
    assert verdict_on(changed).reason == "UNRESOLVED_EGRESS"


@pytest.mark.parametrize("change", [{"state": "pending"}, {"subnet_ids": ()}, {"subnet_ids": ("subnet-9",)}])
def test_an_appliance_endpoint_out_of_sight_is_unresolved(change: dict[str, object]) -> None:
    """If the state or the subnet of a hop does not allow following it, the path is unknown."""
    changed = by_id(replace(APPLIANCE, **change))
    assert verdict_on(network(TO_APPLIANCE, beyond=(TO_NAT,), vpc_endpoints=changed)).reason == "UNRESOLVED_EGRESS"


@pytest.mark.parametrize(("last", "reason"), [("igw-1", "UNRESOLVED_EGRESS"), ("nat-1", "NAT_BEHIND_APPLIANCE")])
def test_an_interface_in_front_of_an_appliance_that_may_translate(last: str, reason: str) -> None:
    """Only a NAT is certain: the appliance may not forward to the internet gateway behind it."""
    beyond = replace(APPLIANCE, subnet_ids=("subnet-3",))
    found = network(TO_INTERFACE, beyond=(TO_APPLIANCE,), network_interfaces=OPEN, vpc_endpoints=by_id(beyond))
    third = by_id(table("rtb-3", route(DEFAULT, last), subnets=("subnet-3",)))
    found = replace(
        found,
        subnets={**found.subnets, **by_id(subnet("subnet-3"))},
        route_tables={**found.route_tables, **third},
    )
    assert verdict_on(found).reason == reason


def test_an_interface_in_front_of_a_transit_gateway_is_unresolved() -> None:
    """Whether the interface is a NAT instance depends on what is beyond the transit gateway."""
    found = network(TO_INTERFACE, beyond=(route(DEFAULT, "tgw-1"),), network_interfaces=OPEN)
    assert verdict_on(found).reason == "UNRESOLVED_EGRESS"


def test_a_proxy_firewall_whose_nat_gateway_is_not_named_is_a_nat() -> None:
    """Its endpoint in another VPC has no NAT gateway of its own, so the path ends at the endpoint."""
    proxy = firewalls("vpce-appliance", is_proxy=True)
    verdict = verdict_on(network(TO_APPLIANCE, beyond=(TO_ENDPOINT,), firewalls=proxy))
    assert verdict.reason == "NAT_BEHIND_APPLIANCE"
    assert [hop.id for hop in verdict.path] == ["vpce-appliance"]


def test_a_nat_instance_whose_internet_gateway_may_lose_at_random_still_counts() -> None:
    """Of two lists with equal entries AWS picks one, and the worse is given: the internet gateway makes it a NAT."""
    tied = (route("pl-express", "igw-1"), route("pl-twin", "vgw-1"))
    lists = snapshot().prefix_lists
    twin = replace(lists["pl-express"], id="pl-twin", name="twin", aws_owned=False)
    found = network(TO_INTERFACE, beyond=tied, network_interfaces=OPEN, prefix_lists={**lists, "pl-twin": twin})
    assert verdict_on(found).reason == "NAT_INSTANCE"


@pytest.mark.parametrize(
    "interfaces",
    [
        None,
        {},
        by_id(replace(OPEN["eni-1"], source_dest_check=True)),
        by_id(replace(OPEN["eni-1"], subnet_id="subnet-9")),
    ],
    ids=["unreadable", "not listed", "check on", "subnet not listed"],
)
def test_an_interface_that_does_not_forward_is_unresolved(interfaces: dict | None) -> None:
    """An interface with the check on drops what is not its own; one out of sight may do anything."""
    found = network(TO_INTERFACE, beyond=(TO_IGW,), network_interfaces=interfaces)
    assert verdict_on(found).reason == "UNRESOLVED_EGRESS"


def test_of_an_instances_interfaces_the_primary_one_counts() -> None:
    """A route that names only an instance uses its primary interface."""
    second = NetworkInterface("eni-0", "subnet-2", source_dest_check=True, instance_id="i-1", device_index=1)
    found = network(route(DEFAULT, "i-1"), beyond=(TO_IGW,), network_interfaces={"eni-0": second, **OPEN})
    assert verdict_on(found).reason == "NAT_INSTANCE"


def two_armed(**more: object) -> Snapshot:
    """An interface that forwards, in a subnet without a way out, of an instance with another interface."""
    found = network(route(DEFAULT, "eni-1"), beyond=(), network_interfaces=OPEN)
    instance_id = found.network_interfaces["eni-1"].instance_id
    other = NetworkInterface("eni-2", "subnet-3", source_dest_check=False, instance_id=instance_id)
    return replace(
        found,
        subnets={**found.subnets, "subnet-3": subnet("subnet-3")},
        route_tables={**found.route_tables, "rtb-3": table("rtb-3", TO_IGW, subnets=("subnet-3",))},
        **(more or {"network_interfaces": {**found.network_interfaces, "eni-2": other}}),
    )


def test_an_instance_whose_other_interface_leads_to_the_internet_may_be_a_nat() -> None:
    """The sentence names the other interface and what to check, whether EC2 or the instance shows that interface."""
    verdict = verdict_on(two_armed())
    assert verdict.reason == "UNRESOLVED_EGRESS"
    assert "i-1 may be a NAT: its other interface eni-2 leads to an internet gateway" in verdict.note
    of_instance = Instance("i-1", "t4g.nano", subnet_of_interface={"eni-1": "subnet-2", "eni-2": "subnet-3"})
    assert verdict_on(two_armed(instances=by_id(of_instance))).note == verdict.note
    alone = Instance("i-1", "t4g.nano", subnet_of_interface={"eni-1": "subnet-2"})
    assert "may be a NAT" not in verdict_on(two_armed(instances=by_id(alone))).note


@pytest.mark.parametrize(
    ("interfaces", "note"),
    [
        (OPEN, "eni-1 is stopped or detached now, so the route is a blackhole until it runs again"),
        (None, "the route is a blackhole now, because eni-1 is stopped, detached, or deleted; to find out"),
    ],
    ids=["listed", "unreadable"],
)
def test_a_blackhole_to_an_interface_says_what_is_known_of_it(interfaces: dict | None, note: str) -> None:
    """If interfaces cannot be read, it may not exist any more."""
    found = network(route(DEFAULT, "eni-1", state="blackhole"), beyond=(), network_interfaces=interfaces)
    assert verdict_on(found).note.startswith(note)
