"""Amazon EC2 as it really behaves where moto differs: one module for each correction, all registered here."""

from collections.abc import Callable

from sandbox.patches import Patches

CORRECTIONS: tuple[Callable[[Patches], None], ...] = ()
"""Every correction, in the order in which they are applied; each takes the Patches to make its changes with."""


class Ec2:
    """The corrections of EC2, and the knobs that tests turn."""

    def apply(self, patches: Patches) -> None:
        """Apply every correction."""
        for correction in CORRECTIONS:
            correction(patches)

    def reset(self) -> None:
        """Turn every knob back."""
