"""How much a NAT on the path can carry."""

from express_path.domain.network.resources import Instance, NatGateway, NetworkInterface, TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.capacity import Capacity, capacities, carrying_hops
from tests.support.make import by_id, snapshot

KNOWN = snapshot(
    nat_gateways=by_id(NatGateway("nat-1", "vpc-1", connectivity="private")),
    network_interfaces=by_id(
        NetworkInterface("eni-1", "subnet-1", source_dest_check=False, instance_id="i-1"),
        NetworkInterface("eni-2", "subnet-1", source_dest_check=False),
    ),
    instances=by_id(Instance("i-1", "t4g.nano", 0.032, 5.0)),
)


def hop(kind: TargetKind, target_id: str) -> Hop:
    """A hop by a default route."""
    return Hop(kind, target_id, "0.0.0.0/0")


def test_a_nat_gateways_capacity() -> None:
    """5 to 100 Gbit/s, whether the gateway is listed or not; other hops carry nothing of note."""
    path = (
        hop(TargetKind.TRANSIT_GATEWAY, "tgw-1"),
        hop(TargetKind.NAT_GATEWAY, "nat-1"),
        hop(TargetKind.NAT_GATEWAY, "nat-2"),
    )
    assert capacities(path, KNOWN) == [
        Capacity("nat-1", "zonal private NAT gateway", 5.0, 100.0),
        Capacity("nat-2", "NAT gateway", 5.0, 100.0),
    ]


def test_a_nat_instances_capacity() -> None:
    """What the instance type's network cards carry; nothing where instance or interface is not known."""
    path = tuple(hop(TargetKind.NETWORK_INTERFACE, key) for key in ("eni-1", "eni-2", "eni-3"))
    assert capacities(path, KNOWN) == [Capacity("eni-1", "t4g.nano", 0.032, 5.0)]
    assert capacities(path, snapshot()) == []


def test_a_nat_gateway_that_is_gone_carries_nothing() -> None:
    """AWS drops the traffic there."""
    path = (hop(TargetKind.NAT_GATEWAY, "nat-1"),)
    assert carrying_hops(Reason.DROPPED, path) == ()
    assert carrying_hops(Reason.NAT_GATEWAY, path) == path
