"""Associations of route tables with subnets and with gateways (edge associations)."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_subnet_association_id

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

ASSOCIATED = {"State": "associated"}


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct AssociateRouteTable, DisassociateRouteTable and what is left of a deleted subnet.

    moto silently keeps the old table when a subnet is associated with another one, associates gateways of any VPC,
    keeps the associations of deleted subnets, and deletes main tables and subnets in use
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateRouteTable.html).
    """
    del knobs
    patches.set(EC2Response, "associate_route_table", _associate_route_table)
    patches.wrap(EC2Response, "disassociate_route_table", _disassociating)
    patches.wrap(EC2Response, "delete_route_table", _deleting_table)
    patches.wrap(EC2Response, "delete_subnet", _deleting_subnet_in_use)
    patches.wrap(EC2Backend, "delete_subnet", _deleting_subnet)
    patches.set(RouteTable, "associations", property(_associations))


def associate(table: Moto, target_id: str) -> str:
    """Associate a table with a subnet or gateway without any check, and return the id of the association."""
    association_id: str = random_subnet_association_id()
    table._associations[association_id] = target_id
    return association_id


def _associations(self: Moto) -> list[dict[str, Any]]:
    """Return the associations: the main one names no subnet, an edge association names its gateway."""
    common = {"RouteTableId": self.id, "AssociationState": ASSOCIATED}
    found: list[dict[str, Any]] = []
    if self.main_association_id is not None:
        found.append({**common, "RouteTableAssociationId": self.main_association_id, "Main": True})
    for association_id, target_id in self._associations.items():
        kind = "SubnetId" if target_id.startswith("subnet-") else "GatewayId"
        found.append({**common, "RouteTableAssociationId": association_id, "Main": False, kind: target_id})
    return found


def _associate_route_table(self: Moto) -> ActionResult:
    backend = self.ec2_backend
    table = backend.get_route_table(self._get_param("RouteTableId"))
    target_id = self._get_param("SubnetId") or self._get_param("GatewayId")
    if target_id is None:
        raise ApiError("MissingParameter", "The request must contain the parameter subnetId or gatewayId")
    if _vpc_id(backend, target_id) != table.vpc_id:
        message = f"route table {table.id} and {target_id} belong to different networks"
        raise ApiError("InvalidParameterValue", message)
    association_id = _existing(backend, table, target_id) or associate(table, target_id)
    return ActionResult({"AssociationId": association_id, "AssociationState": ASSOCIATED})


def _vpc_id(backend: Moto, target_id: str) -> str | None:
    """Return the VPC that a subnet is in or a gateway is attached to, None if it is not attached."""
    if target_id.startswith("subnet-"):
        return str(backend.get_subnet(target_id).vpc_id)
    return getattr(backend.get_internet_gateway(target_id).vpc, "id", None)


def _existing(backend: Moto, table: Moto, target_id: str) -> str | None:
    """Return the association of target and table if there is one; Resource.AlreadyAssociated if it has another table.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
    """
    for other in backend.route_tables.values():
        for association_id, associated_id in other._associations.items():
            if associated_id != target_id:
                continue
            if other is table:
                return str(association_id)
            raise ApiError(
                "Resource.AlreadyAssociated",
                f"the specified association for route table {table.id} conflicts with an existing association",
            )
    return None


def _disassociating(original: Moto) -> Moto:
    """Reject the disassociation of a main route table."""

    def disassociate_route_table(self: Moto) -> ActionResult:
        association_id = self._get_param("AssociationId")
        if any(table.main_association_id == association_id for table in self.ec2_backend.route_tables.values()):
            # As in https://github.com/ansible/ansible/issues/25521.
            message = f"cannot disassociate the main route table association {association_id}"
            raise ApiError("InvalidParameterValue", message)
        answer: ActionResult = original(self)
        return answer

    return disassociate_route_table


def _deleting_table(original: Moto) -> Moto:
    def delete_route_table(self: Moto) -> ActionResult:
        """Delete a table, but not a main one.

        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html.
        """
        table = self.ec2_backend.get_route_table(self._get_param("RouteTableId"))
        if table.main_association_id is not None:
            raise _has_dependencies("routeTable", table.id)
        answer: ActionResult = original(self)
        return answer

    return delete_route_table


def _deleting_subnet_in_use(original: Moto) -> Moto:
    def delete_subnet(self: Moto) -> ActionResult:
        """Delete a subnet without network interfaces, those of NAT gateways and instances among them.

        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html.
        """
        subnet_id = self._get_param("SubnetId")
        if any(interface.subnet.id == subnet_id for interface in self.ec2_backend.enis.values()):
            raise _has_dependencies("subnet", subnet_id)
        answer: ActionResult = original(self)
        return answer

    return delete_subnet


def _has_dependencies(kind: str, resource_id: str) -> ApiError:
    return ApiError("DependencyViolation", f"The {kind} '{resource_id}' has dependencies and cannot be deleted.")


def _deleting_subnet(original: Moto) -> Moto:
    def delete_subnet(self: Moto, subnet_id: str) -> Moto:
        subnet = original(self, subnet_id)
        for table in self.route_tables.values():
            kept = {key: target for key, target in table._associations.items() if target != subnet_id}
            table._associations = kept
        return subnet

    return delete_subnet
