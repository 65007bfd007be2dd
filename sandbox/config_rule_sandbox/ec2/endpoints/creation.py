"""Making and describing gateway endpoints: idempotent, checked, with routes, states and a quota."""

from copy import copy
from dataclasses import dataclass
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response
from moto.ec2.utils import add_tag_specification, random_vpc_ep_id

from config_rule_sandbox.answers import UsedToken, given
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.endpoints.checks import (
    check_address_families,
    check_nothing_of_interfaces,
    check_policy,
    check_service,
    check_token,
    checked_route_tables,
)
from config_rule_sandbox.ec2.endpoints.routes import add_routes, check_routes, prefix_lists_of_service
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.models import Endpoint
from config_rule_sandbox.patching.patches import Patches

GATEWAY = "Gateway"
"""The default of VpcEndpointType (botocore model, CreateVpcEndpointRequest)."""

GONE = (lifecycle.DELETING, lifecycle.DELETED)


@dataclass(frozen=True, slots=True)
class _Answered:
    """The first request with a ClientToken: its parameters, its endpoint, and that endpoint as it was answered."""

    parameters: dict[str, Any]
    endpoint: Moto
    answer: Moto


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct CreateVpcEndpoint and DescribeVpcEndpoints.

    moto ignores ClientToken, takes any service and any route table, makes endpoints available at once, and silently
    takes over the route of another endpoint (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpcEndpoint.html).
    """

    def creating(original: Moto) -> Moto:
        def create_vpc_endpoint(self: Moto) -> ActionResult:
            return ActionResult({"VpcEndpoint": _create_once(self, original, knobs)})

        return create_vpc_endpoint

    def describing(original: Moto) -> Moto:
        def describe_vpc_endpoints(self: Moto) -> ActionResult:
            pass_through_states(self.ec2_backend, knobs)
            found = original(self).result["VpcEndpoints"]
            return ActionResult({"VpcEndpoints": [_as_seen(endpoint, knobs) for endpoint in found]})

        return describe_vpc_endpoints

    patches.wrap(EC2Response, "create_vpc_endpoint", creating)
    patches.wrap(EC2Response, "describe_vpc_endpoints", describing)


def pass_through_states(backend: Moto, knobs: Knobs) -> None:
    """Count one description of every endpoint, and forget those that were described as deleted often enough."""
    for endpoint in list(backend.vpc_end_points.values()):
        if endpoint.state == lifecycle.DELETED and endpoint.described:
            del backend.vpc_end_points[endpoint.id]
        lifecycle.describe(endpoint, knobs)


def _as_seen(endpoint: Moto, knobs: Knobs) -> Moto:
    """An endpoint as a description shows it: a change need not be seen at once.

    https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
    """
    if getattr(endpoint, "seen_since_change", knobs.stale_describes) >= knobs.stale_describes:
        return endpoint
    endpoint.seen_since_change += 1
    stale = copy(endpoint)
    stale.route_table_ids = endpoint.earlier_route_table_ids
    return stale


def _create_once(self: Moto, original: Moto, knobs: Knobs) -> Moto:
    """Return the endpoint that this ClientToken made, or make one.

    The same token with other parameters is refused with IdempotentParameterMismatch
    (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html). What the token of an endpoint does that was
    deleted is not documented (answers.UsedToken).
    """
    parameters = {name: value for name, value in self.params.items() if name != "DryRun"}
    token = parameters.get("ClientToken")
    check_token(token)
    answered: dict[str, _Answered] = vars(self.ec2_backend).setdefault("sandbox_endpoint_tokens", {})
    first = answered.get(token or "")
    is_gone = first is not None and first.endpoint.state in GONE
    if first and not (is_gone and given().used_token is UsedToken.NEW_ENDPOINT):
        if first.parameters == parameters and not (is_gone and given().used_token is UsedToken.ERROR):
            return first.answer
        raise ApiError(
            "IdempotentParameterMismatch",
            "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
        )
    endpoint = _create(self, original, parameters, knobs)
    if token:
        answered[token] = _Answered(parameters, endpoint, copy(endpoint))
    return endpoint


def _create(self: Moto, original: Moto, parameters: dict[str, Any], knobs: Knobs) -> Moto:
    endpoint_type = parameters.get("VpcEndpointType", GATEWAY)
    backend = self.ec2_backend
    backend.get_vpc(parameters["VpcId"])
    check_service(backend, parameters["ServiceName"], endpoint_type)
    check_policy(parameters.get("PolicyDocument"))
    if endpoint_type == GATEWAY:
        endpoint = _create_gateway(backend, parameters, knobs)
    elif parameters.get("RouteTableIds"):
        raise ApiError("InvalidParameter", "Route table IDs are only supported for Gateway type VPC Endpoint.")
    else:
        endpoint = original(self).result["VpcEndpoint"]
        endpoint.ip_address_type = parameters.get("IpAddressType", "ipv4")
    endpoint.requester_managed = False
    lifecycle.start(endpoint)
    return endpoint


def _create_gateway(backend: Moto, parameters: dict[str, Any], knobs: Knobs) -> Moto:
    check_nothing_of_interfaces(parameters)
    ip_address_type = parameters.get("IpAddressType", "ipv4")
    tables = checked_route_tables(backend, parameters["VpcId"], parameters.get("RouteTableIds", []))
    wanted = prefix_lists_of_service(backend, parameters["ServiceName"], ip_address_type)
    check_address_families(backend, tables, ip_address_type)
    check_routes(tables, wanted)
    if sum(_counts(endpoint) for endpoint in backend.vpc_end_points.values()) >= knobs.gateway_endpoints:
        raise ApiError("VpcEndpointLimitExceeded", "The maximum number of VPC endpoints has been reached.")
    endpoint = Endpoint(
        backend,
        random_vpc_ep_id(),
        parameters["VpcId"],
        parameters["ServiceName"],
        GATEWAY,
        parameters.get("PolicyDocument"),
        [table.id for table in tables],
        subnet_ids=[],
        dns_entries=[],
        client_token=parameters.get("ClientToken"),
        tags=add_tag_specification(_tag_specifications(parameters)),
        private_dns_enabled=False,
    )
    endpoint.ip_address_type = ip_address_type
    endpoint.dns_options = parameters.get("DnsOptions", {"DnsRecordIpType": "service-defined"})
    backend.vpc_end_points[endpoint.id] = endpoint
    add_routes(tables, wanted, endpoint)
    return endpoint


def _counts(endpoint: Moto) -> bool:
    """Return whether an endpoint counts against the quota of gateway endpoints of a Region."""
    return bool(endpoint.vpc_endpoint_type == GATEWAY and endpoint.state != lifecycle.DELETED)


def _tag_specifications(parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tag specifications; InvalidParameterValue if one is for another type than `vpc-endpoint`."""
    specifications: list[dict[str, Any]] = parameters.get("TagSpecifications", [])
    for specification in specifications:
        kind = specification.get("ResourceType")
        if kind != "vpc-endpoint":
            message = f"'{kind}' is not a valid taggable resource type for this operation."
            raise ApiError("InvalidParameterValue", message)
    return specifications
