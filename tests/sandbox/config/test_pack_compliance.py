"""The compliance of conformance packs: by rule, in detail, in sum, and as a score."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.config_service import ConfigResults
from sandbox.config_service.deployment import prepare
from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox
from tests.sandbox.config.pack_templates import PACK, created, managed

TEMPLATE = {"Resources": {"One": managed("one"), "Two": managed("two")}}
Put = Callable[..., None]


@pytest.fixture
def config(sandbox: Sandbox) -> Client:
    """A client of AWS Config in an account that has a recorder."""
    prepare(sandbox)
    return sandbox.client("config")


@pytest.fixture
def suffix(config: Client) -> str:
    """The suffix of the rules `one` and `two` of a pack."""
    return created(config, TEMPLATE)


@pytest.fixture
def put(config: Client, results: ConfigResults, evaluation: Callable[..., dict[str, Any]]) -> Put:
    """Reports resources to a rule: what each of them is."""

    def report(rule: str, **resources: str) -> None:
        evaluations = [evaluation(name, compliance) for name, compliance in resources.items()]
        config.put_evaluations(Evaluations=evaluations, ResultToken=results.issue_token(rule))

    return report


def by_rule(config: Client, **more: object) -> dict[str, str]:
    """Return the compliance of a pack's rules."""
    rows = config.describe_conformance_pack_compliance(ConformancePackName=PACK, **more)
    return {row["ConfigRuleName"]: row["ComplianceType"] for row in rows["ConformancePackRuleComplianceList"]}


def details(config: Client, **filters: object) -> list[tuple[str, str, str]]:
    """Return rule, resource and compliance of a pack's results."""
    answer = config.get_conformance_pack_compliance_details(ConformancePackName=PACK, Filters=filters)
    found = []
    for row in answer["ConformancePackRuleEvaluationResults"]:
        qualifier = row["EvaluationResultIdentifier"]["EvaluationResultQualifier"]
        found.append((qualifier["ConfigRuleName"].partition("-")[0], qualifier["ResourceId"], row["ComplianceType"]))
    return found


def in_sum(config: Client, *names: str) -> dict[str, str]:
    """Return the compliance of packs."""
    rows = config.get_conformance_pack_compliance_summary(ConformancePackNames=list(names or [PACK]))
    return {
        row["ConformancePackName"]: row["ConformancePackComplianceStatus"]
        for row in rows["ConformancePackComplianceSummaryList"]
    }


def scores(config: Client, **order: object) -> list[tuple[str, str]]:
    """Return the names and scores of packs."""
    rows = config.list_conformance_pack_compliance_scores(**order)["ConformancePackComplianceScores"]
    return [(row["ConformancePackName"], row["Score"]) for row in rows]


def test_pack_is_as_bad_as_its_rules(config: Client, suffix: str, put: Put) -> None:
    """INSUFFICIENT_DATA only where no rule has results; COMPLIANT despite one without; NON_COMPLIANT if one rule is.

    https://docs.aws.amazon.com/config/latest/developerguide/compliance-history-conformance-pack.html
    """
    one, two = f"one-{suffix}", f"two-{suffix}"
    assert (by_rule(config), in_sum(config)) == (
        {one: "INSUFFICIENT_DATA", two: "INSUFFICIENT_DATA"},
        {PACK: "INSUFFICIENT_DATA"},
    )
    put(one, a="COMPLIANT", b="NOT_APPLICABLE")
    assert (by_rule(config)[one], in_sum(config)) == ("COMPLIANT", {PACK: "COMPLIANT"})
    put(two, a="NON_COMPLIANT", b="COMPLIANT")
    assert (by_rule(config)[two], in_sum(config)) == ("NON_COMPLIANT", {PACK: "NON_COMPLIANT"})
    put(two, a="NOT_APPLICABLE", b="NOT_APPLICABLE")
    assert (by_rule(config)[two], in_sum(config)) == ("INSUFFICIENT_DATA", {PACK: "COMPLIANT"})


def test_rules_of_a_pack_answer_the_other_calls_too(config: Client, suffix: str, put: Put) -> None:
    """What a pack's rule has evaluated is in the compliance by rule and by resource, as for any rule."""
    rule = f"one-{suffix}"
    put(rule, a="NON_COMPLIANT")
    (row,) = config.describe_compliance_by_config_rule(ConfigRuleNames=[rule])["ComplianceByConfigRules"]
    assert row["Compliance"]["ComplianceType"] == "NON_COMPLIANT"
    assert len(config.get_compliance_details_by_config_rule(ConfigRuleName=rule)["EvaluationResults"]) == 1


def test_filters_by_rule(config: Client, suffix: str, put: Put) -> None:
    """Rules are named exactly, with their suffix; INSUFFICIENT_DATA is no filter (botocore model)."""
    one = f"one-{suffix}"
    put(one, a="NON_COMPLIANT")
    assert by_rule(config, Filters={"ConfigRuleNames": [one]}) == {one: "NON_COMPLIANT"}
    assert by_rule(config, Filters={"ComplianceType": "NON_COMPLIANT"}) == {one: "NON_COMPLIANT"}
    assert by_rule(config, Filters={"ComplianceType": "COMPLIANT"}) == {}
    for filters, code in (
        ({"ConfigRuleNames": ["one"]}, "NoSuchConfigRuleInConformancePackException"),
        ({"ComplianceType": "INSUFFICIENT_DATA"}, "InvalidParameterValueException"),
        ({"ConfigRuleNames": [one] * 11}, "ValidationException"),
    ):
        assert refused(by_rule, config=config, Filters=filters) == code
        assert refused(details, config=config, **filters) == code


def test_details_are_results_with_their_annotation(
    config: Client, suffix: str, results: ConfigResults, evaluation: Callable[..., dict[str, Any]]
) -> None:
    """A detail has the result's rule, resource, times and annotation (botocore model)."""
    reported = evaluation("subnet-1", "NON_COMPLIANT", Annotation="NAT_GATEWAY: 0.0.0.0/0")
    config.put_evaluations(Evaluations=[reported], ResultToken=results.issue_token(f"one-{suffix}"))
    answer = config.get_conformance_pack_compliance_details(ConformancePackName=PACK)
    assert answer["ConformancePackName"] == PACK
    (row,) = answer["ConformancePackRuleEvaluationResults"]
    assert (row["ComplianceType"], row["Annotation"]) == ("NON_COMPLIANT", "NAT_GATEWAY: 0.0.0.0/0")
    assert row["EvaluationResultIdentifier"]["OrderingTimestamp"].timestamp() == 100
    assert row["ResultRecordedTime"] >= row["ConfigRuleInvokedTime"]


def test_filters_of_details(config: Client, suffix: str, put: Put) -> None:
    """Details are filtered by rule, compliance, type and id; ids need a type. NOT_APPLICABLE is never among them.

    https://docs.aws.amazon.com/config/latest/APIReference/API_ConformancePackEvaluationFilters.html
    """
    put(f"one-{suffix}", a="COMPLIANT", b="NON_COMPLIANT", c="NOT_APPLICABLE")
    put(f"two-{suffix}", a="NON_COMPLIANT")
    both = [("one", "a", "COMPLIANT"), ("one", "b", "NON_COMPLIANT"), ("two", "a", "NON_COMPLIANT")]
    assert details(config) == both
    assert details(config, ConfigRuleNames=[f"two-{suffix}"]) == both[2:]
    assert details(config, ComplianceType="COMPLIANT") == both[:1]
    assert details(config, ResourceType="AWS::EC2::Subnet", ResourceIds=["b"]) == both[1:2]
    assert details(config, ResourceType="AWS::EC2::VPC") == []
    assert refused(details, config=config, ResourceIds=["b"]) == "InvalidParameterValueException"
    too_many = {"ResourceType": "AWS::EC2::Subnet", "ResourceIds": list("abcdef")}
    assert refused(details, config=config, **too_many) == "ValidationException"


def test_details_come_in_pages(config: Client, suffix: str, put: Put) -> None:
    """A page has 100 details at most and by default; a Limit makes it smaller (botocore model)."""
    for start in (0, 100):
        put(f"one-{suffix}", **{f"subnet-{number:03}": "COMPLIANT" for number in range(start, start + 100)})
    put(f"two-{suffix}", last="NON_COMPLIANT")
    seen, token = [], {}
    for size in (100, 100, 1):
        answer = config.get_conformance_pack_compliance_details(ConformancePackName=PACK, **token)
        seen += answer["ConformancePackRuleEvaluationResults"]
        assert len(answer["ConformancePackRuleEvaluationResults"]) == size
        token = {"NextToken": answer.get("NextToken")}
    assert token == {"NextToken": None}
    ids = [row["EvaluationResultIdentifier"]["EvaluationResultQualifier"]["ResourceId"] for row in seen]
    assert ids == [*(f"subnet-{number:03}" for number in range(200)), "last"]
    limited = {"ConformancePackName": PACK, "Limit": 101}
    assert refused(config.get_conformance_pack_compliance_details, **limited) == "InvalidLimitException"
    answer = config.describe_conformance_pack_compliance(ConformancePackName=PACK, Limit=1)
    assert len(answer["ConformancePackRuleComplianceList"]) == 1
    assert by_rule(config, NextToken=answer["NextToken"]) == {f"two-{suffix}": "NON_COMPLIANT"}


def test_summary_of_several_packs(config: Client, suffix: str, put: Put) -> None:
    """A summary is of one to five packs, in pages, and each of them must exist."""
    other = created(config, TEMPLATE, "other")
    put(f"one-{suffix}", a="NON_COMPLIANT")
    put(f"one-{other}", a="COMPLIANT")
    assert in_sum(config, PACK, "other") == {PACK: "NON_COMPLIANT", "other": "COMPLIANT"}
    first = config.get_conformance_pack_compliance_summary(ConformancePackNames=[PACK, "other"], Limit=1)
    assert len(first["ConformancePackComplianceSummaryList"]) == 1
    assert first["NextToken"]
    summary = config.get_conformance_pack_compliance_summary
    assert refused(summary, ConformancePackNames=[PACK, "unknown"]) == "NoSuchConformancePackException"
    assert refused(summary, ConformancePackNames=[PACK] * 6) == "ValidationException"


@pytest.mark.parametrize("call", ["describe_conformance_pack_compliance", "get_conformance_pack_compliance_details"])
def test_unknown_pack(config: Client, call: str) -> None:
    """There is no compliance of a pack that does not exist."""
    assert refused(getattr(config, call), ConformancePackName="unknown") == "NoSuchConformancePackException"


def test_scores(config: Client, suffix: str, put: Put) -> None:
    """A score is the percentage of compliant results; packs without any have none, and come last or first.

    https://docs.aws.amazon.com/config/latest/APIReference/API_ListConformancePackComplianceScores.html
    """
    good = created(config, TEMPLATE, "good")
    created(config, TEMPLATE, "new")
    put(f"one-{suffix}", a="COMPLIANT", b="NON_COMPLIANT", c="NOT_APPLICABLE")
    put(f"two-{suffix}", a="NON_COMPLIANT")
    put(f"one-{good}", a="COMPLIANT")
    low, high, none = (PACK, "33.33"), ("good", "100.00"), ("new", "INSUFFICIENT_DATA")
    assert scores(config) == [low, high, none]
    assert scores(config, SortOrder="DESCENDING") == [none, high, low]
    assert scores(config, SortBy="SCORE") == [low, high, none]
    assert scores(config, SortBy="SCORE", SortOrder="DESCENDING") == [none, high, low]
    assert scores(config, Filters={"ConformancePackNames": ["good", "unknown"]}) == [high]
    assert scores(config, Limit=1) == [low]
