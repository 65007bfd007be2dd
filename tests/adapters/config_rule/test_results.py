"""Reporting evaluations to AWS Config, and comparing them with the results that it has stored."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.adapters.config_rule.results import deleted_resource_ids, is_changed
from express_path.adapters.config_rule.results import put_evaluations as put_results
from express_path.adapters.config_rule.stored_results import FEW, StoredResult, stored_results, stored_results_of
from express_path.errors import ApiError, ReportError

CAPTURED = datetime(2026, 2, 13, 5, 48, 51, 341000, UTC)
STORED = StoredResult("COMPLIANT", "ENDPOINT: as it should be", CAPTURED)


@pytest.fixture
def loop(sandbox: Sandbox) -> ConfigLoop:
    """A deployed rule."""
    return ConfigLoop(sandbox, invoke=dict)


@pytest.fixture
def event(loop: ConfigLoop) -> ConfigEvent:
    """An event of that rule, with a token that AWS Config issued."""
    token = loop.results.issue_token(loop.rule.name)
    return ConfigEvent("123456789012", loop.rule.name, token, {}, CAPTURED, left_scope=False)


@pytest.fixture
def stored_compliance(loop: ConfigLoop) -> Callable[[], dict[str, str]]:
    """Return what AWS Config has stored: compliance by subnet."""
    return lambda: {result.resource[1]: result.compliance for result in loop.results.of_rule(loop.rule.name)}


def put_evaluations(aws: Aws, event: ConfigEvent, results: dict[str, StoredResult]) -> Iterator[str]:
    """Report results of subnets."""
    return put_results(aws.config, event, "AWS::EC2::Subnet", results)


def results(number: int) -> dict[str, StoredResult]:
    """Return results of as many subnets."""
    return {f"subnet-{place}": STORED for place in range(number)}


@pytest.mark.parametrize(
    ("number", "batches"), [(1, [1]), (99, [99]), (100, [100]), (101, [100, 1]), (250, [100, 100, 50])]
)
def test_batches_hold_at_most_100(
    aws: Aws, event: ConfigEvent, sandbox: Sandbox, number: int, batches: list[int]
) -> None:
    """PutEvaluations takes 100 evaluations, so more go in several calls, all under one token."""
    accepted = list(put_evaluations(aws, event, results(number)))
    assert accepted == list(results(number))
    puts = sandbox.calls.of("config", "PutEvaluations")
    assert [len(put.parameters["Evaluations"]) for put in puts] == batches
    assert {put.parameters["ResultToken"] for put in puts} == {event.result_token}
    assert {put.parameters["TestMode"] for put in puts} == {False}


def test_nothing_to_report_costs_no_call(aws: Aws, event: ConfigEvent, sandbox: Sandbox) -> None:
    """Without evaluations, AWS Config is not called."""
    assert list(put_evaluations(aws, event, {})) == []
    assert sandbox.calls.of("config") == []


def test_evaluation_is_stored_with_the_time_of_the_event(aws: Aws, event: ConfigEvent, loop: ConfigLoop) -> None:
    """AWS Config stores type and id of the resource, compliance, annotation, and the time of the change."""
    assert list(put_evaluations(aws, event, {"subnet-1": STORED})) == ["subnet-1"]
    [result] = loop.results.of_rule(loop.rule.name)
    assert result.resource == ("AWS::EC2::Subnet", "subnet-1")
    assert (result.compliance, result.annotation) == ("COMPLIANT", STORED.annotation)
    assert result.ordering == pytest.approx(CAPTURED.timestamp())


def test_refused_evaluations_of_all_batches_are_raised(
    aws: Aws, event: ConfigEvent, loop: ConfigLoop, stored_compliance: Callable[[], dict[str, str]]
) -> None:
    """A refusal in the first batch does not keep the second from being sent; all that were refused are named."""
    loop.results.rejected.update({"subnet-3", "subnet-120"})
    accepted: list[str] = []
    with pytest.raises(ReportError) as raised:
        accepted.extend(put_evaluations(aws, event, results(130)))
    assert [row["ComplianceResourceId"] for row in raised.value.failed] == ["subnet-3", "subnet-120"]
    assert str(raised.value) == "AWS Config rejected 2 evaluations, the first: subnet-3, subnet-120"
    assert set(accepted) == stored_compliance().keys()
    assert len(accepted) == 128


def test_what_was_accepted_before_a_failed_call_is_known(
    aws: Aws, event: ConfigEvent, sandbox: Sandbox, stored_compliance: Callable[[], dict[str, str]]
) -> None:
    """If the second call fails, the evaluations of the first one are accepted, and their ids were returned."""
    sandbox.faults.before("config", "PutEvaluations", lambda: sandbox.faults.deny("config", "PutEvaluations"))
    accepted: list[str] = []
    with pytest.raises(ApiError, match="AccessDenied"):
        accepted.extend(put_evaluations(aws, event, results(230)))
    assert set(accepted) == stored_compliance().keys()
    assert len(accepted) == 100


def test_test_mode_stores_nothing(
    aws: Aws, event: ConfigEvent, stored_compliance: Callable[[], dict[str, str]]
) -> None:
    """In TestMode AWS Config checks and keeps nothing."""
    assert list(put_evaluations(aws, replace(event, result_token="TESTMODE"), {"subnet-1": STORED})) == ["subnet-1"]
    assert stored_compliance() == {}


def test_expired_token_is_an_error(aws: Aws, event: ConfigEvent, loop: ConfigLoop) -> None:
    """A token that AWS Config does not know any more is refused by it, and that is raised."""
    loop.results.expire_tokens()
    with pytest.raises(ApiError, match="config:PutEvaluations failed with InvalidResultToken"):
        list(put_evaluations(aws, event, {"subnet-1": STORED}))


def test_stored_results_are_read_to_their_last_page(aws: Aws, event: ConfigEvent, sandbox: Sandbox) -> None:
    """AWS Config gives 100 results a page: 250 are three calls."""
    list(put_evaluations(aws, event, results(250)))
    stored = stored_results(aws.config, event.rule_name)
    assert stored == {f"subnet-{number}": STORED for number in range(250)}
    assert len(sandbox.calls.of("config", "GetComplianceDetailsByConfigRule")) == 3


@pytest.mark.parametrize(("number", "reads"), [(1, (1, 0)), (FEW, (FEW, 0)), (FEW + 1, (0, 1))])
def test_few_results_are_read_one_by_one(
    aws: Aws, event: ConfigEvent, sandbox: Sandbox, number: int, reads: tuple[int, int]
) -> None:
    """Up to 20 resources are read one by one, and for more all results of the rule. Other rules do not count."""
    list(put_evaluations(aws, event, results(number - 1)))
    other = ConfigLoop(sandbox, invoke=dict, rule=RuleDefinition("another", "another"))
    token = other.results.issue_token("another")
    list(put_evaluations(aws, replace(event, result_token=token), results(number)))
    sandbox.calls.clear()
    ids = list(results(number))
    stored = stored_results_of(aws.config, event.rule_name, "AWS::EC2::Subnet", ids)
    assert stored == {f"subnet-{place}": STORED for place in range(number - 1)}
    assert (
        tuple(len(sandbox.calls.of("config", f"GetComplianceDetailsBy{what}")) for what in ("Resource", "ConfigRule"))
        == reads
    )


def test_rule_without_results_has_none_stored(aws: Aws, event: ConfigEvent) -> None:
    """A rule that never reported has no results."""
    assert stored_results(aws.config, event.rule_name) == {}


def test_result_without_annotation_is_read(aws: Aws, event: ConfigEvent) -> None:
    """AWS Config omits the annotation if there is none."""
    evaluation: Any = {
        "ComplianceResourceType": "AWS::EC2::Subnet",
        "ComplianceResourceId": "subnet-1",
        "ComplianceType": "COMPLIANT",
        "OrderingTimestamp": CAPTURED,
    }
    aws.config.put_evaluations(Evaluations=[evaluation], ResultToken=event.result_token)
    assert stored_results(aws.config, event.rule_name) == {"subnet-1": StoredResult("COMPLIANT", "", CAPTURED)}


def test_stored_evaluation_is_not_reported_again() -> None:
    """An evaluation with the same compliance and annotation is not reported again."""
    assert not is_changed(STORED._replace(ordering_timestamp=CAPTURED + timedelta(days=1)), STORED)


@pytest.mark.parametrize(
    "stored",
    [
        None,
        StoredResult("NON_COMPLIANT", STORED.annotation, CAPTURED),
        StoredResult("NOT_APPLICABLE", STORED.annotation, CAPTURED),
        StoredResult("COMPLIANT", "ENDPOINT: by another route", CAPTURED),
        StoredResult("COMPLIANT", "", CAPTURED),
    ],
)
def test_changed_evaluation_is_reported(stored: StoredResult | None) -> None:
    """Another compliance, another annotation, or nothing at all is stored: the result is reported."""
    assert is_changed(STORED, stored)


def test_not_applicable_of_a_new_resource_is_not_reported() -> None:
    """AWS Config removes NOT_APPLICABLE results by itself: what it has not stored need not be reported."""
    deleted = StoredResult("NOT_APPLICABLE", "DELETED: the subnet is gone", CAPTURED)
    assert not is_changed(deleted, None)
    assert is_changed(deleted, STORED)


def test_deleted_resources_are_those_whose_result_still_counts() -> None:
    """Deleted resources are found by their stored results, unless those are NOT_APPLICABLE already."""
    stored = {
        "subnet-3": StoredResult("NON_COMPLIANT", "", CAPTURED),
        "subnet-2": STORED,
        "subnet-1": STORED,
        "subnet-4": StoredResult("NOT_APPLICABLE", "", CAPTURED),
    }
    assert deleted_resource_ids(stored, ["subnet-1", "subnet-9"]) == ["subnet-2", "subnet-3"]
