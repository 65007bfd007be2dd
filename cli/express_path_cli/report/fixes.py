"""What to do about each reason, and which reasons a heal can fix."""

from collections.abc import Mapping

from express_path.domain.path.reasons import Reason
from express_path_cli.report.headline import CROSSES_NAT
from express_path_cli.summary import DROPPED_FIX, EXCLUDED_FIX

_ASSOCIATE = (
    "Associate the route table with a gateway endpoint for S3 Express in this VPC. The endpoint is free of charge. "
    "A heal does this, and shows the change first."
)
FIXES: Mapping[Reason, str] = {
    **dict.fromkeys(Reason, ""),
    **dict.fromkeys(CROSSES_NAT, _ASSOCIATE),
    Reason.PARTLY_NAT: (
        "The VPC has the endpoint, but the route above wins some of the addresses. Delete that route or use a broader "
        "CIDR. If its destination is in 64:ff9b::/96, turn off DNS64 for the subnet or use the dual-stack host names."
    ),
    Reason.UNRESOLVED_EGRESS: "The text above says what is unknown. express-path explain shows how to find out.",
    Reason.DROPPED: DROPPED_FIX,
    Reason.EXCLUDED: EXCLUDED_FIX,
    Reason.INTERNET_GATEWAY: "The path does not cross a NAT. With a gateway endpoint it needs no public addresses.",
}
"""What to do, in one to three sentences; empty if there is nothing to do."""
HEALABLE = CROSSES_NAT - {Reason.PARTLY_NAT}
"""The reasons that a heal can fix."""
