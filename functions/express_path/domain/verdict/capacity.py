"""How much traffic a NAT on the path can carry. It adds information to a verdict and never changes one."""

from dataclasses import dataclass

from express_path.domain.network.resources import TargetKind
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Reason


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a hop can carry, in Gbit/s, None if AWS does not publish it; name is an instance type or the kind of NAT."""

    hop_id: str
    name: str
    baseline_gbps: float | None
    peak_gbps: float | None


NAT_GATEWAY_BASELINE_GBPS = 5.0
"""What a NAT gateway carries before it scales up, in Gbit/s
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html)."""
NAT_GATEWAY_PEAK_GBPS = 100.0
"""What a NAT gateway scales up to, in Gbit/s (same source)."""


def carrying_hops(reason: Reason, path: tuple[Hop, ...]) -> tuple[Hop, ...]:
    """Return the hops that carry traffic: none if AWS drops it, such as on a path to a deleted NAT gateway."""
    return () if reason is Reason.DROPPED else path


def capacities(path: tuple[Hop, ...], snapshot: Snapshot) -> list[Capacity]:
    """Return what each NAT gateway and instance on a path can carry, in the order of the hops."""
    known = []
    for hop in path:
        if hop.kind is TargetKind.NAT_GATEWAY:
            gateway = snapshot.nat_gateways.get(hop.id)
            name = f"{gateway.availability_mode} {gateway.connectivity} NAT gateway" if gateway else "NAT gateway"
            known.append(Capacity(hop.id, name, NAT_GATEWAY_BASELINE_GBPS, NAT_GATEWAY_PEAK_GBPS))
        elif hop.kind is TargetKind.NETWORK_INTERFACE:
            interface = (snapshot.network_interfaces or {}).get(hop.id)
            instance = snapshot.instances.get(interface.instance_id or "") if interface else None
            if instance:
                known.append(Capacity(hop.id, instance.instance_type, instance.baseline_gbps, instance.peak_gbps))
    return known
