"""Reporting verdicts to AWS Config, and comparing them with what it holds."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.adapters.config_rule.results import (
    StoredResult,
    changed_verdicts,
    known_results,
    put_verdicts,
    vanished,
)
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Account, Verdict, deleted_verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError, ReportError
from sandbox.config_loop import ConfigLoop
from sandbox.server import Sandbox

SUBNET = Verdict(
    account_id="123456789012",
    region="us-east-1",
    vpc_id="vpc-1",
    subnet_id="subnet-1",
    availability_zone_id="use1-az1",
    route_table_id="rtb-1",
    compliance=Compliance.COMPLIANT,
    reason=Reason.ENDPOINT,
    annotation="ENDPOINT: as it should be",
)
HELD = StoredResult("COMPLIANT", SUBNET.annotation)
CAPTURED = datetime(2026, 2, 13, 5, 48, 51, 341000, UTC)


@pytest.fixture
def loop(sandbox: Sandbox) -> ConfigLoop:
    """A deployed rule."""
    return ConfigLoop(sandbox, invoke=dict)


@pytest.fixture
def event(loop: ConfigLoop) -> ConfigEvent:
    """An event of that rule, with a token that AWS Config issued."""
    token = loop.results.issue_token(loop.rule.name)
    return ConfigEvent("123456789012", loop.rule.name, token, RuleParameters(), CAPTURED, left_scope=False)


@pytest.fixture
def held(loop: ConfigLoop) -> Callable[[], dict[str, str]]:
    """Tells what AWS Config holds: compliance by subnet."""
    return lambda: {each.resource[1]: each.compliance for each in loop.results.of_rule(loop.rule.name)}


def verdicts(number: int) -> list[Verdict]:
    """Return verdicts on as many subnets."""
    return [SUBNET._replace(subnet_id=f"subnet-{each}") for each in range(number)]


@pytest.mark.parametrize(
    ("number", "batches"), [(1, [1]), (99, [99]), (100, [100]), (101, [100, 1]), (250, [100, 100, 50])]
)
def test_batches_hold_at_most_100(
    aws: Aws, event: ConfigEvent, sandbox: Sandbox, number: int, batches: list[int]
) -> None:
    """PutEvaluations takes 100 evaluations, so more go in several calls, all under one token."""
    assert put_verdicts(aws.config, event, verdicts(number)) == number
    puts = sandbox.calls.of("config", "PutEvaluations")
    assert [len(each.parameters["Evaluations"]) for each in puts] == batches
    assert {each.parameters["ResultToken"] for each in puts} == {event.result_token}
    assert {each.parameters["TestMode"] for each in puts} == {False}


def test_nothing_to_report_costs_no_call(aws: Aws, event: ConfigEvent, sandbox: Sandbox) -> None:
    """Without verdicts AWS Config is not called."""
    assert put_verdicts(aws.config, event, []) == 0
    assert sandbox.calls.of("config") == []


def test_duplicates_are_reported_once(aws: Aws, event: ConfigEvent, sandbox: Sandbox) -> None:
    """A subnet that is judged twice is reported once, by its last verdict."""
    last = SUBNET._replace(compliance=Compliance.NON_COMPLIANT)
    assert put_verdicts(aws.config, event, [SUBNET, *verdicts(2), last]) == 2
    [put] = sandbox.calls.of("config", "PutEvaluations")
    sent = {each["ComplianceResourceId"]: each["ComplianceType"] for each in put.parameters["Evaluations"]}
    assert sent == {"subnet-0": "COMPLIANT", "subnet-1": "NON_COMPLIANT"}


def test_evaluation_is_of_the_subnet_at_the_time_of_the_event(aws: Aws, event: ConfigEvent, loop: ConfigLoop) -> None:
    """What AWS Config keeps: type and id of the subnet, compliance, annotation, and the time of the change."""
    put_verdicts(aws.config, event, [SUBNET])
    [result] = loop.results.of_rule(loop.rule.name)
    assert result.resource == ("AWS::EC2::Subnet", "subnet-1")
    assert (result.compliance, result.annotation) == ("COMPLIANT", SUBNET.annotation)
    assert result.ordering == pytest.approx(CAPTURED.timestamp())


def test_refused_evaluations_of_all_batches_are_raised(
    aws: Aws, event: ConfigEvent, loop: ConfigLoop, held: Callable[[], dict[str, str]]
) -> None:
    """A refusal in the first batch does not keep the second from being sent; all that were refused are named."""
    loop.results.rejected.update({"subnet-3", "subnet-120"})
    with pytest.raises(ReportError) as raised:
        put_verdicts(aws.config, event, verdicts(130))
    assert [each["ComplianceResourceId"] for each in raised.value.failed] == ["subnet-3", "subnet-120"]
    assert str(raised.value) == "AWS Config refused 2 evaluations, the first: subnet-3, subnet-120"
    assert len(held()) == 128


def test_test_mode_stores_nothing(aws: Aws, event: ConfigEvent, held: Callable[[], dict[str, str]]) -> None:
    """In TestMode AWS Config checks and keeps nothing."""
    assert put_verdicts(aws.config, replace(event, result_token="TESTMODE"), [SUBNET]) == 1
    assert held() == {}


def test_expired_token_is_an_error(aws: Aws, event: ConfigEvent, loop: ConfigLoop) -> None:
    """A token that AWS Config does not know any more is refused by it, and that is raised."""
    loop.results.expire_tokens()
    with pytest.raises(ApiError, match="config:PutEvaluations failed with InvalidResultToken"):
        put_verdicts(aws.config, event, [SUBNET])


def test_known_results_are_read_to_their_last_page(aws: Aws, event: ConfigEvent, sandbox: Sandbox) -> None:
    """AWS Config gives 100 results a page: 250 are three calls."""
    put_verdicts(aws.config, event, verdicts(250))
    known = known_results(aws.config, event.rule_name)
    assert known == {f"subnet-{number}": HELD for number in range(250)}
    assert len(sandbox.calls.of("config", "GetComplianceDetailsByConfigRule")) == 3


def test_rule_without_results_knows_nothing(aws: Aws, event: ConfigEvent) -> None:
    """A rule that never reported holds nothing."""
    assert known_results(aws.config, event.rule_name) == {}


def test_result_without_annotation_is_known(aws: Aws, event: ConfigEvent) -> None:
    """AWS Config leaves the annotation out where there is none."""
    evaluation: Any = {
        "ComplianceResourceType": "AWS::EC2::Subnet",
        "ComplianceResourceId": "subnet-1",
        "ComplianceType": "COMPLIANT",
        "OrderingTimestamp": CAPTURED,
    }
    aws.config.put_evaluations(Evaluations=[evaluation], ResultToken=event.result_token)
    assert known_results(aws.config, event.rule_name) == {"subnet-1": StoredResult("COMPLIANT", "")}


def test_what_config_holds_already_is_no_news() -> None:
    """A verdict that is the same in compliance and annotation is not posted again."""
    assert changed_verdicts([SUBNET], {"subnet-1": HELD}) == []


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"subnet-2": HELD},
        {"subnet-1": StoredResult("NON_COMPLIANT", SUBNET.annotation)},
        {"subnet-1": StoredResult("NOT_APPLICABLE", SUBNET.annotation)},
        {"subnet-1": StoredResult("COMPLIANT", "ENDPOINT: by another route")},
        {"subnet-1": StoredResult("COMPLIANT", "")},
    ],
)
def test_what_config_does_not_hold_is_news(known: dict[str, StoredResult]) -> None:
    """Another compliance, another annotation, or nothing at all: the verdict is posted."""
    assert changed_verdicts([SUBNET], known) == [SUBNET]


def test_not_applicable_of_unheard_subnets_is_no_news() -> None:
    """AWS Config removes NOT_APPLICABLE results by itself: what it does not hold need not be put there."""
    verdict = deleted_verdict(Account("123456789012"), "us-east-1", "subnet-1")
    assert changed_verdicts([verdict], {}) == []
    assert changed_verdicts([verdict], {"subnet-1": HELD}) == [verdict]


def test_vanished_subnets_are_those_that_count_and_are_gone() -> None:
    """Of the subnets that AWS Config holds, those not present any more, unless they are NOT_APPLICABLE already."""
    known = {
        "subnet-3": StoredResult("NON_COMPLIANT", ""),
        "subnet-2": HELD,
        "subnet-1": HELD,
        "subnet-4": StoredResult("NOT_APPLICABLE", ""),
    }
    assert vanished(known, ["subnet-1", "subnet-9"]) == ["subnet-2", "subnet-3"]
