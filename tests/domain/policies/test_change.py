"""What a gateway endpoint changes for policies: some judged by hand, and some drawn at random.

What a search over every request and every context found of the latter is recorded.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from express_path.domain.policies.change import KnownContext, denials, restrictions, restricts
from express_path.domain.policies.documents import Statement, parse_policy

DOCUMENTS = Path(__file__).parent / "documents"
OF_ENDPOINTS = "endpoint_policies"


@dataclass(frozen=True)
class Case:
    """A policy with the outcome of each statement."""

    family: str
    title: str
    policy: Mapping[str, Any]
    known: KnownContext
    expected: list[str]

    def outcomes(self) -> list[str]:
        """The product's outcome of each statement."""
        judge = restrictions if self.family.startswith(OF_ENDPOINTS) else denials
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
            known_context(**row.get("known", {})),
            [outcome for rows in row["statements"] for outcome in rows],
        )
        for path in sorted(DOCUMENTS.glob("*.yaml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def known_context(vpc: str = "", endpoint: str = "", address: Sequence[str] = ()) -> KnownContext:
    """Return what a case knows of the paths."""
    return KnownContext(vpc, endpoint, tuple(address))


def outcomes(policy: Mapping[str, Any], known: KnownContext, judge: Any = denials) -> list[str]:
    """Return the product's outcome of each statement."""
    document = parse_policy("policy", json.dumps(policy))
    found = judge(document, known)
    flagged = [id(denial.statement) for denial in found]
    return ["WOULD_DENY" if id(row) in flagged else "UNCHANGED" for row in document.statements]


CASES = read_cases()
each_case = pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])


@each_case
def test_outcome_is_the_expected_one(case: Case) -> None:
    """Each statement has the outcome under which it stands in the file."""
    assert case.outcomes() == case.expected


def test_restricts_says_whether_any_statement_does() -> None:
    """The endpoint's default policy does not restrict requests, and one for sessions does."""
    allow = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    assert not restricts(parse_policy("vpce-0a", {"Statement": allow}))
    assert restricts(parse_policy("vpce-0a", {"Statement": {**allow, "Action": "s3express:CreateSession"}}))


# --- fixes

PLACEHOLDER = "<ID of the VPC>"


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


@each_case
def test_fix_allows_both_paths(case: Case) -> None:
    """With its fix, a statement denies nothing more through the endpoint.

    Through the NAT, nothing changes: all conditions stay, and the added one is about a key that only endpoints set.
    """
    if case.family.startswith(OF_ENDPOINTS):
        return
    known = case.known if case.known.vpc_id or case.known.endpoint_id else replace(case.known, vpc_id="vpc-0fixed")
    document = parse_policy("policy", json.dumps(case.policy))
    for denial in denials(document, known):
        number = next(n for n, row in enumerate(document.statements) if row is denial.statement)
        fixed = with_fix(case.policy, number, denial.fix)
        assert outcomes(fixed, known)[number] == "UNCHANGED", denial.fix
        if denial.statement.is_deny:
            tested = comparisons(parse_policy("fixed", json.dumps(fixed)).statements[number])
            assert comparisons(denial.statement) <= tested, denial.fix
            assert {key for _, key, _ in tested - comparisons(denial.statement)} <= {"aws:sourcevpc", "aws:sourcevpce"}


def comparisons(statement: Statement) -> set[tuple[str, str, str]]:
    """Return the operator, the key, and the value of each comparison of a statement."""
    return {(row.operator_text, row.key.lower(), value) for row in statement.conditions for value in row.values}


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
