"""The annotation of a verdict, one line that AWS Config shows and stores: how it is written, and how it is read again.

    REASON: phrase (IPv6); route DESTINATION -> TARGET in TABLE, then HOP, then HOP (note)

The route and the hops are there if a route decided, and the note if there is more to say. Only IPv6 is named.
"""

from dataclasses import dataclass

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import RouteTable, TargetKind, target_kind
from express_path.domain.path.outcomes import Hop, Outcome
from express_path.domain.path.reasons import Reason

MAX_LENGTH = 256
"""The longest annotation that AWS Config accepts, in characters (botocore model: config Evaluation)."""
_REASON, _FAMILY, _ROUTE, _TARGET, _TABLE, _HOP, _NOTE = (
    ": ",
    f" ({Family.IPV6})",
    "; route ",
    " -> ",
    " in ",
    ", then ",
    " (",
)
_CUT = "..."
"""What an annotation ends with if there was more to say than fits."""

MEANINGS = {
    Reason.LOSES_PATH: "a change takes the path to S3 Express away",
    Reason.PARTLY_NAT: "part of the S3 Express traffic bypasses the s3express gateway endpoint and crosses a NAT",
    Reason.NAT_GATEWAY: "S3 Express traffic crosses a NAT gateway",
    Reason.NAT_INSTANCE: "S3 Express traffic crosses a NAT instance",
    Reason.NAT_BEHIND_APPLIANCE: "S3 Express traffic crosses an appliance, then a NAT",
    Reason.NAT_BEYOND_TRANSIT_GATEWAY: "S3 Express traffic crosses a NAT beyond a transit gateway",
    Reason.UNRESOLVED_EGRESS: "the egress path could not be determined",
    Reason.INTERNET_GATEWAY: "S3 Express traffic leaves through an internet gateway, without a NAT",
    Reason.ENDPOINT: "S3 Express traffic uses the s3express gateway endpoint",
    Reason.DROPPED: "AWS drops S3 Express traffic",
    Reason.NO_ROUTE: "no route leads to S3 Express",
    Reason.NOT_OWNED: "shared by another account, which evaluates it with its own rule",
    Reason.EXCLUDED: "excluded from the rule",
    Reason.NO_DIRECTORY_BUCKETS: "the account has no directory bucket here; buckets of other accounts cannot be seen",
    Reason.SERVICE_NOT_OFFERED: "this Region does not offer S3 Express",
    Reason.DELETED: "the subnet no longer exists",
}
"""What each reason means, as a part of a sentence."""


def annotate(reason: Reason, deciding: Outcome, table: RouteTable | None, family: Family = Family.IPV4) -> str:
    """Return one line of 1 to 256 characters: the reason, the deciding route (destination and target), and its note.

    family is the address family that decided.
    """
    line = f"{reason}{_REASON}{MEANINGS[reason]}" + (_FAMILY if family is Family.IPV6 else "")
    if deciding.route and table:
        line += (
            f"{_ROUTE}{deciding.route.destination}{_TARGET}{deciding.route.target_id or 'unknown'}{_TABLE}{table.id}"
        )
        line += "".join(_HOP + hop.id for hop in deciding.path[1:])
    if deciding.note:
        line += f"{_NOTE}{deciding.note})"
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - len(_CUT)] + _CUT


@dataclass(frozen=True, slots=True)
class Annotation:
    """What an annotation says: the reason, and the route table and the hops of the deciding route.

    Without a route, route_table_id is None and path is empty. Only the first hop has a destination.
    """

    reason: Reason
    route_table_id: str | None = None
    path: tuple[Hop, ...] = ()


def reason_of(annotation: str) -> Reason | None:
    """Return the reason with which an annotation starts; None if it was not written by `annotate`."""
    word = annotation.partition(":")[0]
    return Reason(word) if word in MEANINGS else None


def read_annotation(text: str) -> Annotation | None:
    """Return what an annotation says; None if it was not written by `annotate`.

    The phrase does not matter. An id that was cut off is left out.
    """
    reason = reason_of(text)
    if reason is None:
        return None
    said, has_note, _ = text.replace(_FAMILY, "", 1).partition(_NOTE)
    destination, _, after_target = said.partition(_ROUTE)[2].partition(_TARGET)
    target, _, ids = after_target.partition(_TABLE)
    hop_names = ids.split(_HOP)
    if text.endswith(_CUT) and not has_note:
        hop_names.pop()
    table_id, *hop_ids = hop_names or [""]
    if not table_id:
        return Annotation(reason)
    later_hops = (Hop(_kind(hop_id), hop_id, "") for hop_id in hop_ids)
    return Annotation(reason, table_id, (Hop(_kind(target), target, destination), *later_hops))


def _kind(hop_id: str) -> TargetKind:
    """Return the kind of a hop. An instance is reached through its network interface, which is what verdicts name."""
    kind = target_kind(hop_id)
    return TargetKind.NETWORK_INTERFACE if kind is TargetKind.INSTANCE else kind
