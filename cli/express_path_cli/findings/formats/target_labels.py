"""How formats name the kind of a route's target."""

from collections.abc import Mapping

from express_path.domain.network.resources import TargetKind

_LABELS: Mapping[TargetKind, str] = {
    TargetKind.VPC_ENDPOINT: "VPC endpoint",
    TargetKind.VPC_PEERING_CONNECTION: "VPC peering connection",
    TargetKind.NAT_GATEWAY: "NAT gateway",
    TargetKind.ODB_NETWORK: "ODB network",
    TargetKind.CORE_NETWORK: "Cloud WAN core network",
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: "egress-only internet gateway",
    TargetKind.UNKNOWN: "unknown target",
}


def target_label(kind: TargetKind) -> str:
    """Return AWS's name of a kind of target, such as "NAT gateway"."""
    return _LABELS.get(kind) or kind.replace("_", " ").lower()
