"""Where the remediations of packs go."""

from typing import Any

from moto.config.models import ConfigBackend

from sandbox.config_service.packs.errors import TemplateError


class Remedies:
    """The remediations of pack rules; `sandbox.remediation` takes these methods over while it is in force."""

    @staticmethod
    def put(_backend: ConfigBackend, rule_name: str, _configuration: dict[str, Any]) -> None:
        """Put the remediation of a pack's rule in place; where nothing could carry it out, refuse it."""
        raise TemplateError(f"the remediation of {rule_name} needs sandbox.remediation.Remediation in force")

    @staticmethod
    def forget(_backend: ConfigBackend, _rule_name: str) -> None:
        """Delete what there is of the remediation of a rule; where there can be none, do nothing."""
