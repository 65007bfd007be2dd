"""Reading policy documents: what is malformed is named, and what is hostile ends soon."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from time import process_time
from typing import Any

import pytest

from express_path.domain.policies.denials import denials, restrictions
from express_path.domain.policies.documents import Condition, Element, listed, parse_policy
from express_path.errors import PolicyError, RecordError

FROM_ELSEWHERE = {"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}


def deny(**elements: Any) -> dict[str, Any]:
    """A statement that denies everything, with other elements."""
    return {"Effect": "Deny", "Action": "*", "Resource": "*", **elements}


def policy(*statements: Any) -> dict[str, Any]:
    """A policy of the version with variables."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def test_reads_each_element() -> None:
    """Texts and lists of texts, negated elements, kinds of principals, and operators in any case are read."""
    document = parse_policy(
        "bucket",
        policy(
            deny(Sid="One", Principal={"AWS": ["111122223333"], "Federated": "idp", "Service": "ec2.amazonaws.com"}),
            {"Effect": "Allow", "NotAction": ["s3:*"], "NotResource": "*", "NotPrincipal": {"AWS": "*"}},
            deny(Condition={"forallvalues:STRINGLIKEIFEXISTS": {"aws:TagKeys": ["a", 1, True]}}),
        ),
    )
    one, two, three = document.statements
    assert (document.source, document.has_variables) == ("bucket", True)
    assert [row.name for row in document.statements] == ["One", 2, 3]
    assert one.principal == Element(("111122223333", "Federated:idp", "Service:ec2.amazonaws.com"))
    assert (two.action, two.resource, two.principal) == (
        Element(("s3:*",), is_negated=True),
        Element(("*",), is_negated=True),
        Element(("*",), is_negated=True),
    )
    assert three.conditions == (Condition("StringLike", "ForAllValues", True, "aws:TagKeys", ("a", "1", "true")),)
    assert str(three.conditions[0]) == "ForAllValues:StringLikeIfExists aws:TagKeys a, 1, true"


@pytest.mark.parametrize(("element", "expected"), [(None, []), ("a", ["a"]), (["a", "b"], ["a", "b"]), ([], [])])
def test_an_element_is_a_list(element: object, expected: list[str]) -> None:
    """An element may be absent, one value, or a list."""
    assert listed(element) == expected


def test_reads_a_single_statement_and_text() -> None:
    """Statement may be one object, and the document may be text. Without the newer Version, there are no variables."""
    document = parse_policy("file", json.dumps({"Statement": deny()}))
    assert (len(document.statements), document.has_variables) == (1, False)


MALFORMED = {
    "no JSON": ("{", "", "JSON"),
    "too deep for JSON": ("[" * 100_000, "", "JSON"),
    "a number of 5,000 digits": ("1" * 5_000, "", "JSON"),
    "a list": ([], "", "an object with Statement"),
    "no Statement": ({"Version": "2012-10-17"}, "", "an object with Statement"),
    "no statements": (policy(), "Statement", "at least one statement"),
    "a statement that is text": (policy("Deny"), "", "an object"),
    "no Effect": (policy({"Action": "*"}), "Effect", "Allow or Deny"),
    "an Effect in lower case": (policy(deny(Effect="deny")), "Effect", "Allow or Deny"),
    "an Effect that is a list": (policy(deny(Effect=["Deny"])), "Effect", "Allow or Deny"),
    "no Action": (policy({"Effect": "Deny"}), "Action", "an action"),
    "an Action that is an object": (policy(deny(Action={})), "Action", "a text"),
    "a Resource of nothing": (policy(deny(Resource=[None])), "Resource", "a text"),
    "a Principal that is an object in an object": (policy(deny(Principal={"AWS": {}})), "Principal.AWS", "a text"),
    "Action and NotAction": (policy(deny(NotAction="s3:*")), "NotAction", "left out"),
    "Resource and NotResource": (policy(deny(NotResource="*")), "NotResource", "left out"),
    "Principal and NotPrincipal": (policy(deny(Principal="*", NotPrincipal="*")), "NotPrincipal", "left out"),
    "an element that IAM does not have": (policy(deny(Conditions=FROM_ELSEWHERE)), "Conditions", "left out"),
    "a Condition that is a list": (policy(deny(Condition=[FROM_ELSEWHERE])), "Condition", "an object of operators"),
    "an unknown operator": (policy(deny(Condition={"IpEquals": {}})), "Condition.IpEquals", "operator"),
    "an unknown quantifier": (policy(deny(Condition={"ForSome:Bool": {}})), "Condition.ForSome:Bool", "operator"),
    "IfExists with Null": (
        policy(deny(Condition={"NullIfExists": {"a": "true"}})),
        "Condition.NullIfExists",
        "operator",
    ),
    "an operator without keys": (
        policy(deny(Condition={"Bool": "true"})),
        "Condition.Bool",
        "an object of condition keys",
    ),
    "a value that is an object": (policy(deny(Condition={"Bool": {"a": {}}})), "Condition.Bool.a", "a text"),
    "a key twice": ('{"Statement": {"Effect": "Allow", "Effect": "Deny", "Action": "*"}}', "Effect", "twice"),
}


@pytest.mark.parametrize(("found", "field", "allowed"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_documents_are_named(found: object, field: str, allowed: str) -> None:
    """The error names the source, the field, and what is allowed."""
    with pytest.raises(RecordError) as raised:
        parse_policy("policy of data", found)
    error = raised.value
    assert error.resource.startswith("policy of data")
    assert error.field == field
    assert allowed in error.allowed
    assert len(str(error)) < 1_000


def nested(levels: int) -> Any:
    """Lists in lists."""
    found: Any = []
    for _ in range(levels):
        found = [found]
    return found


def test_deep_nesting_is_malformed() -> None:
    """Values that are nested deeply end with an error, too."""
    for found in (policy(nested(50_000)), policy(deny(Condition={"Bool": {"a": nested(50_000)}}))):
        with pytest.raises((PolicyError, RecordError)):
            parse_policy("x", found)


def many_conditions(count: int) -> dict[str, Any]:
    """A statement whose conditions have so many keys."""
    keys = {f"aws:PrincipalTag/{number}": f"*{number}*" for number in range(count)}
    return deny(Condition={"StringLike": keys, **FROM_ELSEWHERE})


HOSTILE: dict[str, Callable[[], Any]] = {
    "20,000 statements": lambda: policy(*[deny(Condition=FROM_ELSEWHERE)] * 20_000),
    "1,000 different statements": lambda: policy(
        *(
            deny(Condition={"NotIpAddress": {"aws:SourceIp": f"10.0.{n // 200}.{n % 200}"}, "Bool": {f"a:{n}": True}})
            for n in range(800)
        )
    ),
    "20,000 patterns": lambda: policy(deny(Resource=[f"*{n}*" for n in range(20_000)], Condition=FROM_ELSEWHERE)),
    "2,000 patterns": lambda: policy(deny(Resource=[f"*{n}*" for n in range(2_000)], Condition=FROM_ELSEWHERE)),
    "2,000 actions": lambda: policy(deny(Action=[f"*{n}*" for n in range(2_000)], Condition=FROM_ELSEWHERE)),
    "30 patterns for one key": lambda: policy(
        deny(Condition={"StringNotLike": {"aws:SourceVpce": [f"*{n}*{n + 1}*" for n in range(30)]}, **FROM_ELSEWHERE})
    ),
    "one long pattern of wildcards": lambda: policy(
        deny(Resource="*a" * 5_000, Condition={"StringLike": {"aws:SourceVpce": "*a*a*a*a?" * 2_000}, **FROM_ELSEWHERE})
    ),
    "many patterns of wildcards": lambda: policy(
        deny(Condition={"StringLike": {"aws:SourceVpce": ["*a" * n + "b?" * n for n in range(200)]}, **FROM_ELSEWHERE})
    ),
    "100 conditions": lambda: policy(many_conditions(100)),
    "2,000 conditions": lambda: policy(many_conditions(2_000)),
    "conditions that mask each other": lambda: policy(
        *(deny(Condition={"StringLike": {f"a:{n}": "*x*"}, "Bool": {f"b:{n}": True}}) for n in range(40)),
        *(deny(Condition={"StringNotLike": {f"a:{n}": "*x*"}, "Bool": {f"b:{n}": True}}) for n in range(40)),
        *(deny(Condition={"Bool": {f"b:{n}": False}}) for n in range(40)),
        deny(Condition={"Null": {"b:1": True}}),
        deny(Condition=FROM_ELSEWHERE),
    ),
    "sets of values": lambda: policy(
        deny(
            Condition={
                **{
                    f"For{q}:StringLike": {"aws:TagKeys": [f"*{n}*" for n in range(9)]}
                    for q in ("AllValues", "AnyValue")
                },
                "ForAllValues:StringNotLike": {"aws:TagKeys": "*"},
                "StringNotLike": {"aws:TagKeys": "*5*"},
                **FROM_ELSEWHERE,
            }
        )
    ),
    "variables in a circle": lambda: policy(
        deny(Condition={"StringEquals": {f"a:{n}": f"${{a:{(n + 1) % 30}}}x" for n in range(30)}, **FROM_ELSEWHERE})
    ),
    "wide CIDR blocks": lambda: policy(
        deny(Condition={"NotIpAddress": {"aws:SourceIp": [f"{n}.0.0.0/{n % 33}" for n in range(256)] + ["::/0"] * 500}})
    ),
    "an unreadable list of addresses": lambda: policy(
        deny(Condition={"IpAddress": {"aws:SourceIp": ["", "x", "1/2", "1.2.3.4/99"]}})
    ),
    "numbers and dates that are none": lambda: policy(
        deny(Condition={"NumericEquals": {"a": ["x", "1e999", "nan"]}, "DateEquals": {"b": "then"}, **FROM_ELSEWHERE})
    ),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_documents_end_soon(make: Callable[[], Any]) -> None:
    """Whatever a document asks for, there is a result or an error of the policy in a few seconds of processor time."""
    text = json.dumps(make())
    for judge in (denials, restrictions):
        start = process_time()
        with suppress(PolicyError):
            judge(parse_policy("hostile", text))
        assert process_time() - start < 5


@pytest.mark.parametrize(
    ("conditions", "fault"),
    [
        ({"StringNotLike": {"aws:SourceVpce": [f"*{n}*{n + 1}*" for n in range(30)]}}, "too many combinations to try"),
        ({"StringLike": {f"aws:PrincipalTag/{number}": "*" for number in range(201)}}, "more than 200 keys"),
    ],
)
def test_what_takes_too_long_is_an_error(conditions: dict[str, Any], fault: str) -> None:
    """The error names the policy and what about it takes too long."""
    document = parse_policy("hostile", policy(deny(Condition={**conditions, **FROM_ELSEWHERE})))
    with pytest.raises(PolicyError, match=f"^hostile: its conditions have {fault}"):
        denials(document)


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        ({"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "10.0.0.0/99"]}}, "IpAddress aws:SourceIp cannot be compared with '10.0.0.0/99'"),
        ({"NotIpAddressIfExists": {"aws:SourceIp": "*"}}, "NotIpAddressIfExists aws:SourceIp cannot be compared with '*'"),
        ({"NumericEquals": {"aws:VpceOrgID": "nan"}}, "NumericEquals aws:VpceOrgID cannot be compared with 'nan'"),
        ({"DateLessThan": {"aws:VpceOrgID": "2026-13"}}, "DateLessThan aws:VpceOrgID cannot be compared with '2026-13'"),
    ],
)  # fmt: skip
def test_values_that_are_no_addresses_numbers_or_dates_are_errors(condition: dict[str, Any], fault: str) -> None:
    """AWS refuses such policies, so nobody knows what they match. In statements about other services, they do not count."""
    with pytest.raises(PolicyError, match=f"^x: {re.escape(fault)}$"):
        denials(parse_policy("x", policy(deny(Condition=condition))))
    assert denials(parse_policy("x", policy(deny(Action="ec2:*", Condition=condition)))) == []


def test_a_long_list_of_addresses_is_judged() -> None:
    """A list of 500 blocks is judged, although to compare each of them with each takes too long."""
    blocks = [f"203.{number // 200}.{number % 200}.0/24" for number in range(500)]
    document = parse_policy("x", policy(deny(Condition={"NotIpAddress": {"aws:SourceIp": blocks}})))
    assert [denial.condition_text.partition(",")[0] for denial in denials(document)] == [
        "NotIpAddress aws:SourceIp 203.0.0.0/24"
    ]


@pytest.mark.no_cover
def test_a_large_policy_is_judged() -> None:
    """A policy of the size that AWS accepts is judged: ten statements with 50 addresses and 30 endpoints each."""
    addresses = [f"203.0.{number}.0/24" for number in range(50)]
    endpoints = [f"vpce-{number:017x}" for number in range(30)]
    buckets = [f"arn:aws:s3express:us-east-1:111122223333:bucket/team-{n}-*--use1-az4--x-s3" for n in range(10)]
    statements = [
        deny(
            Resource=bucket,
            Condition={
                "NotIpAddressIfExists": {"aws:SourceIp": addresses},
                "StringNotEqualsIfExists": {"aws:SourceVpce": endpoints, f"aws:PrincipalTag/team-{n}": "true"},
            },
        )
        for n, bucket in enumerate(buckets)
    ]
    start = process_time()
    assert len(denials(parse_policy("large", policy(*statements)))) == 10
    assert process_time() - start < 2


def test_a_variable_of_the_path_in_a_resource_is_not_judged() -> None:
    """Which resources a statement is about must not depend on the path."""
    document = parse_policy("x", policy(deny(Resource="arn:aws:s3express:*:*:bucket/${aws:SourceVpc}-*")))
    with pytest.raises(PolicyError, match="x: a Resource has a policy variable whose value depends on the path"):
        denials(document)
