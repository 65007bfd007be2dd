"""Corrections of moto's EC2: one module for each, all registered here."""

from collections.abc import Callable

from sandbox.ec2 import (
    appliance_endpoints,
    associations,
    block_public_access,
    endpoint_changes,
    endpoint_services,
    endpoints,
    filters,
    firewall_attachments,
    images,
    nat_gateways,
    nat_instances,
    pages,
    prefix_lists,
    protocol,
    resource_shares,
    route_targets,
    routes,
    sharing,
    subnets,
    tags,
    transit_gateways,
)
from sandbox.ec2.knobs import Knobs
from sandbox.patches import Patches

CORRECTIONS: tuple[Callable[[Patches, Knobs], None], ...] = (
    images.apply,
    tags.apply,
    filters.apply,
    prefix_lists.apply,
    subnets.apply,
    block_public_access.apply,
    sharing.apply,
    resource_shares.apply,
    associations.apply,
    route_targets.apply,
    routes.apply,
    nat_gateways.apply,
    endpoint_services.apply,
    endpoints.apply,
    endpoint_changes.apply,
    appliance_endpoints.apply,
    nat_instances.apply,
    transit_gateways.apply,
    firewall_attachments.apply,
    pages.apply,
    protocol.apply,
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
