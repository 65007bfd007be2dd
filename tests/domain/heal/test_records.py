"""The settings of heals, from the function's environment, and which blockers may be warnings."""

import json
import re
from pathlib import Path

import pytest

from express_path.domain.heal.records import (
    FULL_ACCESS,
    LONGEST_POLICY,
    MAY_WARN,
    Blocker,
    HealSettings,
    RemediationMode,
    parse_endpoint_policy,
    parse_settings,
)
from express_path.errors import SettingError

ACCOUNT_ID = "123456789012"
LEDGER = {"LEDGER_TABLE_NAME": "ledger"}


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"OWNER_TAGS": "", "ADOPT_IAC_OWNED": "", "REMEDIATION_MODE": ""},
        {"UNRELATED": "x", "PATH": "/bin"},
    ],
    ids=["nothing", "empty", "others"],
)
def test_what_is_absent_or_empty_has_its_default(values: dict[str, str]) -> None:
    """A stack parameter left empty arrives as an empty string and means the default, which blocks most."""
    assert parse_settings(LEDGER | values, ACCOUNT_ID) == HealSettings(
        owner_tags=(),
        adopt_iac_owned=False,
        warn_only=frozenset({Blocker.DNS_ATTRIBUTES}),
        policy=FULL_ACCESS,
        ledger_table="ledger",
        mode=RemediationMode.OFF,
    )


def test_empty_list_of_warnings_lets_everything_block() -> None:
    """A team that empties WARN_ONLY takes the default warning back."""
    assert parse_settings(LEDGER | {"WARN_ONLY": ""}, ACCOUNT_ID).warn_only == frozenset()


@pytest.mark.parametrize("values", [{}, {"LEDGER_TABLE_NAME": ""}], ids=["absent", "empty"])
def test_no_heal_without_a_ledger(values: dict[str, str]) -> None:
    """Without its ledger a heal could be neither locked nor undone, so nothing is planned."""
    with pytest.raises(SettingError) as raised:
        parse_settings(values, ACCOUNT_ID)
    assert raised.value.name == "LEDGER_TABLE_NAME"


def test_every_setting_is_read() -> None:
    """Each variable sets one field; lists are separated by commas, and spaces beside them do not count."""
    values = {
        "OWNER_TAGS": "terraform, managed-by=pulumi ,,",
        "AUTOMATIC_TAG_KEYS": "Cost Center, map-migrated,",
        "ADOPT_IAC_OWNED": "true",
        "WARN_ONLY": "NETWORK_ACL, DNS_ATTRIBUTES",
        "LEDGER_TABLE_NAME": "heals",
        "REMEDIATION_MODE": "APPROVAL",
        "CHANGE_CALENDAR_NAME": "changes",
        "ENDPOINT_POLICY_PARAMETER": "/policy",
        "APPROVERS": "jane, john",
        "APPROVAL_TOPIC_ARN": "arn:aws:sns:us-east-1:123456789012:AutomationApprovals",
        "HEAL_DOCUMENT_NAME": "Heal",
        "APPROVAL_DOCUMENT_NAME": "Ask",
        "AWS_LAMBDA_FUNCTION_NAME": "plan",
        "AWS_REGION": "us-east-1",
    }
    assert parse_settings(values, ACCOUNT_ID) == HealSettings(
        owner_tags=("terraform", "managed-by=pulumi"),
        automatic_tag_keys=frozenset({"Cost Center", "map-migrated"}),
        adopt_iac_owned=True,
        warn_only=frozenset({Blocker.NETWORK_ACL, Blocker.DNS_ATTRIBUTES}),
        ledger_table="heals",
        mode=RemediationMode.APPROVAL,
        calendar="changes",
        policy_parameter="/policy",
        approvers=("jane", "john"),
        approval_topic_arn="arn:aws:sns:us-east-1:123456789012:AutomationApprovals",
        heal_document="Heal",
        approval_document="Ask",
        plan_function=f"us-east-1:{ACCOUNT_ID}:function:plan",
    )


def test_approvers_may_be_roles_of_the_account() -> None:
    """All accounts of an organization can have the same approvers, because {account} is replaced."""
    approvers = "arn:aws:iam::{account}:role/on-call,jane,arn:aws:iam::{account}:role/network"
    assert parse_settings(LEDGER | {"APPROVERS": approvers}, ACCOUNT_ID).approvers == (
        "arn:aws:iam::123456789012:role/on-call",
        "jane",
        "arn:aws:iam::123456789012:role/network",
    )


def test_blockers_that_may_be_warnings_are_read_and_documented() -> None:
    """WARN_ONLY takes every blocker that may be a warning, and the table in docs/heal-and-undo.md marks these."""
    assert parse_settings(LEDGER | {"WARN_ONLY": ",".join(MAY_WARN)}, ACCOUNT_ID).warn_only == MAY_WARN
    names = ("data--use1-az4--x-s3", "team-a--use1-az4--xa-s3")
    single = ",".join(["NETWORK_ACL", *(f"POLICY_WOULD_DENY:{name}" for name in names)])
    found = parse_settings(LEDGER | {"WARN_ONLY": single}, ACCOUNT_ID)
    assert (found.warn_only, found.excepted) == ({Blocker.NETWORK_ACL}, set(names))
    document = (Path(__file__).parents[3] / "docs" / "heal-and-undo.md").read_text(encoding="utf-8")
    assert {Blocker(name) for name in re.findall(r"^\| ([A-Z_]+) \|.*\| yes \|$", document, re.MULTILINE)} == MAY_WARN


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ADOPT_IAC_OWNED", "True"),
        ("ADOPT_IAC_OWNED", "yes"),
        ("WARN_ONLY", "ROUTE_QUOTA"),
        ("WARN_ONLY", "network_acl"),
        ("WARN_ONLY", "NETWORK_ACL:data--use1-az4--x-s3"),
        ("WARN_ONLY", "POLICY_WOULD_DENY:data"),
        ("WARN_ONLY", "NETWORK_ACL;DNS_ATTRIBUTES"),
        ("REMEDIATION_MODE", "on"),
    ],
)
def test_value_that_is_not_allowed_is_refused(name: str, value: str) -> None:
    """A wrong value is an error that names the variable, the value and what is allowed: never a silent default."""
    with pytest.raises(SettingError) as raised:
        parse_settings(LEDGER | {name: value}, ACCOUNT_ID)
    assert (raised.value.name, raised.value.value) == (name, value)
    assert raised.value.allowed in str(raised.value)


def padded(length: int) -> str:
    """A policy of exactly so many characters."""
    short = json.dumps({"Statement": [], "Id": ""})
    return json.dumps({"Statement": [], "Id": "x" * (length - len(short))})


def test_policy_may_be_as_long_as_ec2_takes() -> None:
    """An endpoint's policy has at most 20,480 characters."""
    assert len(padded(LONGEST_POLICY)) == LONGEST_POLICY == 20480
    assert parse_endpoint_policy(padded(LONGEST_POLICY)) == padded(LONGEST_POLICY)


@pytest.mark.parametrize(
    "text",
    ["", "not JSON", "{", "[]", '"Statement"', "null", "{}", '{"statement": []}', padded(LONGEST_POLICY + 1)],
    ids=["empty", "text", "cut off", "list", "string", "null", "no statement", "other case", "too long"],
)
def test_malformed_policy_is_refused(text: str) -> None:
    """A policy that is empty or that EC2 would reject is an error before any change."""
    with pytest.raises(SettingError) as raised:
        parse_endpoint_policy(text)
    assert raised.value.name == "ENDPOINT_POLICY_PARAMETER"
    assert raised.value.value == text[:80]
