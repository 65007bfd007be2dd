"""What to do about each reason, and the commands that show or do it."""

from collections.abc import Mapping

from express_path.domain.path.reasons import Reason
from express_path_cli.report.headline import CROSSES
from express_path_cli.summary import DROPPED_FIX, EXCLUDED_FIX

_ASSOCIATE = (
    "Associate the route table with a gateway endpoint for S3 Express in this VPC. The endpoint is free of charge; "
    "a heal does it, after showing what it would change."
)
FIXES: Mapping[Reason, str] = {
    **dict.fromkeys(Reason, ""),
    **dict.fromkeys(CROSSES, _ASSOCIATE),
    Reason.PARTLY_NAT: (
        "The endpoint is there, but the route above wins some of the addresses: remove or shorten it. If its "
        "destination is in 64:ff9b::/96, turn off DNS64 for the subnet or use the dual-stack host names."
    ),
    Reason.UNRESOLVED_EGRESS: "What would resolve it stands above, where anything can; explain shows every route.",
    Reason.DROPPED: DROPPED_FIX,
    Reason.EXCLUDED: EXCLUDED_FIX,
    Reason.INTERNET_GATEWAY: "No NAT is crossed. A gateway endpoint would also save the public addresses.",
}
"""What to do, in a sentence or two; empty where nothing is to be done."""
HEALS = CROSSES - {Reason.PARTLY_NAT}
"""The reasons that a heal can cure."""
