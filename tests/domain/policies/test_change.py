"""What a gateway endpoint changes for policies, against policies judged by hand and against an independent judge."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from express_path.domain.policies.change import KnownContext, denials, restrictions
from express_path.domain.policies.documents import parse_policy
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
    found = judge(document, KnownContext(known.vpc, known.endpoint, tuple(known.address)))
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
