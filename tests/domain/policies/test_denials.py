"""What a gateway endpoint changes for policies, against policies judged by hand and against an independent judge."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from express_path.domain.policies.denials import denials, restrictions
from express_path.domain.policies.documents import parse_policy
from express_path.domain.policies.keys import KnownContext
from tests.domain.policies.judge import Judge, Known

DOCUMENTS = Path(__file__).parent / "documents"
OF_ENDPOINTS = "endpoint_policies"


@dataclass(frozen=True)
class Case:
    """A policy with the outcome of each statement that a person expects."""

    family: str
    title: str
    policy: Mapping[str, Any]
    known: Known
    expected: list[str]

    def outcomes(self) -> list[str]:
        """The product's outcome of each statement."""
        judge = restrictions if self.family == OF_ENDPOINTS else denials
        return outcomes(self.policy, self.known, judge)


def read_cases() -> list[Case]:
    """Read every family of policies."""
    return [
        Case(
            path.stem,
            row["title"],
            {
                "Version": row.get("version", "2012-10-17"),
                "Statement": [statement for rows in row["statements"] for statement in rows.values()],
            },
            Known(**row.get("known", {})),
            [outcome for rows in row["statements"] for outcome in rows],
        )
        for path in sorted(DOCUMENTS.glob("*.yaml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def outcomes(policy: Mapping[str, Any], known: Known, judge: Any = denials) -> list[str]:
    """Return the product's outcome of each statement."""
    document = parse_policy("policy", json.dumps(policy))
    found = judge(document, KnownContext(known.vpc, known.endpoint, tuple(known.address), known.region))
    flagged = [id(denial.statement) for denial in found]
    return ["WOULD_DENY" if id(row) in flagged else "UNCHANGED" for row in document.statements]


def named(flips: list[bool]) -> list[str]:
    """Return the judge's answer with the product's words."""
    return ["WOULD_DENY" if flips_one else "UNCHANGED" for flips_one in flips]


CASES = read_cases()
each_case = pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])


@each_case
def test_outcome_is_what_a_person_expects(case: Case) -> None:
    """Each statement has the outcome under which it stands in the file."""
    assert case.outcomes() == case.expected


@each_case
def test_outcome_is_what_the_judge_finds(case: Case) -> None:
    """The judge, which tries everything, comes to the same outcomes."""
    judge = Judge(case.policy, case.known)
    assert named(judge.restrictions() if case.family == OF_ENDPOINTS else judge.flips()) == case.expected


def test_restricts_says_whether_any_statement_does() -> None:
    """The endpoint's default policy does not restrict requests, and one for sessions does."""
    allow = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    assert not restrictions(parse_policy("vpce-0a", {"Statement": allow}))
    assert restrictions(parse_policy("vpce-0a", {"Statement": {**allow, "Action": "s3express:CreateSession"}}))


# --- fixes

PLACEHOLDER = "<ID of the VPC>"


def assert_fixes_work(policy: Mapping[str, Any], known: Known) -> None:
    """The fix of each statement lets it deny nothing more through the endpoint, and changes nothing through the NAT."""
    known = known if known.vpc or known.endpoint else replace(known, vpc="vpc-0fixed")
    document = parse_policy("policy", json.dumps(policy))
    for denial in denials(document, KnownContext(known.vpc, known.endpoint, tuple(known.address), known.region)):
        if "{" not in denial.fix:
            assert denial.fix.startswith("change or delete the statement")
            continue
        number = next(n for n, row in enumerate(document.statements) if row is denial.statement)
        fixed = with_fix(policy, number, denial.fix)
        assert outcomes(fixed, known)[number] == "UNCHANGED", denial.fix
        judge, before = Judge(fixed, known), Judge(policy, known)
        assert not judge.flips()[number], denial.fix
        assert judge.decisions_through_nat(before) == before.decisions_through_nat(before), denial.fix


def with_fix(policy: Mapping[str, Any], number: int, fix: str) -> Mapping[str, Any]:
    """Return a policy with the fix of one statement applied, as a person would do it."""
    advice, _, text = fix.partition("{")
    statements = list(policy["Statement"])
    fixed = {**statements[number], "Condition": json.loads("{" + text)}
    if advice.startswith("replace its Condition by"):
        statements[number] = fixed
    else:
        assert advice.startswith("add the same statement once more, without its Sid")
        statements.append({name: value for name, value in fixed.items() if name != "Sid"})
    return {**policy, "Statement": statements}


@pytest.mark.no_cover
@each_case
def test_fix_allows_both_paths(case: Case) -> None:
    """A fix lets its statement deny nothing more through the endpoint, and changes nothing through the NAT."""
    if case.family != OF_ENDPOINTS:
        assert_fixes_work(case.policy, case.known)


def test_fix_names_what_is_known() -> None:
    """The endpoint goes into the fix, else the VPC, else a placeholder for the VPC."""
    policy = {
        "Statement": {"Effect": "Deny", "Action": "*", "Condition": {"NotIpAddress": {"aws:SourceIp": "203.0.113.1"}}}
    }
    document = parse_policy("policy", policy)
    known = (KnownContext("vpc-0a", "vpce-0b"), KnownContext("vpc-0a"), KnownContext())
    added = [
        json.loads(denials(document, row)[0].fix.partition("{")[1] + denials(document, row)[0].fix.partition("{")[2])
        for row in known
    ]
    assert [row["StringNotEquals"] for row in added] == [
        {"aws:SourceVpce": ["vpce-0b"]},
        {"aws:SourceVpc": ["vpc-0a"]},
        {"aws:SourceVpc": [PLACEHOLDER]},
    ]


@pytest.mark.parametrize("known", [KnownContext("vpc-0a"), KnownContext()])
def test_condition_that_can_never_hold_is_not_suggested(known: KnownContext) -> None:
    """A Deny for one VPC with an exception for this VPC would deny nothing."""
    condition = {"StringEquals": {"aws:SourceVpc": "vpc-0a"}}
    document = parse_policy("policy", {"Statement": {"Effect": "Deny", "Action": "*", "Condition": condition}})
    [denial] = denials(document, known)
    assert denial.fix.startswith("change or delete the statement")


# --- random policies

TEXT_OPERATORS = ("StringEquals", "StringNotEquals", "StringLike", "StringNotLike", "StringEqualsIgnoreCase")
VALUES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "aws:SourceIp": (("IpAddress", "NotIpAddress"), ("203.0.113.0/24", "203.0.113.0/25", "10.0.0.0/8", "0.0.0.0/0")),
    "aws:VpcSourceIp": (("IpAddress", "NotIpAddress"), ("10.0.0.0/8", "10.1.0.0/16")),
    "aws:SourceVpc": (
        TEXT_OPERATORS,
        ("vpc-a", "vpc-ab", "vpc-*", "vpc-a?", "*", "${aws:PrincipalTag/vpc}", "${aws:Ec2InstanceSourceVpc}"),
    ),
    "aws:SourceVpce": (TEXT_OPERATORS, ("vpce-a", "vpce-A", "vpce-?", "*a*")),
    "aws:SourceVpcArn": (
        ("ArnLike", "ArnNotLike", "ArnEquals", "StringLike"),
        ("arn:aws:ec2:*:*:vpc/vpc-a", "arn:aws:ec2:*:444455556666:vpc/*", "arn:*:vpc/vpc-a"),
    ),
    "aws:VpceOrgID": (TEXT_OPERATORS, ("o-a", "${aws:PrincipalOrgID}")),
    "aws:PrincipalArn": (
        ("ArnLike", "ArnNotLike", "StringLike"),
        ("arn:aws:iam::111122223333:role/a*", "arn:aws:iam::*:*", "*"),
    ),
    "aws:SecureTransport": (("Bool",), ("true", "false")),
    "aws:PrincipalOrgID": (TEXT_OPERATORS, ("o-a", "o-*")),
    "aws:PrincipalTag/vpc": (TEXT_OPERATORS, ("vpc-a", "${aws:SourceVpc}", "${aws:SourceVpc, 'vpc-a'}")),
    "aws:TagKeys": (TEXT_OPERATORS, ("a", "b", "*")),
    "aws:ViaAWSService": (("Bool",), ("true", "false")),
    "aws:RequestedRegion": (TEXT_OPERATORS, ("us-east-1", "us-*")),
    "aws:Ec2InstanceSourceVpc": (TEXT_OPERATORS, ("vpc-a", "vpc-a?", "${aws:SourceVpc}")),
    "aws:Ec2InstanceSourcePrivateIPv4": (TEXT_OPERATORS, ("10.1.0.5", "10.1.*", "${aws:VpcSourceIp}")),
    "s3express:SessionMode": (TEXT_OPERATORS, ("ReadWrite", "ReadOnly", "Read*")),
    "s3express:TlsVersion": (("NumericLessThan", "NumericGreaterThanEquals", "NumericNotEquals"), ("1.2", "1.3")),
}


MOST_COMBINATIONS = 3_000
"""How many combinations the judge tries for a random policy: all of most policies, in some milliseconds each."""


@st.composite
def conditions(draw: st.DrawFn, keys: list[str]) -> dict[str, dict[str, list[str]]]:
    """Draw a Condition element."""
    found: dict[str, dict[str, list[str]]] = {}
    for key in draw(st.lists(st.sampled_from(keys), max_size=3, unique=True)):
        operators, values = VALUES[key]
        if draw(st.integers(0, 5)) == 0:
            found.setdefault("Null", {})[key] = [draw(st.sampled_from(["true", "false"]))]
            continue
        quantifier = draw(st.sampled_from(["", "", "", "ForAllValues:", "ForAnyValue:"]))
        operator = quantifier + draw(st.sampled_from(operators)) + draw(st.sampled_from(["", "", "IfExists"]))
        found.setdefault(operator, {})[key] = draw(
            st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True)
        )
    return found


ARN = "arn:aws:s3express:us-east-1:111122223333:bucket/"
ROLE = "arn:aws:iam::111122223333:role/reader"
ACTIONS_DRAWN = [
    "*",
    "s3express:*",
    "s3express:CreateSession",
    "s3express:Create*",
    "s3express:GetBucketPolicy",
    "s3:*",
]
RESOURCES_DRAWN = ["*", f"{ARN}*", f"{ARN}a--use1-az4--x-s3", f"{ARN}a*", "arn:aws:s3express:*:*:accesspoint/*"]
PRINCIPALS_DRAWN: list[Any] = ["*", {"AWS": "111122223333"}, {"AWS": [ROLE]}, {"Service": "logging.s3.amazonaws.com"}]


@st.composite
def elements(draw: st.DrawFn, name: str, values: list[Any]) -> dict[str, Any]:
    """Draw an element, seldom a negated one."""
    return {draw(st.sampled_from([name, name, name, f"Not{name}"])): draw(st.sampled_from([values[0], *values]))}


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a policy of one to three statements."""
    keys = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True))
    statements = [
        {
            "Effect": draw(st.sampled_from(["Allow", "Deny"])),
            **draw(elements("Principal", PRINCIPALS_DRAWN)),
            **draw(elements("Action", ACTIONS_DRAWN)),
            **draw(elements("Resource", RESOURCES_DRAWN)),
            "Condition": draw(conditions(keys)),
        }
        for _ in range(draw(st.integers(1, 3)))
    ]
    return {"Version": "2012-10-17", "Statement": statements}


knowns = st.builds(
    Known,
    vpc=st.sampled_from(["", "", "vpc-a", "vpc-c"]),
    endpoint=st.sampled_from(["", "", "vpce-a", "vpce-c"]),
    address=st.sampled_from([(), (), ("203.0.113.5",), ("203.0.113.200", "192.0.2.1")]),
    region=st.sampled_from(["", "us-east-1", "eu-north-1"]),
)


@pytest.mark.no_cover
@settings(max_examples=30)
@given(policies(), knowns)
def test_random_policies_are_judged_alike(policy: dict[str, Any], known: Known) -> None:
    """The product and the judge agree on every statement of random policies, and the fixes work."""
    judge = Judge(policy, known)
    assume(judge.size() < MOST_COMBINATIONS)
    assert outcomes(policy, known) == named(judge.flips())
    assert outcomes(policy, known, restrictions) == named(judge.restrictions())
    assert_fixes_work(policy, known)
