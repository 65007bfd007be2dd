"""Amazon EC2 as it really behaves where moto differs: one module for each correction, all registered here."""

from collections.abc import Callable

from sandbox.ec2 import (
    endpoint_changes,
    endpoint_services,
    endpoints,
    filters,
    pages,
    prefix_lists,
    protocol,
    tags,
)
from sandbox.ec2.knobs import Knobs
from sandbox.patches import Patches

CORRECTIONS: tuple[Callable[[Patches, Knobs], None], ...] = (
    tags.apply,
    filters.apply,
    prefix_lists.apply,
    endpoint_services.apply,
    endpoints.apply,
    endpoint_changes.apply,
    pages.apply,
    protocol.apply,
)
"""Every correction, in the order in which they are applied: a later one may wrap what an earlier one made."""


class Ec2:
    """The corrections of EC2, and the knobs that tests turn."""

    def __init__(self) -> None:
        """Make the knobs; nothing of moto is changed yet."""
        self.knobs = Knobs()

    def apply(self, patches: Patches) -> None:
        """Apply every correction."""
        for correction in CORRECTIONS:
            correction(patches, self.knobs)

    def reset(self) -> None:
        """Turn every knob back."""
        self.knobs.reset()
