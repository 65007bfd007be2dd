"""The records of a heal: what stands in its way, under which settings it is planned, and the plan itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from express_path.domain.verdict.evaluator import Verdict

MANAGED_TAG = "express-path:managed"
"""On an endpoint that a heal made: only such a one may be deleted by an undo."""
FULL_ACCESS = '{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}'
"""The policy that EC2 gives an endpoint made without one
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-access.html)."""


class Blocker(StrEnum):
    """What can stand in a heal's way."""

    NOT_OWNED = "NOT_OWNED"
    EXCLUDED = "EXCLUDED"
    NOT_A_NAT_PATH = "NOT_A_NAT_PATH"
    MORE_SPECIFIC_ROUTE = "MORE_SPECIFIC_ROUTE"
    WOULD_NOT_CURE = "WOULD_NOT_CURE"
    OWNED_BY_IAC = "OWNED_BY_IAC"
    ENDPOINT_DELETING = "ENDPOINT_DELETING"
    ENDPOINT_QUOTA = "ENDPOINT_QUOTA"
    ROUTE_QUOTA = "ROUTE_QUOTA"
    SECURITY_GROUP_EGRESS = "SECURITY_GROUP_EGRESS"
    NETWORK_ACL = "NETWORK_ACL"
    SOURCE_IP_POLICY = "SOURCE_IP_POLICY"
    DNS_ATTRIBUTES = "DNS_ATTRIBUTES"
    CHANGE_CALENDAR_CLOSED = "CHANGE_CALENDAR_CLOSED"
    REVERTED_BY_OTHERS = "REVERTED_BY_OTHERS"
    UNDONE = "UNDONE"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED"
    APPROVAL_DENIED = "APPROVAL_DENIED"


MAY_WARN = frozenset(
    {Blocker.SECURITY_GROUP_EGRESS, Blocker.NETWORK_ACL, Blocker.SOURCE_IP_POLICY, Blocker.DNS_ATTRIBUTES}
)
"""The blockers that a team may turn into warnings."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A blocker or warning: its name, what shows it, and what to do."""

    blocker: Blocker
    evidence: str
    cure: str


class Action(StrEnum):
    """What a heal would do."""

    NOTHING_TO_DO = "NOTHING_TO_DO"
    ASSOCIATE = "ASSOCIATE"
    CREATE_AND_ASSOCIATE = "CREATE_AND_ASSOCIATE"
    BLOCKED = "BLOCKED"


class RemediationMode(StrEnum):
    """What the stack lets happen to a NON_COMPLIANT subnet: OFF and ON differ only in what AWS Config starts."""

    OFF = "OFF"
    ON = "ON"
    APPROVAL = "APPROVAL"


@dataclass(frozen=True, slots=True)
class HealSettings:
    """How a team wants heals done, whoever starts them.

    owner_tags (key or key=value) mark what a tool owns, as CloudFormation's own tags do. calendar is the name or ARN of
    the change calendar that must be open, policy_parameter the SSM parameter with the policy of endpoints that heals
    create; both are empty for none. policy is the text of that parameter. In mode APPROVAL the approvers are asked
    through the SNS topic before heal_document starts.
    """

    owner_tags: tuple[str, ...] = ()
    adopt_iac_owned: bool = False
    warn_only: frozenset[Blocker] = frozenset({Blocker.DNS_ATTRIBUTES})
    gateway_endpoint_quota: int = 20
    route_quota: int = 500
    policy: str = FULL_ACCESS
    ledger_table: str = ""
    mode: RemediationMode = RemediationMode.OFF
    calendar: str = ""
    policy_parameter: str = ""
    approvers: tuple[str, ...] = ()
    approval_topic_arn: str = ""
    heal_document: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a heal would change, or why it may not.

    endpoint_id is the endpoint to associate, None where one is to be created; then policy and ip_address_type say how.
    patches hold the same change for CloudFormation, Terraform and the AWS CLI.
    """

    action: Action
    verdict: Verdict
    service_name: str = ""
    endpoint_id: str | None = None
    policy: str = ""
    ip_address_type: str = ""
    blockers: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    patches: Mapping[str, str] = field(default_factory=dict)
