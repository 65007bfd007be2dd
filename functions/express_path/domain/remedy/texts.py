"""What to do about each reason, and how to find out what is unknown: texts with the names of the resources."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from express_path.domain.network.resources import TargetKind, VpcEndpoint
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Reason, Unknown
from express_path.domain.verdict.evaluator import Verdict

ENDPOINT_PAGE = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-networking.html"
_ROUTES_PAGE = "https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html"
PRIORITY_PAGE = "https://docs.aws.amazon.com/vpc/latest/userguide/route-tables-priority.html"
NAT64_PAGE = "https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-nat64-dns64.html"
PAGES = {
    **dict.fromkeys(Reason, ENDPOINT_PAGE),
    Reason.PARTLY_NAT: PRIORITY_PAGE,
    Reason.UNRESOLVED_EGRESS: _ROUTES_PAGE,
    Reason.DROPPED: _ROUTES_PAGE,
    Reason.LOSES_PATH: _ROUTES_PAGE,
}
"""The page of the AWS documentation to read about each reason."""
FREE = "Gateway endpoints are free of charge."
ASSOCIATED = {
    **dict.fromkeys(NAT_REASONS, "crosses {nat}"),
    Reason.INTERNET_GATEWAY: "leaves through an internet gateway",
}
"""The path that an endpoint replaces, by reason: the reasons that an association with an endpoint fixes."""
NAME_THE_TABLE = frozenset({*ASSOCIATED, Reason.PARTLY_NAT})
"""The reasons whose remedies name the route table."""
_CAUTIONS = {
    Reason.NAT_BEHIND_APPLIANCE: "The traffic then bypasses {appliance}, so contact the owner first.",
    Reason.NAT_BEYOND_TRANSIT_GATEWAY: "An endpoint beyond the transit gateway does not serve this VPC.",
}
BREAKS = (
    "Open TCP connections to S3 Express drop when the route changes, and policies see aws:SourceVpce instead of "
    "aws:SourceIp (https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-s3.html)."
)
"""What an association with an endpoint breaks."""
IN_THAT_TOOL = "make the change in the tool that it names."
"""Follows a tag that shows which tool owns a resource."""
ROUTE_WINS = (
    "{table} already has a route to {endpoint}, but {route} wins for some S3 Express addresses. Check what else uses "
    "that route, then delete it or give it a broader CIDR."
)
"""For a table that is associated with an endpoint, but has a more specific or an equal route."""
PROPAGATED_WINS = (
    "{table} already has a route to {endpoint}, but {route} wins for some S3 Express addresses. That route is propagated, so it "
    "cannot be deleted: check what else uses it, then stop propagating it to the route table, or stop advertising it."
)
"""For a table that is associated with an endpoint, but has a more specific route that a gateway or a route server writes
(https://docs.aws.amazon.com/vpc/latest/userguide/WorkWithRouteTables.html)."""
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


def association_text(reasons: Iterable[Reason]) -> str:
    """Return the text about an association with an endpoint that fixes subnets with these reasons."""
    ordered = sorted(set(reasons), key=SEVERITY_ORDER.__getitem__)
    paths = " or ".join(dict.fromkeys(ASSOCIATED[reason] for reason in ordered))
    cautions = [_CAUTIONS[reason] for reason in ordered if reason in _CAUTIONS]
    text = f"Associate {{table}} with {{endpoint}}, so that S3 Express traffic no longer {paths}. {FREE}"
    return " ".join([text, *cautions])


TEXTS: Mapping[Reason, str] = {
    Reason.LOSES_PATH: (
        "S3 Express can be reached from {subnet} before the change, and not afterwards: {note}. Keep what the change takes "
        "away, or first associate {table} with {endpoint}."
    ),
    Reason.PARTLY_NAT: ROUTE_WINS
    + " If that route is for 64:ff9b::/96, turn off DNS64 for {subnet}, or use the dual-stack host names.",
    **{reason: association_text([reason]) for reason in ASSOCIATED},
    Reason.UNRESOLVED_EGRESS: "The path could not be followed: {note}. To find out: {how}.",
    Reason.DROPPED: (
        "AWS drops the traffic: {note}. If {table} is associated with {endpoint}, S3 Express traffic uses that, except where a "
        "more specific route wins."
    ),
    Reason.EXCLUDED: "Check that the exclusion is intended: {note}.",
}
"""The texts of the reasons that have a remedy, with the fields of Names in braces."""
_MAX_IDS = 3
"""How many IDs of a kind a text names. The command next to it has all of them."""
_GENERAL_NOTES = {
    Reason.LOSES_PATH: "see the end of the annotation",
    Reason.UNRESOLVED_EGRESS: "see the end of the annotation",
    Reason.DROPPED: "the annotation says what to fix",
    Reason.EXCLUDED: "the annotation names the tag or the rule parameter",
}


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, in sentences; a command to copy, empty if no single command fits; and the URL of a page to read.

    patches: the same change for CloudFormation, Terraform and the AWS CLI, by name; empty if it has none.
    note: what to do instead if somebody makes a similar change first; empty if that makes no difference.
    endpoint: the one to associate the route tables with, None for another change. Tables of one VPC that need the same
    endpoint can be changed together. owner: which of them infrastructure code owns, and by which tag; empty if none.
    instruction: the text without what the change breaks, empty if it breaks nothing.
    """

    text: str
    command: str = ""
    url: str = ENDPOINT_PAGE
    patches: Mapping[str, str] = field(default_factory=dict, compare=False)
    note: str = ""
    endpoint: VpcEndpoint | None = field(default=None, compare=False)
    owner: str = ""
    instruction: str = field(default="", compare=False)

    @property
    def advice(self) -> str:
        """The text and the note."""
        return f"{self.text} {self.note}".rstrip()

    def __str__(self) -> str:
        """Return text, note and command in one text."""
        return f"{self.advice} Command: {self.command}" if self.command else self.advice


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


def listed(ids: Iterable[str], last: str, many: str, before: str = "") -> str:
    """Return up to three distinct IDs, with words before them and before the last one, or how many there are."""
    distinct = list(dict.fromkeys(ids))
    if len(distinct) > _MAX_IDS:
        return f"{len(distinct)} {many}"
    return before + f" {last} ".join(filter(None, [", ".join(distinct[:-1]), *distinct[-1:]]))


_ASK_NETWORK_OWNER = "ask the owner of the network behind it which path its internet traffic takes"
_ASK_APPLIANCE_OWNER = (
    "ask the appliance's owner whether it translates addresses, or look for traffic to S3 Express addresses in the "
    "flow logs of its subnet"
)
_DESCRIBE_ENDPOINT = "run aws ec2 describe-vpc-endpoints"
_BY_LAST_HOP: Mapping[TargetKind, str] = {
    TargetKind.TRANSIT_GATEWAY: (
        "set the rule parameter networkRoleArn to a role in the network account, or scan a dump of the network account "
        "together with this one"
    ),
    TargetKind.TRANSIT_GATEWAY_ATTACHMENT: "ask the transit gateway's owner where this attachment leads",
    TargetKind.APPLIANCE_ENDPOINT: _ASK_APPLIANCE_OWNER,
    TargetKind.NETWORK_INTERFACE: _ASK_APPLIANCE_OWNER,
    TargetKind.INSTANCE: _ASK_APPLIANCE_OWNER,
    TargetKind.VPC_ENDPOINT: _DESCRIBE_ENDPOINT,
    TargetKind.GATEWAY_ENDPOINT: _DESCRIBE_ENDPOINT,
    TargetKind.INTERNET_GATEWAY: "scan the account itself",
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: "scan the account itself",
}
_AFTER_APPLY = "scan again after the apply"
_BY_UNKNOWN = {
    Unknown.PERMISSION: "grant the permission and run the command again",
    Unknown.BLOCK_INGRESS: "open a connection to S3 Express from an instance in the subnet",
    Unknown.REGIONAL_NAT_CLOSED: "look at the NAT gateway's metric BytesOutToDestination, or ask who blocked the VPC",
    Unknown.AFTER_APPLY: _AFTER_APPLY,
    Unknown.NETWORK: "add --from-dump DIR, a dump of the network that express-path collect writes",
    Unknown.SOURCE: f"add --source DIR, the folder of the configuration, or {_AFTER_APPLY}",
}
_APPLIANCES = (TargetKind.APPLIANCE_ENDPOINT, TargetKind.NETWORK_INTERFACE)
_EXITS = (
    TargetKind.INTERNET_GATEWAY,
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY,
    TargetKind.GATEWAY_ENDPOINT,
    TargetKind.VPC_PEERING_CONNECTION,
)


def how_to_find_out(verdict: Verdict) -> str:
    """Return how to find out what is unknown about a path, by what is not known and by its last hop."""
    if verdict.unknown:
        return _BY_UNKNOWN[verdict.unknown]
    if not verdict.path:
        return verdict.note
    last = verdict.path[-1].kind
    # Routes show the network behind an appliance, but not what the appliance itself does.
    if last in _EXITS and any(hop.kind in _APPLIANCES for hop in verdict.path):
        return _ASK_APPLIANCE_OWNER
    return _BY_LAST_HOP.get(last, _ASK_NETWORK_OWNER)
