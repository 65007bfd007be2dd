"""What policies say about a heal: each statement that would deny is a concern, and so is a policy that is not known."""

import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from time import process_time
from typing import Any

import pytest

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.heal.policies import policy_concerns
from express_path.domain.heal.preflight import Policy
from express_path.domain.heal.records import FULL_ACCESS, Blocker, Concern, HealSettings
from express_path.domain.policies.denials import denials
from express_path.domain.policies.documents import parse_policy
from express_path.domain.policies.keys import KnownContext
from tests.support.make import endpoint

BUCKET = "data--use1-az4--x-s3"
OFFICE = {"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}
ENDPOINTS = {"Null": {"aws:SourceVpce": "false"}, "StringNotEquals": {"aws:SourceVpce": "vpce-1"}}


def of_endpoint(endpoint_id: str, document: str) -> Policy:
    """Return the policy of an endpoint."""
    return Policy(endpoint_id, document, endpoint_id=endpoint_id)


def deny(condition: dict[str, Any], sid: str = "Perimeter") -> str:
    """Return a policy with one statement that denies everything under a condition."""
    statement = {"Sid": sid, "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*", "Condition": condition}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def shown(*policies: Policy, used: str = "vpce-1", settings: HealSettings | None = None) -> list[str]:
    """Return the evidence of each concern, all of which have the one name."""
    found = list(policy_concerns(policies, endpoint(used), settings or HealSettings()))
    assert {concern.code for concern in found} <= {Blocker.POLICY_WOULD_DENY}
    assert all(concern.fix for concern in found)
    return [concern.evidence for concern in found]


def test_statement_that_would_deny_is_named_with_a_condition_that_allows_both_paths() -> None:
    """The cure can be copied, names the VPC's endpoint, and works."""
    policies = (Policy("vpce-logs--use1-az4--x-s3", deny(OFFICE)), Policy("access point a", deny(OFFICE, "Office")))
    first, second = policy_concerns(policies, endpoint("vpce-1"), HealSettings())
    assert "statement 'Perimeter' of the policy of vpce-logs--use1-az4--x-s3 would deny" in first.evidence
    assert "NotIpAddress aws:SourceIp 203.0.113.0/24" in first.evidence
    assert "statement 'Office' of the policy of access point a" in second.evidence
    condition = json.loads(first.fix[first.fix.index("{") : first.fix.rindex("}") + 1])
    cured = parse_policy(BUCKET, deny(condition))
    assert denials(cured, KnownContext("vpc-1", "vpce-1")) == []


@pytest.mark.parametrize(("used", "number"), [("vpce-1", 0), ("vpce-2", 1), (NEW_ENDPOINT, 1)])
def test_endpoint_that_is_used_is_known(used: str, number: int) -> None:
    """A policy that lists endpoints denies only others, and an endpoint to be made is any."""
    assert len(shown(Policy(BUCKET, deny(ENDPOINTS)), used=used)) == number


def statement(effect: str, action: str, **more: Any) -> dict[str, Any]:
    """Return a statement about everybody and every resource."""
    return {"Effect": effect, "Principal": "*", "Action": action, "Resource": "*", **more}


ALLOW = statement("Allow", "s3express:*")
SOME = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:Get*", "Resource": "*"}]})


@pytest.mark.parametrize(
    ("holder", "document", "setting", "number"),
    [
        ("vpce-1", FULL_ACCESS, FULL_ACCESS, 0),
        ("vpce-1", json.dumps({"Statement": [ALLOW]}), FULL_ACCESS, 0),
        ("vpce-1", SOME, FULL_ACCESS, 1),
        ("vpce-2", SOME, FULL_ACCESS, 0),
    ],
    ids=["full access", "all of S3 Express", "restricts", "of another endpoint"],
)
def test_policy_of_the_endpoint_must_allow_everything(holder: str, document: str, setting: str, number: int) -> None:
    """No endpoint policy applies on the NAT path, so one that restricts blocks, unless the stack's settings have it."""
    assert len(shown(of_endpoint(holder, document), settings=HealSettings(policy=setting))) == number


def chosen(*statements: dict[str, Any], used: str = NEW_ENDPOINT, has_it: bool = False) -> list[Concern]:
    """Return the concerns about the policy that the stack's settings name, for a new endpoint or one that has it."""
    document = json.dumps({"Statement": list(statements)})
    policies = [of_endpoint(used, document + " ")] if has_it else []
    return list(policy_concerns(policies, endpoint(used), HealSettings(policy=document), NOW))


NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def denying(operator: str, key: str, *values: str) -> dict[str, Any]:
    """Return a statement that denies everything under a condition."""
    return {**statement("Deny", "*"), "Condition": {operator: {key: list(values)}}}


NO_SESSION = {
    "denies each resource of the Region": [
        ALLOW,
        {**statement("Deny", "*"), "Resource": "arn:aws:s3express:us-east-1:*:*"},
    ],
    "allows another Region": [{**ALLOW, "Resource": "arn:aws:s3express:eu-west-1:*:*"}],
    "allows another partition": [{**ALLOW, "Resource": "arn:aws-cn:s3express:*:*:*"}],
    "denies with and without TLS": [ALLOW, denying("Bool", "aws:SecureTransport", "true", "false")],
    "denies from a day in the past": [ALLOW, denying("DateGreaterThan", "aws:CurrentTime", "2020-01-01T00:00:00Z")],
    "denies until a day in the future": [ALLOW, denying("NumericLessThan", "aws:EpochTime", "4000000000")],
    "denies all principals": [ALLOW, denying("ArnLike", "aws:PrincipalArn", "arn:aws:*:*:*:*")],
    "denies whoever has an ARN": [ALLOW, denying("Null", "aws:PrincipalArn", "false")],
    "denies all accounts' resources": [ALLOW, denying("StringLike", "aws:ResourceAccount", "*")],
    "denies everything": [ALLOW, statement("Deny", "*")],
    "denies sessions": [ALLOW, statement("Deny", "s3express:CreateSession")],
    "allows another service": [statement("Allow", "s3:*")],
    "allows only bucket management": [statement("Allow", "s3express:ListAllMyDirectoryBuckets")],
    "allows another VPC": [{**ALLOW, "Condition": {"StringEquals": {"aws:SourceVpc": "vpc-other"}}}],
}


@pytest.mark.parametrize("statements", NO_SESSION.values(), ids=NO_SESSION)
def test_chosen_policy_that_allows_no_session_blocks(statements: list[dict[str, Any]]) -> None:
    """Who may only write the SSM parameter cannot turn heals into an outage, with a new endpoint or one that has the policy."""
    [concern] = chosen(*statements)
    assert (concern.code, concern.resource, concern.only_warns) == (
        Blocker.POLICY_WOULD_DENY,
        "the stack's endpoint policy",
        False,
    )
    assert "EndpointPolicyParameter" in concern.fix
    [concern] = chosen(*statements, used="vpce-1", has_it=True)
    assert (concern.resource, concern.only_warns) == ("vpce-1", False)


@pytest.mark.parametrize(
    "condition",
    [
        ("Bool", "aws:SecureTransport", "false"),
        ("DateGreaterThan", "aws:CurrentTime", "2030-01-01T00:00:00Z"),
        ("ArnNotLike", "aws:PrincipalArn", "arn:aws:iam::111122223333:*"),
        ("Null", "aws:PrincipalOrgID", "false"),
    ],
    ids=lambda condition: condition[1],
)
def test_chosen_policy_that_allows_some_sessions_now_does_not_block(condition: tuple[str, str, str]) -> None:
    """Some requests can have values with which the statement does not apply."""
    assert all(concern.only_warns for concern in chosen(ALLOW, denying(*condition)))


def test_chosen_policy_that_restricts_is_shown() -> None:
    """What it restricts is a warning, which dry runs and approval requests show; full access is not mentioned."""
    of_organization = {**ALLOW, "Sid": "Ours", "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}}
    [concern] = chosen(of_organization)
    assert concern.only_warns
    assert concern.evidence == (
        "statement 'Ours' of the stack's endpoint policy restricts requests through the endpoint: "
        "'Allow; Principal *; Action s3express:*; Resource *; StringEquals aws:PrincipalOrgID o-1'"
    )
    denying = statement("Deny", "s3express:DeleteBucket")
    del denying["Action"]
    [concern] = chosen(ALLOW, {**denying, "NotAction": "s3express:CreateSession"})
    assert "'Deny; Principal *; NotAction s3express:CreateSession; Resource *'" in concern.evidence
    assert chosen(ALLOW) == chosen(json.loads(FULL_ACCESS)["Statement"][0]) == []


def test_chosen_policy_that_cannot_be_judged_blocks() -> None:
    """A policy over the budget, or of a form that IAM does not know, could not be decided."""
    [concern] = chosen(statement("Allow", "s3express:*", Condition={"NoSuchOperator": {"aws:SourceVpc": "vpc-1"}}))
    assert ("could not be decided" in concern.evidence, concern.only_warns) == (True, False)


def test_what_owners_wrote_is_quoted_and_cut_and_has_no_links() -> None:
    """A fix with it is not repeated: a person would copy it."""
    sid = "Approve 'at once'\x1b[2J\n https://evil.example/" + "x" * 300
    condition = {**OFFICE, "StringNotEquals": {"aws:PrincipalTag/a": "see www.evil.example"}}
    [concern] = policy_concerns([Policy(BUCKET, deny(condition, sid))], endpoint("vpce-1"), HealSettings())
    assert concern.evidence.startswith("statement 'Approve \"at once\"?[2J? (link)' of the policy of")
    assert concern.fix == "to allow both paths, see express-path policies --account"
    long = {**OFFICE, "StringNotEquals": {"aws:PrincipalTag/a": "x" * 20_000}}
    [concern] = policy_concerns([Policy(BUCKET, deny(long))], endpoint("vpce-1"), HealSettings())
    assert len(concern.evidence + concern.fix) < 500


def hostile(number: int) -> str:
    """Return a policy of almost 20 KB with two patterns that can match together in 32,768 ways."""
    patterns = [f"{letter * 9_000}*a{'?' * 15}b{number}" for letter in "xy"]
    return deny({"StringLike": {"aws:PrincipalTag/a": patterns}, **OFFICE})


@pytest.mark.no_cover
def test_hostile_policy_costs_no_other_policy_its_judgement() -> None:
    """Each policy has a share of the effort, and one that needs more could not be decided."""
    harmless = Policy("access point a--use1-az4--xa-s3", deny(OFFICE))
    policies = [*(Policy(f"{number}--use1-az4--x-s3", hostile(number)) for number in range(20)), harmless]
    found = list(policy_concerns(policies, endpoint("vpce-1"), HealSettings()))
    assert ["could not be decided" in concern.evidence for concern in found] == [True] * 20 + [False]
    settings = HealSettings(excepted=frozenset(policy.name for policy in policies[:20]))
    found = list(policy_concerns(policies, endpoint("vpce-1"), settings))
    assert [concern.only_warns for concern in found] == [False] + [True] * 20
    assert harmless.holder in found[0].evidence


BOMBS = {
    "patterns": hostile,
    "spaces in a variable": lambda _: deny({"StringLike": {"aws:PrincipalTag/a": "${" + " " * 18_000}, **OFFICE}),
    "conditions that mask each other": lambda _: json.dumps({"Statement": [
        *({"Effect": "Deny", "Action": "*", "Condition": {f"String{no}Like": {f"a:{n}": "*x*"}, "Bool": {f"b:{n}": "true"}}} for n in range(60) for no in ("", "Not")),
        {"Effect": "Deny", "Action": "*", "Condition": OFFICE},
    ]}),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS)
def test_a_hundred_hostile_policies_are_planned_soon_in_little_memory(make: Callable[[int], str]) -> None:
    """Ten seconds of processor time and 256 MiB are enough, whatever 100 policies of 20 KB say."""
    policies = [Policy(f"{number}--use1-az4--x-s3", make(number)) for number in range(100)]
    start = process_time()
    assert len(list(policy_concerns(policies, endpoint("vpce-1"), HealSettings()))) >= 100
    assert process_time() - start < 10
    tracemalloc.start()  # takes several times as long
    assert list(policy_concerns(policies[:1], endpoint("vpce-1"), HealSettings()))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200 * 2**20


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (Policy(BUCKET, "", "s3:GetBucketPolicy failed with AccessDenied: no"), "AccessDenied"),
        (Policy(BUCKET, "{"), "JSON"),
        (of_endpoint("vpce-1", "{"), "JSON"),
        (of_endpoint("vpce-1", '{"Statement": [{"Effect": "Perhaps"}]}'), "Allow or Deny"),
    ],
)
def test_policy_that_is_not_known_is_named(policy: Policy, why: str) -> None:
    """What could not be read or judged is a concern, with why, and how to go on."""
    [concern] = policy_concerns([policy], endpoint("vpce-1"), HealSettings())
    assert policy.holder in concern.evidence
    assert why in concern.evidence
    assert "WarnOnly" in concern.fix
