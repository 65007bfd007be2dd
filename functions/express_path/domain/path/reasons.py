"""Compliance and reason: the two values that sum up a verdict."""

from enum import StrEnum


class Compliance(StrEnum):
    """The compliance types that AWS Config accepts from a rule (botocore model: config Evaluation)."""

    COMPLIANT = "COMPLIANT"
    NON_COMPLIANT = "NON_COMPLIANT"
    NOT_APPLICABLE = "NOT_APPLICABLE"


class Reason(StrEnum):
    """Why a subnet has its compliance. Among reasons with the same compliance, the members are ordered worst first.

    LOSES_PATH is about a proposed change: no network has it.
    """

    LOSES_PATH = "LOSES_PATH"
    PARTLY_NAT = "PARTLY_NAT"
    NAT_GATEWAY = "NAT_GATEWAY"
    NAT_INSTANCE = "NAT_INSTANCE"
    NAT_BEHIND_APPLIANCE = "NAT_BEHIND_APPLIANCE"
    NAT_BEYOND_TRANSIT_GATEWAY = "NAT_BEYOND_TRANSIT_GATEWAY"
    UNRESOLVED_EGRESS = "UNRESOLVED_EGRESS"
    INTERNET_GATEWAY = "INTERNET_GATEWAY"
    ENDPOINT = "ENDPOINT"
    DROPPED = "DROPPED"
    NO_ROUTE = "NO_ROUTE"
    NOT_OWNED = "NOT_OWNED"
    EXCLUDED = "EXCLUDED"
    NO_DIRECTORY_BUCKETS = "NO_DIRECTORY_BUCKETS"
    SERVICE_NOT_OFFERED = "SERVICE_NOT_OFFERED"
    DELETED = "DELETED"


class Unknown(StrEnum):
    """What is not known about an UNRESOLVED_EGRESS path, if its last hop does not say that.

    PERMISSION: a read that the note names. BLOCK_INGRESS and REGIONAL_NAT_CLOSED: what VPC Block Public Access does to an
    internet gateway, and to a regional NAT gateway. AFTER_APPLY: a value that is known after the apply of a proposed change;
    SOURCE: the same, if the configuration was not read, which may say the value. NETWORK: the network, without which a change
    was judged.
    """

    PERMISSION = "PERMISSION"
    BLOCK_INGRESS = "BLOCK_INGRESS"
    REGIONAL_NAT_CLOSED = "REGIONAL_NAT_CLOSED"
    AFTER_APPLY = "AFTER_APPLY"
    SOURCE = "SOURCE"
    NETWORK = "NETWORK"


SEVERITY_ORDER = {reason: position for position, reason in enumerate(Reason)}
"""Each reason's position in the order of severity; the worst reason has position 0."""

NAT_REASONS = frozenset(
    {
        Reason.NAT_GATEWAY,
        Reason.NAT_INSTANCE,
        Reason.NAT_BEHIND_APPLIANCE,
        Reason.NAT_BEYOND_TRANSIT_GATEWAY,
    }
)
"""The reasons of a path that crosses a NAT."""

NO_WAY_OUT = frozenset({Reason.DROPPED, Reason.NO_ROUTE})
"""The reasons of addresses without a way out. If other addresses of the subnet have one, these are ignored."""
