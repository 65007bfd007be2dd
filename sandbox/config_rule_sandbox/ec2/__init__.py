"""Corrections of moto's EC2: one module for each, all registered here."""

from collections.abc import Callable

from config_rule_sandbox.ec2 import (
    block_public_access,
    endpoints,
    firewalls,
    nats,
    operations,
    prefix_lists,
    route_tables,
    sharing,
    speed,
    subnets,
    transit_gateways,
)
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patches import Patches

CORRECTIONS: tuple[Callable[[Patches, Knobs], None], ...] = (
    speed.apply_images,
    speed.apply_tags,
    operations.apply_filters,
    prefix_lists.apply,
    subnets.apply,
    block_public_access.apply,
    sharing.apply,
    sharing.apply_resource_shares,
    route_tables.apply_associations,
    route_tables.apply_targets,
    route_tables.apply_routes,
    nats.apply_gateways,
    endpoints.apply_services,
    endpoints.apply,
    endpoints.apply_changes,
    firewalls.apply,
    nats.apply_instances,
    transit_gateways.apply,
    firewalls.apply_attachments,
    operations.apply_pages,
    operations.apply_protocol,
)
"""Every correction, in the order in which they are applied: a later one may wrap what an earlier one made."""


class Ec2:
    """The corrections of EC2, the knobs for tests, and shared subnets."""

    def __init__(self) -> None:
        """Make the knobs; moto is not changed yet."""
        self.knobs = Knobs()
        self.sharing = sharing.Sharing(self.knobs)

    def apply(self, patches: Patches) -> None:
        """Apply every correction."""
        for correction in CORRECTIONS:
            correction(patches, self.knobs)

    def reset(self) -> None:
        """Reset every knob."""
        self.knobs.reset()
