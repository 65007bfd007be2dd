"""The annotation: one line for AWS Config, rendered from the reason, the deciding route, and its table."""

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import RouteTable
from express_path.domain.path.outcomes import Outcome
from express_path.domain.path.reasons import Reason

MAX_LENGTH = 256
"""The longest annotation that AWS Config accepts, in characters (botocore model: config Evaluation)."""

_PHRASES = {
    Reason.PARTLY_NAT: "part of S3 Express traffic bypasses the s3express gateway endpoint and crosses a NAT",
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
    Reason.NO_DIRECTORY_BUCKETS: "the account has no directory bucket here; buckets of other accounts are not seen",
    Reason.SERVICE_NOT_OFFERED: "this Region does not offer S3 Express",
    Reason.DELETED: "the subnet no longer exists",
}


def annotate(reason: Reason, deciding: Outcome, table: RouteTable | None, family: Family = Family.IPV4) -> str:
    """Return one line of 1 to 256 characters: the reason, the deciding route (destination and target), and its note.

    family is the address family that decided. The line names IPv6, but not IPv4.
    """
    line = f"{reason}: {_PHRASES[reason]}" + (f" ({family})" if family is Family.IPV6 else "")
    if deciding.route and table:
        line += f"; route {deciding.route.destination} -> {deciding.route.target_id or 'unknown'} in {table.id}"
        line += "".join(f", then {hop.id}" for hop in deciding.path[1:])
    if deciding.note:
        line += f" ({deciding.note})"
    return line if len(line) <= MAX_LENGTH else line[: MAX_LENGTH - 3] + "..."


def reason_of(annotation: str) -> Reason | None:
    """Return the reason with which an annotation starts; None if it was not rendered by `annotate`."""
    word = annotation.partition(":")[0]
    return Reason(word) if word in _PHRASES else None
