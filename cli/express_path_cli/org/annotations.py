"""Read a verdict back from the annotation that AWS Config stores: its reason, route table, and path."""

import re
from dataclasses import dataclass

from express_path.domain.network.targets import TargetKind, target_kind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Reason
from express_path.errors import RecordError

_ANNOTATION = re.compile(
    r"(?P<reason>[A-Z0-9_]+): (?:.*?; route (?P<destination>\S+) -> (?P<target>\S+) in (?P<table>rtb-[^\s,]+)"
    r"(?P<others>(?:, then [^\s,]+)*))?"
)
_CUT = "..."
"""What AWS Config's annotations end with if the rule had more to say than fits."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """The reason of a verdict; the route table of its deciding route, None without a route; and the hops of its path.

    Only the first hop has a destination: annotations do not contain those of the other hops.
    """

    reason: Reason
    route_table_id: str | None
    path: tuple[Hop, ...]


def parse_annotation(resource_id: str, text: str) -> Annotation:
    """Return what an annotation says about a resource. Raise RecordError if this rule did not write it."""
    found = _ANNOTATION.match(text)
    if not found or found["reason"] not in list(Reason):
        raise RecordError(resource_id, "Annotation", text, "an annotation of this rule, which begins with a reason")
    if not found["table"]:
        return Annotation(Reason(found["reason"]), None, ())
    others = found["others"].removeprefix(", then ").split(", then ") if found["others"] else []
    if others and text.endswith(_CUT) and found.end() == len(text):
        others.pop()  # a part of an id
    hops = [(found["target"], found["destination"]), *((hop_id, "") for hop_id in others)]
    path = tuple(Hop(_kind(hop_id), hop_id, destination) for hop_id, destination in hops)
    return Annotation(Reason(found["reason"]), found["table"], path)


def _kind(hop_id: str) -> TargetKind:
    """Return the kind of a hop. An instance is reached through its network interface, which is what verdicts name."""
    kind = target_kind(hop_id)
    return TargetKind.NETWORK_INTERFACE if kind is TargetKind.INSTANCE else kind
