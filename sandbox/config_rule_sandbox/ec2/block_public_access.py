"""VPC Block Public Access: the mode of an account and Region, exclusions from it, and what subnets show of both."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses import EC2Response
from moto.moto_api._internal import mock_random

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

MODES = ("off", "block-bidirectional", "block-ingress")
LEFT_BY = {"allow-bidirectional": "off", "allow-egress": "block-ingress"}
"""The mode that a subnet has under an exclusion (botocore model, InternetGatewayExclusionMode)."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Add the mode and its exclusions, which moto lacks.

    An exclusion of a subnet or of its VPC opens internet gateways to the subnet, for both directions or for egress
    (https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa-basics.html).
    """
    del knobs
    patches.set(Subnet, "block_public_access_states", property(_states))
    patches.set(EC2Response, "modify_vpc_block_public_access_options", _modify)
    patches.set(EC2Response, "describe_vpc_block_public_access_options", _describe)
    patches.set(EC2Response, "create_vpc_block_public_access_exclusion", _exclude)
    patches.set(EC2Response, "describe_vpc_block_public_access_exclusions", _exclusions)


def _of(backend: Moto) -> dict[str, Any]:
    """Return the mode of an account and Region, and the exclusion of each resource."""
    found: dict[str, Any] = backend.__dict__.setdefault("block_public_access", {"mode": "off", "exclusions": {}})
    return found


def _states(subnet: Moto) -> dict[str, str]:
    held = _of(subnet.ec2_backend)
    excluded = held["exclusions"].get(subnet.id) or held["exclusions"].get(subnet.vpc_id)
    mode = held["mode"]
    left = LEFT_BY[excluded["InternetGatewayExclusionMode"]] if excluded else mode
    return {"InternetGatewayBlockMode": mode if mode == "off" else left}


def _options(self: Moto) -> ActionResult:
    backend = self.ec2_backend
    options = {
        "AwsAccountId": backend.account_id,
        "AwsRegion": backend.region_name,
        "State": "update-complete",
        "InternetGatewayBlockMode": _of(backend)["mode"],
    }
    return ActionResult({"VpcBlockPublicAccessOptions": options})


def _describe(self: Moto) -> ActionResult:
    return _options(self)


def _modify(self: Moto) -> ActionResult:
    """Set the mode; it has effect at once."""
    mode = self._get_param("InternetGatewayBlockMode")
    if mode not in MODES:
        raise ApiError("InvalidParameterValue", f"Invalid value '{mode}' for InternetGatewayBlockMode")
    _of(self.ec2_backend)["mode"] = mode
    return _options(self)


def _exclude(self: Moto) -> ActionResult:
    """Exclude a subnet or a VPC; it has effect at once."""
    backend, mode = self.ec2_backend, self._get_param("InternetGatewayExclusionMode")
    subnet_id, vpc_id = self._get_param("SubnetId"), self._get_param("VpcId")
    if mode not in LEFT_BY or bool(subnet_id) == bool(vpc_id):
        raise ApiError("InvalidParameterCombination", "Name an exclusion mode, and either a subnet or a VPC")
    excluded = backend.get_subnet(subnet_id) if subnet_id else backend.get_vpc(vpc_id)
    kind = "subnet" if subnet_id else "vpc"
    exclusion = {
        "ExclusionId": f"vpcbpa-exclude-{mock_random.get_random_hex(17)}",
        "InternetGatewayExclusionMode": mode,
        "ResourceArn": f"arn:aws:ec2:{backend.region_name}:{backend.account_id}:{kind}/{excluded.id}",
        "State": "create-complete",
    }
    _of(backend)["exclusions"][excluded.id] = exclusion
    return ActionResult({"VpcBlockPublicAccessExclusion": exclusion})


def _exclusions(self: Moto) -> ActionResult:
    return ActionResult({"VpcBlockPublicAccessExclusions": list(_of(self.ec2_backend)["exclusions"].values())})
