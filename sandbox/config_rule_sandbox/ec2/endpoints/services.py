"""The services that VPC endpoints can be made for: s3express as a Gateway, and only where AWS offers it."""

import hashlib
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import InvalidServiceName
from moto.ec2.models import EC2Backend
from moto.ec2.models.vpc_service_configuration import VPCServiceConfiguration
from moto.ec2.responses import EC2Response

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.regions import offers_s3express
from config_rule_sandbox.patching.patches import Patches

Service = dict[str, Any]


def apply(patches: Patches, knobs: Knobs) -> None:
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
