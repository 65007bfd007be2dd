"""Service Quotas: applied values and defaults are two calls."""

from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.service_quotas.quotas import applied_quotas

ENDPOINTS = {"ServiceCode": "vpc", "QuotaCode": "L-1B52E74A"}


def test_applied_values_and_defaults_are_two_calls(sandbox: Sandbox) -> None:
    """GetServiceQuota finds the applied value, if there is one, and GetAWSDefaultServiceQuota the default.

    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html,
    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetAWSDefaultServiceQuota.html
    """
    quotas = sandbox.client("service-quotas")
    applied = applied_quotas(sandbox.account_id, sandbox.region)
    assert quotas.get_service_quota(**ENDPOINTS)["Quota"]["Value"] == 20
    applied["L-1B52E74A"] = 50
    assert quotas.get_service_quota(**ENDPOINTS)["Quota"]["Value"] == 50
    applied["L-1B52E74A"] = None
    assert refused(quotas.get_service_quota, **ENDPOINTS) == "NoSuchResourceException"
    assert quotas.get_aws_default_service_quota(**ENDPOINTS)["Quota"]["Value"] == 20
    unknown = {"ServiceCode": "vpc", "QuotaCode": "L-00000000"}
    assert refused(quotas.get_aws_default_service_quota, **unknown) == "NoSuchResourceException"


def test_a_table_has_500_routes_by_default(sandbox: Sandbox) -> None:
    """Moto has an earlier default. https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html."""
    routes = {"ServiceCode": "vpc", "QuotaCode": "L-93826ACB"}
    assert sandbox.client("service-quotas").get_service_quota(**routes)["Quota"]["Value"] == 500


def test_ec2_has_quotas(sandbox: Sandbox) -> None:
    """Elastic IP addresses and transit gateways are quotas of EC2, which moto does not know.

    https://docs.aws.amazon.com/vpc/latest/tgw/transit-gateway-quotas.html
    """
    quotas, applied = sandbox.client("service-quotas"), applied_quotas(sandbox.account_id, sandbox.region)
    for code in ("L-0263D0A3", "L-A2478D36"):
        quota = {"ServiceCode": "ec2", "QuotaCode": code}
        assert quotas.get_service_quota(**quota)["Quota"]["Value"] == 5
        applied[code] = None
        assert refused(quotas.get_service_quota, **quota) == "NoSuchResourceException"
        assert quotas.get_aws_default_service_quota(**quota)["Quota"]["Value"] == 5
