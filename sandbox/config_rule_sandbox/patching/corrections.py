"""The corrections of moto that have no knobs, so that nothing but the running sandbox needs them."""

from config_rule_sandbox.aws_lambda import code
from config_rule_sandbox.cloudformation import described_stacks
from config_rule_sandbox.config import operations as config
from config_rule_sandbox.dynamodb import operations as dynamodb
from config_rule_sandbox.ec2 import core_networks
from config_rule_sandbox.iam import denials, unchecked
from config_rule_sandbox.organizations import members
from config_rule_sandbox.patching import speed
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.s3 import bucket_owners, bucket_policies, directory_buckets
from config_rule_sandbox.security_hub import operations as security_hub
from config_rule_sandbox.service_quotas import quotas

CORRECTIONS = (
    speed.apply,
    denials.apply,
    unchecked.apply,
    bucket_owners.apply,
    bucket_policies.apply,
    config.apply,
    core_networks.apply,
    described_stacks.apply,
    directory_buckets.apply_access_points,
    directory_buckets.apply,
    dynamodb.apply,
    members.apply,
    code.apply,
    security_hub.apply,
    quotas.apply,
)


def apply(patches: Patches) -> None:
    """Correct moto until `patches` are undone."""
    for correction in CORRECTIONS:
        correction(patches)
