"""What to do about each reason: one text per reason, with the names of the resources or with general ones."""

from collections.abc import Mapping
from dataclasses import dataclass

from express_path.domain.path.reasons import Reason

FREE = "Gateway endpoints are free of charge."
_ASSOCIATE = f"Associate {{table}} with {{endpoint}}, so that S3 Express traffic no longer crosses {{nat}}. {FREE}"
ROUTE_WINS = (
    "{table} already has a route to {endpoint}, but {route} wins for some S3 Express addresses. Check what else uses "
    "that route, then delete it or give it a broader CIDR."
)
"""For a table that is associated with an endpoint, but has a more specific or an equal route."""
NAT64_WINS = (
    "{table} already has a route to {endpoint}, but with DNS64, clients also use addresses in 64:ff9b::/96, and "
    "{route} sends that traffic to {nat}. Turn off DNS64 for {subnet}, or use the dual-stack host names."
)
"""For a table that is associated with an endpoint, in a subnet with DNS64."""
DEFAULT_ROUTE_WINS = (
    "{table} already has a route to {endpoint}, but it does not match all S3 Express addresses that the subnet uses, "
    "and {route} sends the rest to {nat}. Use a dual-stack endpoint. All subnets of its route "
    "tables must be dual-stack."
)
"""For a table that is associated with an endpoint for one address family only. The type of an endpoint decides which
prefix lists it routes (https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html)."""

TEXTS: Mapping[Reason, str] = {
    Reason.PARTLY_NAT: ROUTE_WINS
    + " If that route is for 64:ff9b::/96, turn off DNS64 for {subnet}, or use the dual-stack host names.",
    Reason.NAT_GATEWAY: _ASSOCIATE,
    Reason.NAT_INSTANCE: _ASSOCIATE,
    Reason.NAT_BEHIND_APPLIANCE: f"{_ASSOCIATE} The traffic then bypasses {{appliance}}, so contact its owner first.",
    Reason.NAT_BEYOND_TRANSIT_GATEWAY: (
        f"{_ASSOCIATE} An endpoint beyond the transit gateway does not serve this VPC."
    ),
    Reason.UNRESOLVED_EGRESS: "What is unknown: {note}. How to find out: {how}.",
    Reason.INTERNET_GATEWAY: (
        "Associate {table} with {endpoint}, so that S3 Express traffic no longer leaves through an internet gateway. "
        + FREE
    ),
    Reason.DROPPED: "AWS drops the traffic, and a gateway endpoint may not fix that: {note}.",
    Reason.EXCLUDED: "Check that the exclusion is intended: {note}.",
}
"""The texts of the reasons that have a remedy, with the fields of Names in braces."""
_GENERAL_NOTES = {
    Reason.UNRESOLVED_EGRESS: "the end of the annotation says it",
    Reason.DROPPED: "the annotation says what to fix",
    Reason.EXCLUDED: "the annotation names the tag or the rule parameter",
}


@dataclass(frozen=True, slots=True)
class Names:
    """The names in a remedy's text. The defaults are for a text about all subnets that have the reason."""

    table: str = "the route table"
    vpc: str = "the VPC"
    subnet: str = "the subnet"
    endpoint: str = "a gateway endpoint for S3 Express in the VPC"
    nat: str = "the NAT"
    appliance: str = "the appliance"
    route: str = "the route that the annotation names"
    note: str = ""
    how: str = "grant the permission that the annotation names, or check the last hop"

    def fill(self, text: str) -> str:
        """Return a text with these names, as a sentence."""
        filled = text.format(**{name: getattr(self, name) for name in self.__slots__})
        return filled[0].upper() + filled[1:]


def general_remedy(reason: Reason) -> str:
    """Return what to do about any subnet with a reason; empty if there is nothing to do."""
    return Names(note=_GENERAL_NOTES.get(reason, "")).fill(TEXTS[reason]) if reason in TEXTS else ""
