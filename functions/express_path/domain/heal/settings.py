"""Read the settings of heals from the function's environment variables."""

import json
from collections.abc import Mapping
from dataclasses import replace

from express_path.domain.heal.records import MAY_WARN, Blocker, HealSettings, RemediationMode
from express_path.errors import SettingError

LONGEST_POLICY = 20480
"""The longest endpoint policy, in characters
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html)."""


ACCOUNT = "{account}"
"""Stands for the ID of the account in the ARNs of approvers, so that all accounts can have the same setting."""


def parse_settings(values: Mapping[str, str], account_id: str) -> HealSettings:
    """Read the settings from the environment variables of the plan function, in an account. Raise SettingError.

    LEDGER_TABLE_NAME is required; everything else has a default. If WARN_ONLY is empty, no blocker is only a warning.
    The policy is full access until with_policy() replaces it.
    """
    defaults = HealSettings()
    warn_only = values.get("WARN_ONLY")
    return replace(
        parse_owners(values),
        warn_only=defaults.warn_only if warn_only is None else frozenset(map(_blocker, _words(warn_only))),
        ledger_table=parse_ledger_table(values),
        mode=_mode(values.get("REMEDIATION_MODE") or defaults.mode),
        calendar=values.get("CHANGE_CALENDAR_NAME", ""),
        policy_parameter=values.get("ENDPOINT_POLICY_PARAMETER", ""),
        approvers=tuple(_words(values.get("APPROVERS", "").replace(ACCOUNT, account_id))),
        approval_topic_arn=values.get("APPROVAL_TOPIC_ARN", ""),
        heal_document=values.get("HEAL_DOCUMENT_NAME", ""),
    )


def parse_owners(values: Mapping[str, str]) -> HealSettings:
    """Read the settings about owners, which undos need too; the others have their defaults. Raise SettingError."""
    return HealSettings(
        owner_tags=tuple(_words(values.get("OWNER_TAGS", ""))),
        adopt_iac_owned=_boolean("ADOPT_IAC_OWNED", values.get("ADOPT_IAC_OWNED") or "false"),
    )


def with_policy(settings: HealSettings, text: str) -> HealSettings:
    """Return the settings with the policy of the SSM parameter policy_parameter. Raise SettingError."""
    return replace(settings, policy=_policy(text))


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


def _blocker(value: str) -> Blocker:
    for blocker in MAY_WARN:
        if value == blocker:
            return blocker
    raise SettingError("WARN_ONLY", value, "any of " + ", ".join(sorted(MAY_WARN)))


def _policy(text: str) -> str:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise SettingError("ENDPOINT_POLICY_PARAMETER", text[:80], "a policy document in JSON") from error
    if not isinstance(document, dict) or "Statement" not in document or len(text) > LONGEST_POLICY:
        raise SettingError(
            "ENDPOINT_POLICY_PARAMETER", text[:80], f"a policy with Statement and at most {LONGEST_POLICY} characters"
        )
    return text
