"""Policies of buckets with the conditions of their statements."""

import json

from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.iam.policies import Authorization, as_list, is_allowed
from config_rule_sandbox.patching.patches import Patches

ENCRYPTED = {"aws:SecureTransport": ["true"]}
"""The one condition key that is known of every request: a real one is encrypted, whatever this server speaks.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/amazon-s3-policy-keys.html
"""


def apply(patches: Patches) -> None:
    """Let statements whose conditions do not hold neither allow nor deny."""
    patches.set(FakeBucket, "get_permission", _permission)


def _permission(self: Moto, action: str, resource: str) -> PermissionResult:
    """Return what the policy says about a request; a statement about its principal counts as one that does not hold."""
    if self.policy is None:
        return PermissionResult.NEUTRAL
    wanted = Authorization(action, resource, ENCRYPTED)
    statements = as_list(json.loads(self.policy)["Statement"])
    effects = {found["Effect"] for found in statements if is_allowed([{**found, "Effect": "Allow"}], wanted)}
    if "Deny" in effects:
        return PermissionResult.DENIED
    return PermissionResult.PERMITTED if effects else PermissionResult.NEUTRAL
