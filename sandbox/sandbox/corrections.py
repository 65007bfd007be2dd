"""The modules that correct moto and have no knobs, so that nothing but the running sandbox needs them."""

from sandbox import (
    bucket_policies,
    config_service,
    described_stacks,
    directory_buckets,
    dynamodb,
    lambda_code,
    permissions,
    security_hub,
    service_quotas,
    speed,
)
from sandbox.patches import Patches

MODULES = (
    speed,
    permissions,
    bucket_policies,
    config_service,
    described_stacks,
    directory_buckets,
    dynamodb,
    lambda_code,
    security_hub,
    service_quotas,
)


def apply(patches: Patches) -> None:
    """Correct moto until `patches` are undone."""
    for module in MODULES:
        module.apply(patches)
