"""Whether a trust policy lets a role assume another one; anything that is not evaluated is unknown, never a guess."""

from typing import Any

import pytest

from express_path_cli.aws.trust import Principal, trusts

ARN = "arn:aws:iam::111122223333:role/express-path/evaluate"
PRINCIPAL = Principal("111122223333", "o-a1b2c3d4e5", ARN, "secret")
EVERYONE = {"AWS": "*"}


def statement(principal: Any = EVERYONE, effect: str = "Allow", **more: object) -> dict[str, Any]:
    """Return a statement about sts:AssumeRole."""
    return {"Effect": effect, "Principal": principal, "Action": "sts:AssumeRole", **more}


def when(operator: str, key: str, *values: str) -> dict[str, Any]:
    """Return a statement with one condition."""
    return statement(Condition={operator: {key: list(values)}})


@pytest.mark.parametrize(
    ("statements", "answer"),
    [
        ([statement()], True),
        ([statement("*", Action=["sts:TagSession", "sts:Assume*"])], True),
        ([statement({"AWS": ["arn:aws:iam::111122223333:root"]})], True),
        ([statement({"AWS": "111122223333"})], True),
        ([statement({"AWS": ARN})], True),
        ([statement({"AWS": "arn:aws:iam::444455556666:root"})], False),
        ([statement({"Service": "config.amazonaws.com"})], False),
        ([statement(Action="sts:AssumeRoleWithSAML")], False),
        ([], False),
        ([when("StringEquals", "aws:PrincipalOrgID", "o-a1b2c3d4e5")], True),
        ([when("StringEquals", "AWS:principalorgid", "o-other", "o-a1b2c3d4e5")], True),
        ([when("StringEquals", "aws:PrincipalOrgID", "o-other")], False),
        ([when("StringLike", "sts:ExternalId", "sec*")], True),
        ([when("StringEqualsIgnoreCase", "sts:ExternalId", "SECRET")], True),
        ([when("StringEqualsIfExists", "aws:PrincipalAccount", "444455556666")], False),
        ([when("ArnLike", "aws:PrincipalArn", "arn:*:iam::*:role/express-path/*")], True),
        ([when("ArnEquals", "aws:PrincipalArn", "arn:aws:iam::*:role/express-path-*")], False),
        ([when("ArnLike", "aws:PrincipalArn", "arn:aws:iam:*:role/express-path/*")], False),
        ([when("StringLike", "aws:PrincipalArn", "*[e]valuate")], False),
        ([when("Bool", "aws:MultiFactorAuthPresent", "true")], None),
        ([when("StringNotEquals", "aws:PrincipalOrgID", "o-other")], None),
        ([when("Bool", "aws:SecureTransport", "true"), statement()], True),
        ([when("StringEquals", "aws:SourceVpc", "vpc-1"), statement({"AWS": "444455556666"})], None),
        ([statement(), statement({"AWS": "111122223333"}, "Deny")], False),
        ([statement(), statement({"AWS": "444455556666"}, "Deny")], True),
        ([statement(), statement(effect="Deny", Condition={"Bool": {"aws:SecureTransport": "false"}})], None),
        ([{"Effect": "Allow", "NotPrincipal": {"AWS": "1"}, "Action": "sts:AssumeRole"}], None),
    ],
)
def test_statements_decide(statements: list[dict[str, Any]], answer: bool | None) -> None:
    """A statement must allow it and none may deny it; a condition that is not evaluated makes the answer unknown."""
    assert trusts({"Version": "2012-10-17", "Statement": statements}, PRINCIPAL) is answer


def test_one_statement_needs_no_list() -> None:
    """A policy with a single statement may contain it directly."""
    assert trusts({"Statement": statement()}, PRINCIPAL) is True
