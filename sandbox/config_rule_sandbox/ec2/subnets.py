"""Subnets: DNS64, the state of IPv6 blocks, and which subnets are default ones."""

from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses import EC2Response

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct CreateSubnet, ModifySubnetAttribute and what DescribeSubnets shows.

    moto has no EnableDns64, garbles the state of IPv6 blocks, and calls the first subnet in a zone a default subnet,
    with public addresses, in any VPC; AWS only those of the default VPC
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Subnet.html,
    https://docs.aws.amazon.com/vpc/latest/userguide/default-subnet.html).
    """
    del knobs
    patches.set(Subnet, "enable_dns64", value=False)
    patches.set(Subnet, "map_customer_owned_ip_on_launch", value=False)
    patches.set(Subnet, "ipv6_cidr_block_association_set", property(_ipv6_cidr_block_association_set))
    patches.wrap(EC2Backend, "create_subnet", _creating)
    patches.wrap(EC2Response, "modify_subnet_attribute", _modifying)


def _ipv6_cidr_block_association_set(self: Moto) -> list[dict[str, Any]]:
    """Return the blocks that are associated; each with a state of the shape that the botocore model has."""
    return [
        {
            "AssociationId": association["associationId"],
            "Ipv6CidrBlock": association["ipv6CidrBlock"],
            "Ipv6CidrBlockState": {"State": association["ipv6CidrBlockState"]["State"]},
        }
        for association in self.ipv6_cidr_block_associations.values()
        if association["ipv6CidrBlockState"]["State"] == "associated"
    ]


def _creating(original: Moto) -> Moto:
    def create_subnet(self: Moto, vpc_id: str, *arguments: Moto, **named: Moto) -> Moto:
        subnet = original(self, vpc_id, *arguments, **named)
        if not self.get_vpc(vpc_id).is_default:
            subnet.default_for_az = subnet.map_public_ip_on_launch = False
        return subnet

    return create_subnet


def _modifying(original: Moto) -> Moto:
    def modify_subnet_attribute(self: Moto) -> ActionResult:
        value = self._get_param("EnableDns64.Value")
        if value is None:
            answer: ActionResult = original(self)
            return answer
        self.ec2_backend.get_subnet(self._get_param("SubnetId")).enable_dns64 = value
        return EmptyResult()

    return modify_subnet_attribute
