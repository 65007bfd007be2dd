"""The corrections of moto that have no knobs, so that nothing but the running sandbox needs them."""

from config_rule_sandbox import (
    config_service,
    described_stacks,
    dynamodb,
    lambda_code,
    permissions,
    s3,
    security_hub,
    service_quotas,
    speed,
)
from config_rule_sandbox.patches import Patches

CORRECTIONS = (
    speed.apply,
    permissions.apply,
    s3.apply_bucket_policies,
    config_service.apply,
    described_stacks.apply,
    s3.apply_access_points,
    s3.apply_directory_buckets,
    dynamodb.apply,
    lambda_code.apply,
    security_hub.apply,
    service_quotas.apply,
)


def apply(patches: Patches) -> None:
    """Correct moto until `patches` are undone."""
    for correction in CORRECTIONS:
        correction(patches)
