"""Corrections of moto's EC2: one module for each, all registered here."""

from collections.abc import Callable

from config_rule_sandbox.ec2 import (
    block_public_access,
    filters,
    firewall_attachments,
    firewalls,
    pages,
    prefix_lists,
    protocol,
    resource_shares,
    shared_subnets,
    speed,
    subnets,
)
from config_rule_sandbox.ec2.endpoints import changes, creation, services
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.nats import gateways, instances
from config_rule_sandbox.ec2.route_tables import associations, routes, targets
from config_rule_sandbox.ec2.transit_gateways import gateways as transit_gateways
from config_rule_sandbox.patching.patches import Patches

CORRECTIONS: tuple[Callable[[Patches, Knobs], None], ...] = (
    speed.apply_images,
    speed.apply_tags,
    filters.apply,
    prefix_lists.apply,
    subnets.apply,
    block_public_access.apply,
    shared_subnets.apply,
    resource_shares.apply,
    associations.apply,
    targets.apply,
    routes.apply,
    gateways.apply,
    services.apply,
    creation.apply,
    changes.apply,
    firewalls.apply,
    instances.apply,
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
        self.sharing = shared_subnets.Sharing(self.knobs)

    def apply(self, patches: Patches) -> None:
        """Apply every correction."""
        for correction in CORRECTIONS:
            correction(patches, self.knobs)

    def reset(self) -> None:
        """Reset every knob."""
        self.knobs.reset()
