"""Service Quotas: applied values and defaults are two calls."""

from sandbox.refusals import refused
from sandbox.server import Sandbox
from sandbox.service_quotas import applied_quotas

ENDPOINTS = {"ServiceCode": "vpc", "QuotaCode": "L-1B52E74A"}


def test_a_quota_that_was_raised_is_the_applied_one(sandbox: Sandbox) -> None:
    """GetServiceQuota returns the applied value, and GetAWSDefaultServiceQuota the default.

    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetAWSDefaultServiceQuota.html
    """
    quotas = sandbox.client("service-quotas")
    assert quotas.get_service_quota(**ENDPOINTS)["Quota"]["Value"] == 20
    applied_quotas(sandbox.account_id, sandbox.region)["L-1B52E74A"] = 50
    assert quotas.get_service_quota(**ENDPOINTS)["Quota"]["Value"] == 50
    assert quotas.get_aws_default_service_quota(**ENDPOINTS)["Quota"]["Value"] == 20


def test_a_table_has_500_routes_by_default(sandbox: Sandbox) -> None:
    """Moto has an earlier default. https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html."""
    quotas = sandbox.client("service-quotas")
    routes = {"ServiceCode": "vpc", "QuotaCode": "L-93826ACB"}
    assert quotas.get_service_quota(**routes)["Quota"]["Value"] == 500
    assert quotas.get_aws_default_service_quota(**routes)["Quota"]["Value"] == 500


def test_a_quota_may_have_no_applied_value(sandbox: Sandbox) -> None:
    """With only a default, GetServiceQuota does not find the quota; neither operation finds an unknown code.

    https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
    """
    quotas = sandbox.client("service-quotas")
    applied_quotas(sandbox.account_id, sandbox.region)["L-1B52E74A"] = None
    assert refused(quotas.get_service_quota, **ENDPOINTS) == "NoSuchResourceException"
    assert quotas.get_aws_default_service_quota(**ENDPOINTS)["Quota"]["Value"] == 20
    unknown = {"ServiceCode": "vpc", "QuotaCode": "L-00000000"}
    assert refused(quotas.get_aws_default_service_quota, **unknown) == "NoSuchResourceException"
