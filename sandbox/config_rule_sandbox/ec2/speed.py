"""Faster than moto, with the same answers: no list of machine images, and tags without a search."""

from moto import settings
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, get_prefix

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches


def apply_images(patches: Patches, knobs: Knobs) -> None:
    """Keep moto from making 1,300 images, with a volume each, whenever an account or Region is first used."""
    del knobs
    patches.set(settings, "ec2_load_default_amis", lambda: False)


def apply_tags(patches: Patches, knobs: Knobs) -> None:
    """Look tags up by the id of their resource.

    moto matches a pattern against every tag of the account for every resource it lists, so that describing 1,000
    VPCs takes a time that grows with the square. The answers are the same.
    """
    del knobs
    patches.set(TaggedEC2Resource, "get_tags", _get_tags)


def _get_tags(self: Moto) -> list[dict[str, str]]:
    kind = EC2_PREFIX_TO_RESOURCE.get(get_prefix(self.id), "")
    tags = self.ec2_backend.tags.get(self.id, {})
    return [{"resource_id": self.id, "key": key, "value": value, "resource_type": kind} for key, value in tags.items()]
