"""No list of machine images: instances start from any image id, and a reset takes a tenth of the time."""

from moto import settings

from sandbox.ec2.knobs import Knobs
from sandbox.patches import Patches


def apply(patches: Patches, knobs: Knobs) -> None:
    """Keep moto from making 1,300 images, with a volume each, whenever an account or Region is first used."""
    del knobs
    patches.set(settings, "ec2_load_default_amis", lambda: False)
