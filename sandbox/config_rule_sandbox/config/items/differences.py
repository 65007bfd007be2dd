"""configurationItemDiff: what changed between two configuration items of one resource.

https://docs.aws.amazon.com/config/latest/developerguide/example-sns-notification.html shows the form: keys are paths
with a capital first letter ("Configuration.State"), a member of a list is removed and added as a whole
("Configuration.Routes.0"), and related resources are counted like members ("Relationships.0").
"""

from typing import Any

from config_rule_sandbox.config.items.items import Item

Changes = dict[str, dict[str, Any]]


def diff(previous: Item | None, updated: Item) -> dict[str, Any]:
    """Return the diff that leads from the previous item (None if there was none) to the updated one."""
    before = previous or {"configuration": None, "relationships": []}
    changes = _members("Relationships", before["relationships"], updated["relationships"])
    if before["configuration"] is None or updated["configuration"] is None:
        changes |= _value("Configuration", before["configuration"], updated["configuration"])
    else:
        changes |= _properties("Configuration", before["configuration"], updated["configuration"])
    return {"changedProperties": changes, "changeType": _change_type(before["configuration"], updated["configuration"])}


def _properties(path: str, previous: dict[str, Any], updated: dict[str, Any]) -> Changes:
    """Return the changes between two objects, by property."""
    changes: Changes = {}
    for name in sorted({*previous, *updated}):
        before, after = previous.get(name), updated.get(name)
        below = f"{path}.{name[:1].upper()}{name[1:]}"
        if isinstance(before, dict) and isinstance(after, dict):
            changes |= _properties(below, before, after)
        elif isinstance(before, list) and isinstance(after, list):
            changes |= _members(below, before, after)
        else:
            changes |= _value(below, before, after)
    return changes


def _members(path: str, previous: list[Any], updated: list[Any]) -> Changes:
    """Return the members that were removed and those that were added; their order does not count."""
    removed = [(member, None) for member in previous if member not in updated]
    added = [(None, member) for member in updated if member not in previous]
    changes: Changes = {}
    for number, (before, after) in enumerate([*removed, *added]):
        changes |= _value(f"{path}.{number}", before, after)
    return changes


def _value(path: str, before: object, after: object) -> Changes:
    if before == after:
        return {}
    return {path: {"previousValue": before, "updatedValue": after, "changeType": _change_type(before, after)}}


def _change_type(before: object, after: object) -> str:
    if before is None:
        return "CREATE"
    return "DELETE" if after is None else "UPDATE"
