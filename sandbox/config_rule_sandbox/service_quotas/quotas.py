"""Service Quotas: applied values apart from AWS's defaults, as not every quota has one."""

import json
from collections.abc import Callable
from typing import Any

from moto.servicequotas.exceptions import NoSuchResource
from moto.servicequotas.models import ServiceQuotasBackend, servicequotas_backends
from moto.servicequotas.responses import ServiceQuotasResponse

from config_rule_sandbox.patching.patches import Patches

DEFAULTS = {"L-93826ACB": 500.0}
"""Defaults that moto has an earlier value of, by the quota's code: routes in a table
(https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html)."""
MISSING = {
    ("ec2", "L-0263D0A3"): ("EC2-VPC Elastic IPs", 5.0),
    ("ec2", "L-A2478D36"): ("Transit gateways per account", 5.0),
}
"""Quotas of services that moto does not know, by the codes of service and quota
(https://docs.aws.amazon.com/general/latest/gr/ec2-service.html, https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-quotas.html)."""
Applied = dict[str, float | None]
"""Values that were granted, by the quota's code; None where there is no applied value."""


def applied_quotas(account_id: str, region: str) -> Applied:
    """Return the applied values of one account and Region that differ from the default; a test may set them."""
    return _applied(servicequotas_backends[account_id][region])


def apply(patches: Patches) -> None:
    """Let moto distinguish applied from default values until `patches` are undone.

    GetServiceQuota does not find a quota that has no applied value; GetAWSDefaultServiceQuota, which moto lacks, does:
    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
    """
    patches.wrap(ServiceQuotasBackend, "get_service_quota", _known)
    patches.wrap(ServiceQuotasResponse, "get_service_quota", _get_applied)
    patches.set(ServiceQuotasResponse, "get_aws_default_service_quota", _get_default)


def _known(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def find(self: ServiceQuotasBackend, service_code: str, quota_code: str) -> dict[str, Any]:
        if (service_code, quota_code) not in MISSING:
            return original(self, service_code, quota_code)
        name, value = MISSING[service_code, quota_code]
        return {"ServiceCode": service_code, "QuotaCode": quota_code, "QuotaName": name, "Value": value}

    return find


def _applied(backend: ServiceQuotasBackend) -> Applied:
    found: Applied = vars(backend).setdefault("sandbox_applied", {})
    return found


def _get_applied(original: Callable[..., str]) -> Callable[..., str]:
    def answer(self: ServiceQuotasResponse) -> str:
        found = _with_default(json.loads(original(self))["Quota"])
        value = _applied(self.backend).get(found["QuotaCode"], found["Value"])
        if value is None:
            raise NoSuchResource
        return json.dumps({"Quota": found | {"Value": value}})

    return answer


def _get_default(self: ServiceQuotasResponse) -> str:
    request = json.loads(self.body)
    found = self.backend.get_service_quota(request["ServiceCode"], request["QuotaCode"])
    return json.dumps({"Quota": _with_default(found)})


def _with_default(quota: dict[str, Any]) -> dict[str, Any]:
    return quota | {"Value": DEFAULTS.get(quota["QuotaCode"], quota["Value"])}
