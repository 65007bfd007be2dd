"""AWS Config's conformance packs: rules and remediations that are deployed, judged and deleted together."""

from sandbox.config_service.packs import compliance, linked, operations
from sandbox.config_service.packs.memory import Packs, packs_of
from sandbox.config_service.packs.remedies import Remedies

__all__ = ["Packs", "Remedies", "compliance", "linked", "operations", "packs_of"]
