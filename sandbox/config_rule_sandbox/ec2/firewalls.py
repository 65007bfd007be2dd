"""Endpoints of appliances as route targets: those of AWS Network Firewall, one for each subnet of a firewall."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_vpc_ep_id
from moto.moto_api._internal import mock_random
from moto.networkfirewall.models import NetworkFirewallBackend, NetworkFirewallModel, networkfirewall_backends
from moto.networkfirewall.responses import NetworkFirewallResponse

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.models import Endpoint
from config_rule_sandbox.patching.patches import Patches

TYPE = "GatewayLoadBalancer"
"""The type of firewall endpoints, as of those of Gateway Load Balancers (botocore model, VpcEndpointType)."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Give a firewall its endpoints, and let only the service delete them.

    moto's firewalls have none. A firewall gets one in each of its subnets, of type GatewayLoadBalancer and managed by
    the service, and reports its id in FirewallStatus.SyncStates
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/vpc-config.html,
    https://docs.aws.amazon.com/network-firewall/latest/APIReference/API_Attachment.html). moto also lacks NAT/Proxy
    firewalls (https://docs.aws.amazon.com/network-firewall/latest/developerguide/nfw-proxy.html), and the endpoints of
    firewalls in other VPCs (botocore model of network-firewall, CreateVpcEndpointAssociation).
    """
    del knobs
    patches.wrap(NetworkFirewallResponse, "create_firewall", _keeping_proxy)
    patches.wrap(NetworkFirewallResponse, "describe_firewall", _showing_proxy)
    patches.set(NetworkFirewallResponse, "delete_firewall", _delete)
    patches.set(NetworkFirewallResponse, "create_vpc_endpoint_association", _create_association)
    patches.set(NetworkFirewallResponse, "describe_vpc_endpoint_association", _describe_association)
    patches.set(NetworkFirewallResponse, "list_vpc_endpoint_associations", _list_associations)
    patches.wrap(NetworkFirewallBackend, "create_firewall", _creating)
    patches.set(NetworkFirewallModel, "firewall_status", property(_status, _ignore))
    patches.wrap(EC2Response, "delete_vpc_endpoints", _deleting)


def _creating(original: Moto) -> Moto:
    def create_firewall(self: Moto, *arguments: Moto, **named: Moto) -> Moto:
        firewall = original(self, *arguments, **named)
        ec2 = ec2_backends[self.account_id][self.region_name]
        service = f"com.amazonaws.vpce.{self.region_name}.vpce-svc-{mock_random.get_random_hex(17)}"
        subnets = [ec2.get_subnet(mapping["SubnetId"]) for mapping in firewall.subnet_mappings or ()]
        firewall.endpoints = [_endpoint(ec2, firewall, subnet, service) for subnet in subnets]
        return firewall

    return create_firewall


def _endpoint(ec2: Moto, firewall: Moto, subnet: Moto, service: str) -> Moto:
    """Make the endpoint of a firewall in one subnet, with the tags that the service gives it."""
    endpoint = Endpoint(
        ec2,
        random_vpc_ep_id(),
        subnet.vpc_id,
        service,
        TYPE,
        None,
        [],
        subnet_ids=[subnet.id],
        dns_entries=[],
        tags={"AWSNetworkFirewallManaged": "true", "Firewall": firewall.arn},
        private_dns_enabled=False,
    )
    endpoint.ip_address_type = "ipv4"
    endpoint.requester_managed = True
    endpoint.zone = subnet.availability_zone
    lifecycle.start(endpoint)
    ec2.vpc_end_points[endpoint.id] = endpoint
    return endpoint


def _delete(self: Moto) -> ActionResult:
    """Delete a firewall with its endpoints, at once."""
    backend = self.networkfirewall_backend
    firewall = backend.describe_firewall(self._get_param("FirewallName"), self._get_param("FirewallArn"))
    del backend.firewalls[firewall.arn]
    for endpoint in firewall.endpoints:
        del endpoint.ec2_backend.vpc_end_points[endpoint.id]
    names = {"FirewallName": firewall.firewall_name, "FirewallArn": firewall.arn, "VpcId": firewall.vpc_id}
    return ActionResult({"Firewall": names, "FirewallStatus": {"Status": "DELETING"}})


def _keeping_proxy(original: Moto) -> Moto:
    def create_firewall(self: Moto) -> ActionResult:
        """Keep what makes a firewall a NAT/Proxy firewall, and make a NAT gateway for each of its mappings."""
        answer: ActionResult = original(self)
        firewall = self.networkfirewall_backend.describe_firewall(self._get_param("FirewallName"), None)
        names = ("ProxySettings", "TransparentFilteringNatScope")
        firewall.proxy = {name: self._get_param(name) for name in names if self._get_param(name)}
        mappings = self._get_param("NatGatewayCreateMappings") or []
        ec2 = ec2_backends[self.current_account][self.region]
        made = (ec2.create_nat_gateway(mapping["SubnetId"], mapping["AllocationIds"][0]) for mapping in mappings)
        firewall.nat_gateway_ids = [gateway.id for gateway in made]
        return answer

    return create_firewall


def _showing_proxy(original: Moto) -> Moto:
    def describe_firewall(self: Moto) -> ActionResult:
        answer: ActionResult = original(self)
        found: Any = answer.result
        firewall = self.networkfirewall_backend.firewalls[found["Firewall"]["FirewallArn"]]
        return ActionResult({**found, "Firewall": {**found["Firewall"], **getattr(firewall, "proxy", {})}})

    return describe_firewall


def _create_association(self: Moto) -> ActionResult:
    """Make an endpoint of a firewall in a subnet of another VPC; its account may be another one, too."""
    arn, mapping = self._get_param("FirewallArn"), self._get_param("SubnetMapping")
    owner, region = arn.split(":")[4], self.region
    firewall = networkfirewall_backends[owner][region].firewalls[arn]
    ec2 = ec2_backends[self.current_account][region]
    service = f"com.amazonaws.vpce.{region}.vpce-svc-{mock_random.get_random_hex(17)}"
    endpoint = _endpoint(ec2, firewall, ec2.get_subnet(mapping["SubnetId"]), service)
    identifier = str(mock_random.uuid4())
    association = {
        "VpcEndpointAssociationId": identifier,
        "VpcEndpointAssociationArn": (
            f"arn:aws:network-firewall:{region}:{self.current_account}:vpc-endpoint-association/{identifier}"
        ),
        "FirewallArn": arn,
        "VpcId": self._get_param("VpcId"),
        "SubnetMapping": mapping,
    }
    _associations(self)[association["VpcEndpointAssociationArn"]] = (association, endpoint)
    return ActionResult(_described(association, endpoint))


def _describe_association(self: Moto) -> ActionResult:
    arn = self._get_param("VpcEndpointAssociationArn")
    if arn not in _associations(self):
        raise ApiError("ResourceNotFoundException", f"there is no VPC endpoint association {arn}")
    return ActionResult(_described(*_associations(self)[arn]))


def _list_associations(self: Moto) -> ActionResult:
    """List the associations of the caller's account, or of one firewall."""
    wanted = self._get_param("FirewallArn")
    found = [
        {"VpcEndpointAssociationArn": arn}
        for arn, (association, _) in _associations(self).items()
        if wanted in (None, association["FirewallArn"])
    ]
    return ActionResult({"VpcEndpointAssociations": found})


def _associations(self: Moto) -> dict[str, Any]:
    backend = self.networkfirewall_backend
    if not hasattr(backend, "endpoint_associations"):
        backend.endpoint_associations = {}
    found: dict[str, Any] = backend.endpoint_associations
    return found


def _described(association: dict[str, Any], endpoint: Moto) -> dict[str, Any]:
    state = {endpoint.zone: {"Attachment": _attachment(endpoint)}}
    status = {"Status": "READY", "AssociationSyncState": state}
    return {"VpcEndpointAssociation": association, "VpcEndpointAssociationStatus": status}


def _attachment(endpoint: Moto) -> dict[str, str]:
    ready = endpoint.state == lifecycle.AVAILABLE
    return {
        "SubnetId": endpoint.subnet_ids[0],
        "EndpointId": endpoint.id,
        "Status": "READY" if ready else "CREATING",
    }


def _status(firewall: Moto) -> dict[str, Any]:
    """Return the status of a firewall: it is ready when its endpoints are available."""
    endpoints = getattr(firewall, "endpoints", [])
    states: dict[str, dict[str, Any]] = {endpoint.zone: {"Attachment": _attachment(endpoint)} for endpoint in endpoints}
    for state, gateway_id in zip(states.values(), getattr(firewall, "nat_gateway_ids", ()), strict=False):
        state["NatGatewayAttachments"] = [{"NatGatewayId": gateway_id, "Status": "READY"}]
    ready = all(state["Attachment"]["Status"] == "READY" for state in states.values())
    return {
        "Status": "READY" if ready else "PROVISIONING",
        "ConfigurationSyncStateSummary": "IN_SYNC",
        "SyncStates": states,
    }


def _ignore(firewall: Moto, status: dict[str, Any]) -> None:
    """Ignore the status that moto sets: it follows from the endpoints."""


def _deleting(original: Moto) -> Moto:
    def delete_vpc_endpoints(self: Moto) -> ActionResult:
        """Refuse endpoints that a service manages (botocore model, RequesterManaged); wording unverified."""
        known = self.ec2_backend.vpc_end_points
        for endpoint_id in self._get_param("VpcEndpointIds", []):
            if getattr(known.get(endpoint_id), "requester_managed", False):
                message = f"Operation is not allowed for requester-managed VPC endpoints for the service: {endpoint_id}"
                raise ApiError("OperationNotPermitted", message)
        answer: ActionResult = original(self)
        return answer

    return delete_vpc_endpoints
