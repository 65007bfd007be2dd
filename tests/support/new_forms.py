"""Values of forms that nobody knows, for the keys of JSON that a reader reads."""

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict

Place = tuple[str | int, ...]
"""The names and numbers that lead to a value in JSON."""


def key_at(place: Place) -> str:
    """Return the key of a place, or the last one above a value without a key of its own."""
    return next(str(key) for key in reversed(place) if isinstance(key, str))


@dataclass
class Numbers:
    """What was tried: kinds of keys, mutations, and how many of them were exempt from which assertion."""

    keys: set[tuple[str, str]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)


class Recorded(dict):
    """A JSON object that notes the keys that are read."""

    place: Place = ()
    keys_read: set[Place]

    def _note(self, key: object) -> None:
        self.keys_read.add((*self.place, key))

    def get(self, key: Any, default: Any = None) -> Any:
        """Return a value, and note its key."""
        self._note(key)
        return super().get(key, default)

    def __getitem__(self, key: Any) -> Any:
        """Return a value, and note its key."""
        self._note(key)
        return super().__getitem__(key)


def recorded(value: Any, place: Place, keys_read: set[Place]) -> Any:
    """Return JSON whose objects note the keys that are read."""
    if isinstance(value, dict):
        found = Recorded({key: recorded(member, (*place, key), keys_read) for key, member in value.items()})
        found.place, found.keys_read = place, keys_read
        return found
    if isinstance(value, list):
        return [recorded(member, (*place, number), keys_read) for number, member in enumerate(value)]
    return value


MISSING = object()
"""In place of a new value: the key is removed."""
NEW_WORD = "a-new-word"
OTHER_TYPES = (7, True, "a-new-word", [7], ["a-new-word"], [[]], {"aNewKey": "a-new-word"}, [{"aNewKey": 7}])
"""Values of every type of JSON."""
TARGET_FIELDS = ("GatewayId", "NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "EgressOnlyInternetGatewayId")
"""The fields of a route that usually name its target."""


def new_values(shape: Shape | None, old: Any, *, is_open: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield new values of a key, with what is new about each; one that is not there gets a new word.

    is_open: AWS's schema does not say which type of JSON the value has.
    """
    is_text = shape is not None and shape.type_name == "string"
    if is_text:
        yield "a new word", NEW_WORD
    if is_text and old:
        yield "longer", f"{old}0f"
    if old is not None:
        yield "missing", MISSING
        yield "null", None
    if is_open:
        for value in OTHER_TYPES:
            yield "another type", value


def with_new_target(route: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return a route with a target of a new kind in place of the one in a field."""
    kept = {name: value for name, value in route.items() if name != field}
    is_camel_case = field[0].islower()
    return {**kept, "newGatewayId" if is_camel_case else "NewGatewayId": "new-1"}


def member_shape(shape: Shape | None, place: Place) -> Shape | None:
    """Return botocore's model of the value at a place below a shape; None if AWS has no such key."""
    for key in place:
        if isinstance(shape, ListShape):
            shape = shape.member
        elif isinstance(shape, MapShape):
            shape = shape.value
        else:
            shape = shape.members.get(key) if isinstance(shape, StructureShape) else None
    return shape


def value_at(document: Any, place: Place) -> Any:
    """Return the value at a place in JSON."""
    for key in place:
        document = document[key]
    return document


def with_value(document: Any, place: Place, value: Any) -> Any:
    """Return a copy of JSON with one new value; without its key if that is MISSING."""
    changed = deepcopy(document)
    at = value_at(changed, place[:-1])
    if value is MISSING:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return changed


def is_no_better(new: Verdict | None, old: Verdict) -> bool:
    """Return whether a verdict is unresolved, or as bad as another one."""
    if new is None or new.reason is Reason.UNRESOLVED_EGRESS or new.compliance is Compliance.NON_COMPLIANT:
        return True
    is_found = old.compliance is Compliance.NON_COMPLIANT
    return not is_found and SEVERITY_ORDER[new.reason] <= SEVERITY_ORDER[old.reason]
