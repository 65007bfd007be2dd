"""How to find out where the traffic of an UNRESOLVED_EGRESS subnet leaves."""

from collections.abc import Mapping

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.hops import INGRESS_ONLY, REGIONAL_NAT_CLOSED
from express_path.domain.verdict.evaluator import Verdict

_ASK_NETWORK_OWNER = "ask the owner of the network behind it how its traffic to the internet leaves"
_ASK_APPLIANCE_OWNER = (
    "ask the appliance's owner whether it translates addresses, or look for traffic to S3 Express addresses in the "
    "flow logs of its subnet"
)
_DESCRIBE_ENDPOINT = "run aws ec2 describe-vpc-endpoints"
_BY_LAST_HOP: Mapping[TargetKind, str] = {
    TargetKind.TRANSIT_GATEWAY: (
        "set the rule parameter networkRoleArn to a role in the network account, or scan a dump of the network account "
        "together with this one"
    ),
    TargetKind.TRANSIT_GATEWAY_ATTACHMENT: "ask the transit gateway's owner where this attachment leads",
    TargetKind.APPLIANCE_ENDPOINT: _ASK_APPLIANCE_OWNER,
    TargetKind.NETWORK_INTERFACE: _ASK_APPLIANCE_OWNER,
    TargetKind.INSTANCE: _ASK_APPLIANCE_OWNER,
    TargetKind.VPC_ENDPOINT: _DESCRIBE_ENDPOINT,
    TargetKind.GATEWAY_ENDPOINT: _DESCRIBE_ENDPOINT,
    TargetKind.INTERNET_GATEWAY: "scan the account itself",
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: "scan the account itself",
}
_BY_NOTE = {
    INGRESS_ONLY: "open a connection to S3 Express from an instance in the subnet",
    REGIONAL_NAT_CLOSED: "look at the NAT gateway's metric BytesOutToDestination, or ask who blocked the VPC",
}
_APPLIANCES = (TargetKind.APPLIANCE_ENDPOINT, TargetKind.NETWORK_INTERFACE)
_EXITS = (TargetKind.INTERNET_GATEWAY, TargetKind.EGRESS_ONLY_INTERNET_GATEWAY, TargetKind.GATEWAY_ENDPOINT)


def how_to_find_out(verdict: Verdict) -> str:
    """Return how to find out what is unknown about a path, by its note and its last hop."""
    if "ec2:" in verdict.note or "network-firewall:" in verdict.note:
        return "grant the permission and run the command again"
    if verdict.note in _BY_NOTE:
        return _BY_NOTE[verdict.note]
    if not verdict.path:
        return verdict.note
    last = verdict.path[-1].kind
    # Routes show the network behind an appliance, but not what the appliance itself does.
    if last in _EXITS and any(hop.kind in _APPLIANCES for hop in verdict.path):
        return _ASK_APPLIANCE_OWNER
    return _BY_LAST_HOP.get(last, _ASK_NETWORK_OWNER)
