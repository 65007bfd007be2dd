"""VPC endpoints: their services, their checks, their routes, and their states."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import InvalidServiceName
from moto.ec2.models import EC2Backend
from moto.ec2.models.vpc_service_configuration import VPCServiceConfiguration
from moto.ec2.responses import EC2Response
from moto.ec2.utils import add_tag_specification, random_vpc_ep_id

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError, not_found
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.models import Endpoint, Route
from config_rule_sandbox.ec2.prefix_lists import of_service, offers_s3express
from config_rule_sandbox.patches import Patches

# --- services ------------------------------------------------------------------------------------------------------
#
# The services that VPC endpoints can be made for: s3express as a Gateway, and only where AWS offers it.


Service = dict[str, Any]


def apply_services(patches: Patches, knobs: Knobs) -> None:
    """List s3express as AWS does.

    moto lists it as an Interface service, and in every Region. It has no interface endpoints
    (https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-differences.html) but a gateway one
    (https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-networking.html).
    """
    del knobs
    patches.set(EC2Response, "describe_vpc_endpoint_services", _describe_vpc_endpoint_services)
    patches.set(VPCServiceConfiguration, "service_type", property(_service_type))


def services(backend: Moto) -> list[Service]:
    """Return the details of every service that endpoints can be made for in the Region of a backend, by name."""
    region = backend.region_name
    collected = EC2Backend._collect_default_endpoint_services(backend.account_id, region)
    name = f"com.amazonaws.{region}.s3express"
    listed = [_complete(service, region) for service in collected if service["ServiceName"] != name]
    if offers_s3express(region):
        listed.append(_s3express(name, region, listed[0]["AvailabilityZones"]))
    configurations: list[Moto] = list(backend.configurations.values())
    custom = [_complete(_configured(item), region) for item in configurations]
    return sorted(listed + custom, key=lambda service: (service["ServiceName"], types_of(service)))


def types_of(service: Service) -> list[str]:
    """Return the types of endpoint that a service can have, for example Gateway."""
    return [entry["ServiceType"] for entry in service["ServiceType"]]


def _service_type(self: Moto) -> list[dict[str, str]]:
    """Return GatewayLoadBalancer, where moto has Gateway, or Interface (botocore model, ServiceType)."""
    return [{"ServiceType": "GatewayLoadBalancer" if self.gateway_load_balancer_arns else "Interface"}]


def _configured(item: Moto) -> Service:
    """Return a service that an account made of its load balancers."""
    return {**item.to_dict(), "ServiceType": item.service_type}


def _complete(service: Service, region: str) -> Service:
    """Add what moto leaves out. Only s3express is given IPv6 here, as only its prefix list has an IPv6 counterpart."""
    return {"ServiceRegion": region, "SupportedIpAddressTypes": ["ipv4"], **service}


def _s3express(name: str, region: str, zones: list[str]) -> Service:
    """Return the service S3 Express One Zone.

    Gateway endpoints take IPv6: https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html.
    """
    return {
        "ServiceName": name,
        "ServiceId": f"vpce-svc-{hashlib.sha256(name.encode()).hexdigest()[:17]}",
        "ServiceType": [{"ServiceType": "Gateway"}],
        "ServiceRegion": region,
        "AvailabilityZones": zones,
        "Owner": "amazon",
        "BaseEndpointDnsNames": [f"s3express.{region}.amazonaws.com"],
        "VpcEndpointPolicySupported": True,
        "AcceptanceRequired": False,
        "ManagesVpcEndpoints": False,
        "SupportedIpAddressTypes": ["ipv4", "ipv6"],
        "Tags": [],
    }


def _describe_vpc_endpoint_services(self: Moto) -> ActionResult:
    found = services(self.ec2_backend)
    names = self._get_param("ServiceNames", [])
    for name in set(names) - {service["ServiceName"] for service in found}:
        raise InvalidServiceName(name)
    found = [service for service in found if not names or service["ServiceName"] in names]
    for condition, values in self._filters_from_querystring().items():
        found = [service for service in found if _matches(service, condition, values)]
    distinct = list(dict.fromkeys(service["ServiceName"] for service in found))
    return ActionResult({"ServiceDetails": found, "ServiceNames": distinct})


def _matches(service: Service, condition: str, values: list[str]) -> bool:
    """Return whether one filter of the request fits (botocore model, DescribeVpcEndpointServicesRequest)."""
    compared = {"service-name": [service["ServiceName"]], "service-type": types_of(service)}
    if condition not in compared:
        raise NotImplementedError(f"the sandbox does not filter services by {condition}")
    return any(value in values for value in compared[condition])


# --- checks --------------------------------------------------------------------------------------------------------
#
# What AWS checks before it makes or changes a gateway endpoint.


ROUTE_TABLE_ID = re.compile(r"rtb-[0-9a-f]+")

MAX_POLICY_CHARACTERS = 20_480
"""https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html."""

MAX_TOKEN_CHARACTERS = 64


def check_service(backend: Moto, service_name: str, endpoint_type: str) -> None:
    """Refuse a service that does not exist (InvalidServiceName), or not for endpoints of this type (InvalidParameter).

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
    """
    types = [kind for entry in services(backend) if entry["ServiceName"] == service_name for kind in types_of(entry)]
    if not types:
        raise ApiError("InvalidServiceName", f"The Vpc Endpoint Service '{service_name}' does not exist")
    if endpoint_type not in types:
        raise ApiError(
            "InvalidParameter",
            f"Endpoint type ({endpoint_type}) does not match available service types ({sorted(set(types))}).",
        )


def checked_route_tables(backend: Moto, vpc_id: str, table_ids: Iterable[str]) -> list[Moto]:
    """Return the route tables with these ids, each once, if all can take a prefix-list route of this VPC's endpoint.

    InvalidRouteTableId.Malformed, InvalidRouteTableId.NotFound (the VPC endpoint operations spell it with a small d:
    https://github.com/hashicorp/terraform-provider-aws, internal/service/ec2/vpc_endpoint_route_table_association.go),
    InvalidParameter for a table of another VPC (its message is unverified) or with a gateway association
    (https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html: no prefix list as a destination).
    """
    tables = []
    for table_id in dict.fromkeys(table_ids):
        if not ROUTE_TABLE_ID.fullmatch(table_id):
            raise ApiError("InvalidRouteTableId.Malformed", f"Invalid Id: '{table_id}' (expecting 'rtb-...')")
        table = backend.route_tables.get(table_id)
        if table is None:
            raise not_found("InvalidRouteTableId.NotFound", "routeTable", table_id)
        if table.vpc_id != vpc_id:
            raise ApiError("InvalidParameter", f"route table {table_id} and network {vpc_id} do not belong together")
        if any("GatewayId" in association for association in table.associations):
            raise ApiError("InvalidParameter", f"route table {table_id} is associated with a gateway")
        tables.append(table)
    return tables


def check_address_families(backend: Moto, tables: Iterable[Moto], ip_address_type: str) -> None:
    """Refuse with InvalidParameter an address type that a subnet of the tables does not have (message unverified).

    ipv6: every associated subnet is IPv6-only; dualstack: every one has both
    (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type).
    """
    if ip_address_type == "ipv4":
        return
    for table in tables:
        for subnet in _subnets(backend, table):
            dual = bool(subnet.cidr_block) and bool(subnet.ipv6_cidr_block_association_set)
            if subnet.ipv6_native if ip_address_type == "ipv6" else dual:
                continue
            raise ApiError("InvalidParameter", f"subnet {subnet.id} does not support IP address type {ip_address_type}")


def _subnets(backend: Moto, table: Moto) -> list[Moto]:
    """Return the subnets that a table is associated with, implicitly too if it is the main one of its VPC."""
    explicit = {target: owner.id for owner in backend.route_tables.values() for target in owner._associations.values()}
    fallback = table.id if table.main_association_id else None
    return [
        subnet
        for subnet in backend.describe_subnets(filters={"vpc-id": table.vpc_id})
        if explicit.get(subnet.id, fallback) == table.id
    ]


def check_policy(document: str | None) -> None:
    """Refuse with InvalidPolicyDocument a policy that is not a JSON object, or is too long."""
    if document and (len(document) > MAX_POLICY_CHARACTERS or not _is_object(document)):
        raise ApiError("InvalidPolicyDocument", "The specified policy document is not a valid JSON policy document.")


def _is_object(document: str) -> bool:
    try:
        return isinstance(json.loads(document), dict)
    except ValueError:
        return False


def check_token(client_token: str | None) -> None:
    """Refuse with InvalidParameterValue (unverified) a ClientToken of more than 64 ASCII characters.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html.
    """
    if client_token and (len(client_token) > MAX_TOKEN_CHARACTERS or not client_token.isascii()):
        raise ApiError("InvalidParameterValue", f"Value ({client_token}) for parameter clientToken is invalid.")


def check_nothing_of_interfaces(parameters: Mapping[str, object]) -> None:
    """Refuse with InvalidParameter what only endpoints with network interfaces take: subnets, security groups.

    As in https://github.com/nanlabs/terraform-aws-starter/issues/18; the message about groups is unverified.
    """
    if any(parameters.get(name) for name in ("SubnetIds", "AddSubnetIds", "RemoveSubnetIds")):
        message = "Subnet IDs are only supported for Interface and GatewayLoadBalancer type VPC Endpoints."
        raise ApiError("InvalidParameter", message)
    if any(parameters.get(name) for name in ("SecurityGroupIds", "AddSecurityGroupIds", "RemoveSecurityGroupIds")):
        raise ApiError("InvalidParameter", "Security Groups are only supported for Interface type VPC Endpoints.")


# --- routes --------------------------------------------------------------------------------------------------------
#
# The routes of gateway endpoints: put into route tables and taken out with the endpoint's associations.


FAMILIES = {"ipv4": ("ipv4",), "ipv6": ("ipv6",), "dualstack": ("ipv4", "ipv6")}
"""The address families of each IpAddressType of an endpoint."""


def prefix_lists_of_service(backend: Moto, service_name: str, ip_address_type: str) -> list[Moto]:
    """Return the prefix lists that an endpoint of a service routes: one for IPv4 or IPv6, both for dualstack.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type.
    InvalidParameter if the service has none of that family, or if it is no address type (code unverified).
    """
    if ip_address_type not in FAMILIES:
        raise ApiError("InvalidParameter", f"Invalid IP address type {ip_address_type}")
    lists = of_service(backend, service_name)
    for family in FAMILIES[ip_address_type]:
        if family not in lists:
            raise ApiError("InvalidParameter", f"The service {service_name} does not support {family}")
    return [lists[family] for family in FAMILIES[ip_address_type]]


def check_routes(tables: Iterable[Moto], wanted: list[Moto], endpoint: Moto = None) -> None:
    """Refuse with RouteAlreadyExists if a table already routes one of the prefix lists elsewhere than to `endpoint`.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing; the message
    as in https://github.com/eksctl-io/eksctl/issues/4377.
    """
    for table in tables:
        for route in table.routes:
            if route.destination_prefix_list in wanted and (endpoint is None or route.gateway is not endpoint):
                destination = route.destination_prefix_list_id
                raise ApiError(
                    "RouteAlreadyExists",
                    f"route table {table.id} already has a route with destination-prefix-list-id {destination}",
                )


def add_routes(tables: Iterable[Moto], wanted: list[Moto], endpoint: Moto) -> None:
    """Put the routes {prefix list, endpoint} into the tables; an existing route stays as it is."""
    for table in tables:
        for prefix_list in wanted:
            route = Route(table, None, None, prefix_list, gateway=endpoint)
            table._routes.setdefault(route.id, route)


def keep_only_routes(tables: Iterable[Moto], wanted: list[Moto], endpoint: Moto) -> None:
    """Take every route to the endpoint out of its VPC, but those of these prefix lists in these tables."""
    kept = {(table.id, prefix_list.id) for table in tables for prefix_list in wanted}
    for table in endpoint.ec2_backend.route_tables.values():
        for route in table.routes:
            if route.gateway is endpoint and (table.id, route.destination_prefix_list_id) not in kept:
                del table._routes[route.id]


# --- making and describing -----------------------------------------------------------------------------------------
#
# Making and describing gateway endpoints: idempotent, checked, with routes, states and a quota.


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
    (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html). Unlike on AWS, the token of an endpoint
    that was deleted makes a new one.
    """
    parameters = {name: value for name, value in self.params.items() if name != "DryRun"}
    token = parameters.get("ClientToken")
    check_token(token)
    answered: dict[str, _Answered] = vars(self.ec2_backend).setdefault("sandbox_endpoint_tokens", {})
    first = answered.get(token or "")
    if first and first.endpoint.state not in GONE:
        if first.parameters == parameters:
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


# --- changing and deleting -----------------------------------------------------------------------------------------
#
# Changing and deleting gateway endpoints, with their routes.


def apply_changes(patches: Patches, knobs: Knobs) -> None:
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

    Adding an associated table changes nothing, which is not documented. Removing a table that is not
    associated is refused with InvalidParameter (https://github.com/hashicorp/terraform-provider-aws,
    internal/service/ec2/vpc_endpoint_route_table_association.go, takes it for "already gone").
    """
    add, remove = parameters.get("AddRouteTableIds", []), parameters.get("RemoveRouteTableIds", [])
    for table_id in remove:
        if table_id not in endpoint.route_table_ids:
            raise ApiError("InvalidParameter", f"route table {table_id} is not associated with {endpoint.id}")
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
