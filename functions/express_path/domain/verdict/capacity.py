"""How much a NAT on the path can carry: evidence beside a verdict, never part of it."""

from typing import NamedTuple

from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Reason


class Capacity(NamedTuple):
    """What a hop can carry, in Gbit/s; name is an instance type or the kind of NAT. None where AWS does not tell."""

    hop_id: str
    name: str
    baseline_gbps: float | None
    peak_gbps: float | None


NAT_GATEWAY_GBPS = (5.0, 100.0)
"""A NAT gateway starts at 5 Gbit/s and scales to 100
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html)."""


def carrying(reason: Reason, path: tuple[Hop, ...]) -> tuple[Hop, ...]:
    """The hops that carry traffic: none of a path on which AWS drops it, such as one to a NAT gateway that is gone."""
    return () if reason is Reason.DROPPED else path


def capacities(path: tuple[Hop, ...], snapshot: Snapshot) -> list[Capacity]:
    """What each NAT gateway and instance on a path can carry, in the order of the hops."""
    found = []
    for hop in path:
        if hop.kind is TargetKind.NAT_GATEWAY:
            gateway = snapshot.nat_gateways.get(hop.id)
            name = f"{gateway.availability_mode} {gateway.connectivity} NAT gateway" if gateway else "NAT gateway"
            found.append(Capacity(hop.id, name, *NAT_GATEWAY_GBPS))
        elif hop.kind is TargetKind.NETWORK_INTERFACE:
            interface = (snapshot.network_interfaces or {}).get(hop.id)
            instance = snapshot.instances.get(interface.instance_id or "") if interface else None
            if instance:
                found.append(Capacity(hop.id, instance.instance_type, instance.baseline_gbps, instance.peak_gbps))
    return found
