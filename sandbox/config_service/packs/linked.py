"""Service-linked rules: whoever does not own them can look at them only.

https://docs.aws.amazon.com/config/latest/developerguide/service-linked-awsconfig-rules.html
"""

from typing import Any

from moto.config.models import ConfigBackend

from sandbox.config_service.packs.errors import ServiceLinkedRuleError


def is_linked(backend: ConfigBackend, name: str | None) -> bool:
    """Return whether there is a service-linked rule of this name."""
    rule = backend.config_rules.get(name or "")
    return rule is not None and bool(rule.created_by)


def refuse(backend: ConfigBackend, *names: str | None) -> None:
    """Raise AccessDeniedException if one of the rules is service-linked."""
    if any(is_linked(backend, name) for name in names):
        raise ServiceLinkedRuleError


def refuse_definition(backend: ConfigBackend, definition: dict[str, Any]) -> None:
    """Raise AccessDeniedException if a definition, which may name its rule by name, id or ARN, is of a linked one."""
    identity = (definition.get("ConfigRuleId"), definition.get("ConfigRuleArn"))
    same = [
        rule.config_rule_name
        for rule in backend.config_rules.values()
        if rule.config_rule_id == identity[0] or rule.config_rule_arn == identity[1]
    ]
    refuse(backend, definition.get("ConfigRuleName"), *same)
