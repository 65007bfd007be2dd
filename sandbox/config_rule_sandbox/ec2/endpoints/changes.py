"""Changing and deleting gateway endpoints, with their routes."""

import json
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from config_rule_sandbox.answers import TableAddedAgain, given
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.endpoints.checks import (
    check_address_families,
    check_nothing_of_interfaces,
    check_policy,
    checked_route_tables,
)
from config_rule_sandbox.ec2.endpoints.creation import GATEWAY
from config_rule_sandbox.ec2.endpoints.routes import add_routes, check_routes, keep_only_routes, prefix_lists_of_service
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.models import Endpoint
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct ModifyVpcEndpoint, DeleteVpcEndpoints and, where a table vanishes, DeleteRouteTable.

    moto changes an endpoint's list of route tables but never their routes, and DeleteVpcEndpoints is silent about
    unknown ids (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyVpcEndpoint.html,
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpcEndpoints.html).
    """

    def delete_vpc_endpoints(self: Moto) -> ActionResult:
        return _delete_vpc_endpoints(self, knobs)

    patches.wrap(EC2Response, "modify_vpc_endpoint", _modifying)
    patches.set(EC2Response, "delete_vpc_endpoints", delete_vpc_endpoints)
    patches.wrap(EC2Response, "delete_route_table", _deleting_route_table)


def _modifying(original: Moto) -> Moto:
    """Check the change and apply it to the endpoint's route tables and policy.

    A deleted endpoint has no routes (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpcEndpoints.html),
    so one that is being deleted gets none either. Which error that is, is not documented.
    """

    def modify_vpc_endpoint(self: Moto) -> ActionResult:
        backend, parameters = self.ec2_backend, self.params
        endpoint = backend.vpc_end_points.get(parameters["VpcEndpointId"])
        if endpoint is None or endpoint.state in (lifecycle.DELETING, lifecycle.DELETED):
            raise _unknown(parameters["VpcEndpointId"])
        check_policy(parameters.get("PolicyDocument"))
        if endpoint.vpc_endpoint_type == GATEWAY:
            check_nothing_of_interfaces(parameters)
            _associate(backend, endpoint, parameters)
            _set_policy(endpoint, parameters)
        else:
            original(self)
        return ActionResult({"Return": True})

    return modify_vpc_endpoint


def _associate(backend: Moto, endpoint: Moto, parameters: dict[str, Any]) -> None:
    """Change tables, address type and routes of an endpoint as requested, or refuse and change nothing.

    What adding an associated table does is not documented (answers.TableAddedAgain). Removing a table that is not
    associated is refused with InvalidParameter (https://github.com/hashicorp/terraform-provider-aws,
    internal/service/ec2/vpc_endpoint_route_table_association.go, takes it for "already gone").
    """
    add, remove = parameters.get("AddRouteTableIds", []), parameters.get("RemoveRouteTableIds", [])
    for table_id in remove:
        if table_id not in endpoint.route_table_ids:
            raise ApiError("InvalidParameter", f"route table {table_id} is not associated with {endpoint.id}")
    again = [table_id for table_id in add if table_id in endpoint.route_table_ids]
    if again and given().table_added_again is TableAddedAgain.ERROR:
        raise ApiError("RouteAlreadyExists", f"route table {again[0]} already has a route to {endpoint.id}")
    kept = [table_id for table_id in endpoint.route_table_ids if table_id not in remove]
    tables = checked_route_tables(backend, endpoint.vpc_id, [*kept, *add])
    ip_address_type = parameters.get("IpAddressType", endpoint.ip_address_type)
    wanted = prefix_lists_of_service(backend, endpoint.service_name, ip_address_type)
    check_address_families(backend, tables, ip_address_type)
    check_routes(tables, wanted, endpoint)
    keep_only_routes(tables, wanted, endpoint)
    add_routes(tables, wanted, endpoint)
    endpoint.earlier_route_table_ids, endpoint.seen_since_change = endpoint.route_table_ids, 0
    endpoint.route_table_ids = [table.id for table in tables]
    endpoint.ip_address_type = ip_address_type
    endpoint.dns_options = parameters.get("DnsOptions", endpoint.dns_options)


def _set_policy(endpoint: Moto, parameters: dict[str, Any]) -> None:
    """Replace the policy, or with ResetPolicy put the default one back, which allows everything."""
    if parameters.get("ResetPolicy"):
        endpoint.policy_document = json.dumps(Endpoint.DEFAULT_POLICY)
    elif document := parameters.get("PolicyDocument"):
        endpoint.policy_document = document


def _delete_vpc_endpoints(self: Moto, knobs: Knobs) -> ActionResult:
    """Delete what can be deleted; what cannot is listed in an answer that is HTTP 200 all the same.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_UnsuccessfulItem.html. The list is left out if it is empty:
    AWS does not document that it is there.
    """
    backend = self.ec2_backend
    unsuccessful = []
    for endpoint_id in self._get_param("VpcEndpointIds", []):
        endpoint = backend.vpc_end_points.get(endpoint_id)
        if refusal := _refusal(endpoint_id, endpoint, knobs):
            error = {"Code": refusal.code, "Message": refusal.message}
            unsuccessful.append({"ResourceId": endpoint_id, "Error": error})
            continue
        keep_only_routes([], [], endpoint)
        endpoint.route_table_ids = []
        for interface_id in endpoint.network_interface_ids:
            backend.enis.pop(interface_id, None)
        lifecycle.delete(endpoint)
    return ActionResult({"Unsuccessful": unsuccessful} if unsuccessful else {})


def _deleting_route_table(original: Moto) -> Moto:
    def delete_route_table(self: Moto) -> Moto:
        answer = original(self)
        table_id = self._get_param("RouteTableId")
        for endpoint in self.ec2_backend.vpc_end_points.values():
            endpoint.route_table_ids = [other for other in endpoint.route_table_ids if other != table_id]
        return answer

    return delete_route_table


def _refusal(endpoint_id: str, endpoint: Moto, knobs: Knobs) -> ApiError | None:
    """Return why an endpoint is not deleted; OperationNotPermitted may have a number of reasons.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    """
    if endpoint is None or endpoint.state == lifecycle.DELETED:
        return _unknown(endpoint_id)
    if knobs.undeletable_endpoints:
        return ApiError("OperationNotPermitted", f"The endpoint {endpoint_id} cannot be deleted by you.")
    return None


def _unknown(endpoint_id: str) -> ApiError:
    return ApiError("InvalidVpcEndpointId.NotFound", f"The Vpc Endpoint Id '{endpoint_id}' does not exist")
