"""The kinds of route targets, and how a target's id shows its kind."""

from enum import StrEnum


class TargetKind(StrEnum):
    """What a route can lead to, and therefore what a hop can be (botocore model: ec2 Route)."""

    LOCAL = "LOCAL"
    GATEWAY_ENDPOINT = "GATEWAY_ENDPOINT"
    APPLIANCE_ENDPOINT = "APPLIANCE_ENDPOINT"
    VPC_ENDPOINT = "VPC_ENDPOINT"
    NAT_GATEWAY = "NAT_GATEWAY"
    INTERNET_GATEWAY = "INTERNET_GATEWAY"
    EGRESS_ONLY_INTERNET_GATEWAY = "EGRESS_ONLY_INTERNET_GATEWAY"
    INSTANCE = "INSTANCE"
    NETWORK_INTERFACE = "NETWORK_INTERFACE"
    TRANSIT_GATEWAY = "TRANSIT_GATEWAY"
    TRANSIT_GATEWAY_ATTACHMENT = "TRANSIT_GATEWAY_ATTACHMENT"
    VPC_PEERING_CONNECTION = "VPC_PEERING_CONNECTION"
    VIRTUAL_PRIVATE_GATEWAY = "VIRTUAL_PRIVATE_GATEWAY"
    CORE_NETWORK = "CORE_NETWORK"
    CARRIER_GATEWAY = "CARRIER_GATEWAY"
    LOCAL_GATEWAY = "LOCAL_GATEWAY"
    ODB_NETWORK = "ODB_NETWORK"
    UNKNOWN = "UNKNOWN"


_KIND_BY_ID_PREFIX = {
    "nat": TargetKind.NAT_GATEWAY,
    "igw": TargetKind.INTERNET_GATEWAY,
    "eigw": TargetKind.EGRESS_ONLY_INTERNET_GATEWAY,
    "vpce": TargetKind.VPC_ENDPOINT,
    "i": TargetKind.INSTANCE,
    "eni": TargetKind.NETWORK_INTERFACE,
    "tgw": TargetKind.TRANSIT_GATEWAY,
    "pcx": TargetKind.VPC_PEERING_CONNECTION,
    "vgw": TargetKind.VIRTUAL_PRIVATE_GATEWAY,
    "cagw": TargetKind.CARRIER_GATEWAY,
    "lgw": TargetKind.LOCAL_GATEWAY,
}


def target_kind(target_id: str) -> TargetKind:
    """Return the kind of the resource that an id names; UNKNOWN if the id's prefix is not known here."""
    if target_id == "local":
        return TargetKind.LOCAL
    if target_id.startswith("arn:"):
        service = target_id.split(":")[2]
        arns = {"networkmanager": TargetKind.CORE_NETWORK, "odb": TargetKind.ODB_NETWORK}
        return arns.get(service, TargetKind.UNKNOWN)
    return _KIND_BY_ID_PREFIX.get(target_id.partition("-")[0], TargetKind.UNKNOWN)
