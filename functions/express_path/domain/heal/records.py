"""The records of a heal: its blockers, its plan, and its settings, which come from the function's environment."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from express_path.domain.verdict.evaluator import Verdict
from express_path.errors import SettingError

MANAGED_TAG = "express-path:managed"
"""The tag of endpoints that a heal created: an undo deletes only endpoints with this tag."""
NONE = "NONE"
"""In place of what does not exist, because an attribute and the input of a step must not be empty."""
FULL_ACCESS = '{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}'
"""The policy that EC2 gives to an endpoint that is created without one
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-access.html)."""


class Blocker(StrEnum):
    """What can block a heal.

    `_concerns` in plan.py calls the functions that find most of them. Those of `network_concerns` are also in the remedies
    of scans.
    """

    NOT_OWNED = "NOT_OWNED"
    EXCLUDED = "EXCLUDED"
    NOT_A_NAT_PATH = "NOT_A_NAT_PATH"
    MORE_SPECIFIC_ROUTE = "MORE_SPECIFIC_ROUTE"
    WOULD_NOT_CURE = "WOULD_NOT_CURE"
    PATH_CLOSED = "PATH_CLOSED"
    TRANSIT_TRAFFIC = "TRANSIT_TRAFFIC"
    TRANSIT_UNKNOWN = "TRANSIT_UNKNOWN"
    OWNED_BY_IAC = "OWNED_BY_IAC"
    ENDPOINT_DELETING = "ENDPOINT_DELETING"
    ENDPOINT_QUOTA = "ENDPOINT_QUOTA"
    ROUTE_QUOTA = "ROUTE_QUOTA"
    SECURITY_GROUP_EGRESS = "SECURITY_GROUP_EGRESS"
    NETWORK_ACL = "NETWORK_ACL"
    POLICY_WOULD_DENY = "POLICY_WOULD_DENY"
    DNS_ATTRIBUTES = "DNS_ATTRIBUTES"
    CHANGE_CALENDAR_CLOSED = "CHANGE_CALENDAR_CLOSED"
    REVERTED_BY_OTHERS = "REVERTED_BY_OTHERS"
    UNDONE = "UNDONE"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED"
    APPROVAL_DENIED = "APPROVAL_DENIED"


MAY_WARN = frozenset(
    {
        Blocker.SECURITY_GROUP_EGRESS,
        Blocker.NETWORK_ACL,
        Blocker.POLICY_WOULD_DENY,
        Blocker.DNS_ATTRIBUTES,
        Blocker.TRANSIT_UNKNOWN,
    }
)
"""The blockers that a team may reduce to warnings."""


@dataclass(frozen=True, slots=True)
class Concern:
    """A blocker or warning. Programs read the code and the resource, and people read the evidence and what to do.

    resource: what it is about, such as the ID of a route table, or the name of a bucket or a setting. fix: what to do.
    only_warns: the settings except the resource.
    """

    code: Blocker
    resource: str
    evidence: str
    fix: str
    only_warns: bool = False


class PlanAction(StrEnum):
    """What a heal would do."""

    NOTHING_TO_DO = "NOTHING_TO_DO"
    ASSOCIATE = "ASSOCIATE"
    CREATE_AND_ASSOCIATE = "CREATE_AND_ASSOCIATE"
    BLOCKED = "BLOCKED"


CHANGING = frozenset({PlanAction.ASSOCIATE, PlanAction.CREATE_AND_ASSOCIATE})
"""The actions that change something."""


class RemediationMode(StrEnum):
    """What the stack does about a NON_COMPLIANT subnet: OFF and ON differ only in what AWS Config starts."""

    OFF = "OFF"
    ON = "ON"
    APPROVAL = "APPROVAL"


@dataclass(frozen=True, slots=True)
class HealSettings:
    """A team's settings for heals; they apply to all heals, whether a person or AWS Config starts them.

    owner_tags (key or key=value) mark resources that a tool owns, in addition to CloudFormation's own tags, and
    automatic_tag_keys are those of tags that an organization adds to everything, which say nothing about owners. excepted
    are the buckets and access points for whose policies POLICY_WOULD_DENY is only a warning. calendar is
    the name or ARN of the change calendar that must be open, and policy_parameter the SSM parameter with the policy of
    endpoints that heals create; each is empty if there is none. policy is the text of that parameter. In mode APPROVAL,
    the approvers get a request through the SNS topic from a run of approval_document, whose plan is that of plan_function
    (Region:account:function:name), before heal_document starts.
    """

    owner_tags: tuple[str, ...] = ()
    automatic_tag_keys: frozenset[str] = frozenset()
    adopt_iac_owned: bool = False
    warn_only: frozenset[Blocker] = frozenset({Blocker.DNS_ATTRIBUTES})
    excepted: frozenset[str] = frozenset()
    policy: str = FULL_ACCESS
    ledger_table: str = ""
    mode: RemediationMode = RemediationMode.OFF
    calendar: str = ""
    policy_parameter: str = ""
    approvers: tuple[str, ...] = ()
    approval_topic_arn: str = ""
    heal_document: str = ""
    approval_document: str = ""
    plan_function: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a heal would change, or why it is blocked.

    endpoint_id is the endpoint to associate. If it is None, an endpoint with policy and ip_address_type is created.
    patches are the same change for CloudFormation, Terraform, and the AWS CLI. fingerprint identifies what an approval
    approves; it is empty if there is nothing to heal. judged names the holders of the policies that were read.
    """

    action: PlanAction
    verdict: Verdict
    service_name: str = ""
    endpoint_id: str | None = None
    policy: str = ""
    ip_address_type: str = ""
    blockers: tuple[Concern, ...] = ()
    warnings: tuple[Concern, ...] = ()
    patches: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    judged: tuple[str, ...] = ()

    @property
    def subnet_id(self) -> str:
        """The subnet to heal."""
        return self.verdict.subnet_id

    @property
    def annotation(self) -> str:
        """The annotation of its verdict."""
        return self.verdict.annotation


LONGEST_POLICY = 20480
"""The longest endpoint policy, in characters
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html)."""


ACCOUNT = "{account}"
"""Stands for the ID of the account in the ARNs of approvers, so that all accounts can have the same setting."""


def parse_settings(values: Mapping[str, str], account_id: str) -> HealSettings:
    """Read the settings from the environment variables of the plan function, in an account. Raise SettingError.

    LEDGER_TABLE_NAME is required; everything else has a default. If WARN_ONLY is empty, no blocker is only a warning.
    The policy is full access until the SSM parameter policy_parameter is read.
    """
    defaults = HealSettings()
    warn_only = _words(values.get("WARN_ONLY", ",".join(defaults.warn_only)))
    function = values.get("AWS_LAMBDA_FUNCTION_NAME", "")
    excepted = [match[1] for match in map(_EXCEPTED.fullmatch, warn_only) if match]
    return replace(
        parse_owners(values),
        warn_only=frozenset(_blocker(word) for word in warn_only if not _EXCEPTED.fullmatch(word)),
        excepted=frozenset(excepted),
        ledger_table=parse_ledger_table(values),
        mode=_mode(values.get("REMEDIATION_MODE") or defaults.mode),
        calendar=values.get("CHANGE_CALENDAR_NAME", ""),
        policy_parameter=values.get("ENDPOINT_POLICY_PARAMETER", ""),
        approvers=tuple(_words(values.get("APPROVERS", "").replace(ACCOUNT, account_id))),
        approval_topic_arn=values.get("APPROVAL_TOPIC_ARN", ""),
        heal_document=values.get("HEAL_DOCUMENT_NAME", ""),
        approval_document=values.get("APPROVAL_DOCUMENT_NAME", ""),
        plan_function=f"{values.get('AWS_REGION', '')}:{account_id}:function:{function}" if function else "",
    )


def parse_owners(values: Mapping[str, str]) -> HealSettings:
    """Read the settings about owners, which undos need too; the others have their defaults. Raise SettingError."""
    return HealSettings(
        owner_tags=tuple(_words(values.get("OWNER_TAGS", ""))),
        automatic_tag_keys=frozenset(_words(values.get("AUTOMATIC_TAG_KEYS", ""))),
        adopt_iac_owned=_boolean("ADOPT_IAC_OWNED", values.get("ADOPT_IAC_OWNED") or "false"),
    )


def parse_ledger_table(values: Mapping[str, str]) -> str:
    """Return the name of the ledger's table, which undos need too. Raise SettingError if it is empty."""
    name = values.get("LEDGER_TABLE_NAME", "")
    if not name:
        allowed = "the name of the ledger's DynamoDB table (stack output LedgerTableName)"
        raise SettingError("LEDGER_TABLE_NAME", name, allowed)
    return name


def _mode(value: str) -> RemediationMode:
    try:
        return RemediationMode(value)
    except ValueError:
        raise SettingError("REMEDIATION_MODE", value, "one of " + ", ".join(RemediationMode)) from None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _boolean(name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise SettingError(name, value, "true or false")
    return value == "true"


_EXCEPTED = re.compile(f"{Blocker.POLICY_WOULD_DENY}:([a-z0-9-]+--xa?-s3)")
"""An exception for one directory bucket or access point
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-naming-rules.html)."""


def _blocker(value: str) -> Blocker:
    if value not in MAY_WARN:
        allowed = f"any of {', '.join(sorted(MAY_WARN))}, or {Blocker.POLICY_WOULD_DENY}: and the name of a bucket"
        raise SettingError("WARN_ONLY", value, allowed)
    return Blocker(value)


def parse_endpoint_policy(text: str) -> str:
    """Return the text of the SSM parameter policy_parameter if it is an endpoint's policy. Raise SettingError."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise SettingError("ENDPOINT_POLICY_PARAMETER", text[:80], "a policy document in JSON") from error
    if not isinstance(document, dict) or "Statement" not in document or len(text) > LONGEST_POLICY:
        raise SettingError(
            "ENDPOINT_POLICY_PARAMETER", text[:80], f"a policy with Statement and at most {LONGEST_POLICY} characters"
        )
    return text
