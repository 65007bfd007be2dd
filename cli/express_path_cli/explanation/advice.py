"""What to do about a subnet that a heal cannot help: what is unknown and how to find out, or what drops the traffic."""

from collections.abc import Mapping

from express_path.domain.network.targets import TargetKind
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.evaluator import Verdict

_OWNER = "ask the owner of the network behind it where its traffic to the internet leaves"
_APPLIANCE = (
    "ask the appliance's owner whether it translates addresses, or look in the flow logs of its subnet for traffic to "
    "the addresses of S3 Express"
)
_DESCRIBE_ENDPOINT = "look at it with aws ec2 describe-vpc-endpoints"
_HOW: Mapping[TargetKind, str] = {
    TargetKind.TRANSIT_GATEWAY: (
        "set the rule parameter networkRoleArn to a role of the network account, or scan a dump of the network account "
        "beside this one"
    ),
    TargetKind.TRANSIT_GATEWAY_ATTACHMENT: "ask the transit gateway's owner where this attachment leads",
    TargetKind.APPLIANCE_ENDPOINT: _APPLIANCE,
    TargetKind.NETWORK_INTERFACE: _APPLIANCE,
    TargetKind.INSTANCE: _APPLIANCE,
    TargetKind.VPC_ENDPOINT: _DESCRIBE_ENDPOINT,
    TargetKind.GATEWAY_ENDPOINT: _DESCRIBE_ENDPOINT,
    TargetKind.INTERNET_GATEWAY: "scan the account itself",
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: "scan the account itself",
}
_APPLIANCES = (TargetKind.APPLIANCE_ENDPOINT, TargetKind.NETWORK_INTERFACE)


def advice(verdict: Verdict) -> str:
    """What is unknown and how to find out, or what to fix; empty for every verdict that needs neither."""
    if verdict.reason is Reason.DROPPED:
        return f"AWS drops the traffic, and an endpoint may not help: {verdict.note}."
    if verdict.reason is not Reason.UNRESOLVED_EGRESS:
        return ""
    return f"What is unknown: {verdict.note}. How to find out: {_how(verdict)}."


def _how(verdict: Verdict) -> str:
    if "ec2:" in verdict.note or not verdict.path:
        return "grant the permission, and run this again"
    last = verdict.path[-1].kind
    ends = (TargetKind.INTERNET_GATEWAY, TargetKind.EGRESS_ONLY_INTERNET_GATEWAY, TargetKind.GATEWAY_ENDPOINT)
    # What lies behind an appliance is read from routes; what the appliance does is not.
    if last in ends and any(hop.kind in _APPLIANCES for hop in verdict.path):
        return _APPLIANCE
    return _HOW.get(last, _OWNER)
