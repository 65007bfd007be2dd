"""VPC Block Public Access: the mode of an account and Region, exclusions from it, and what subnets show of both."""

import time
from dataclasses import dataclass, field, replace
from datetime import timedelta

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses import EC2Response
from moto.moto_api._internal import mock_random

from config_rule_sandbox.answers import ShownBlockMode, given
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.memory import memory_of
from config_rule_sandbox.patching.patches import Patches

LAG_SECONDS = 60 * 60
"""How long subnets do not show a change, where they show it later."""
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


@dataclass(frozen=True, slots=True)
class Settings:
    """The mode of an account and Region, and the exclusion of each resource."""

    mode: str = "off"
    exclusions: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class BlockPublicAccess:
    """The settings of an account and Region, those before the last change, and when that was (seconds since 1970)."""

    settings: Settings = field(default_factory=Settings)
    before: Settings = field(default_factory=Settings)
    changed: float = 0.0

    def change(self, settings: Settings) -> None:
        """Set other settings."""
        self.before, self.settings, self.changed = self.shown(), settings, time.time()

    @property
    def is_shown(self) -> bool:
        """Whether subnets show the last change."""
        is_late = given().shown_block_mode is ShownBlockMode.LATER
        return not is_late or time.time() - self.changed >= LAG_SECONDS

    def shown(self) -> Settings:
        """Return the settings that subnets show."""
        return self.settings if self.is_shown else self.before

    def grow_older(self, age: timedelta) -> None:
        """Let the last change be older."""
        self.changed -= age.total_seconds()


def block_public_access_of(account_id: str, region: str) -> BlockPublicAccess:
    """Return the settings of one account and Region."""
    return _of(ec2_backends[account_id][region])


def _of(backend: Moto) -> BlockPublicAccess:
    return memory_of(backend, BlockPublicAccess)


def _states(subnet: Moto) -> dict[str, str]:
    shown = _of(subnet.ec2_backend).shown()
    excluded = shown.exclusions.get(subnet.id) or shown.exclusions.get(subnet.vpc_id)
    left = LEFT_BY[excluded["InternetGatewayExclusionMode"]] if excluded else shown.mode
    return {"InternetGatewayBlockMode": shown.mode if shown.mode == "off" else left}


def _options(self: Moto) -> ActionResult:
    backend = self.ec2_backend
    held = _of(backend)
    options = {
        "AwsAccountId": backend.account_id,
        "AwsRegion": backend.region_name,
        "State": "update-complete" if held.is_shown else "update-in-progress",
        "InternetGatewayBlockMode": held.settings.mode,
    }
    return ActionResult({"VpcBlockPublicAccessOptions": options})


def _describe(self: Moto) -> ActionResult:
    return _options(self)


def _modify(self: Moto) -> ActionResult:
    """Set the mode."""
    mode = self._get_param("InternetGatewayBlockMode")
    if mode not in MODES:
        raise ApiError("InvalidParameterValue", f"Invalid value '{mode}' for InternetGatewayBlockMode")
    held = _of(self.ec2_backend)
    held.change(replace(held.settings, mode=mode))
    return _options(self)


def _exclude(self: Moto) -> ActionResult:
    """Exclude a subnet or a VPC."""
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
    held = _of(backend)
    held.change(replace(held.settings, exclusions={**held.settings.exclusions, excluded.id: exclusion}))
    return ActionResult({"VpcBlockPublicAccessExclusion": exclusion})


def _exclusions(self: Moto) -> ActionResult:
    return ActionResult({"VpcBlockPublicAccessExclusions": list(_of(self.ec2_backend).settings.exclusions.values())})
