"""Endpoints of appliances as route targets: those of AWS Network Firewall, one for each subnet of a firewall."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.responses import EC2Response
from moto.ec2.utils import random_vpc_ep_id
from moto.moto_api._internal import mock_random
from moto.networkfirewall.models import NetworkFirewallBackend, NetworkFirewallModel

from sandbox.dynamic import Moto
from sandbox.ec2 import lifecycle
from sandbox.ec2.errors import ApiError
from sandbox.ec2.knobs import Knobs
from sandbox.ec2.models import Endpoint
from sandbox.patches import Patches

TYPE = "GatewayLoadBalancer"
"""The type of firewall endpoints, as of those of Gateway Load Balancers (botocore model, VpcEndpointType)."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Give a firewall its endpoints, and let only the service delete them.

    moto's firewalls have none. A firewall gets one in each of its subnets, of type GatewayLoadBalancer and managed by
    the service, and reports its id in FirewallStatus.SyncStates
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/vpc-config.html,
    https://docs.aws.amazon.com/network-firewall/latest/APIReference/API_Attachment.html).
    """
    del knobs
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


def _status(firewall: Moto) -> dict[str, Any]:
    """Return the status of a firewall: it is ready when its endpoints are available."""
    states = {
        endpoint.zone: {
            "Attachment": {
                "SubnetId": endpoint.subnet_ids[0],
                "EndpointId": endpoint.id,
                "Status": "READY" if endpoint.state == lifecycle.AVAILABLE else "CREATING",
            }
        }
        for endpoint in getattr(firewall, "endpoints", [])
    }
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
