"""Aggregators of the sandbox: results of other accounts in pages, those that lag, and what aggregators lack."""

import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from sandbox.config_service.aggregation import DETAILS_PAGE, aggregation_of
from sandbox.config_service.results import Result, results_of
from sandbox.server import Sandbox

RULE = "s3express-no-nat-path"
MEMBER = "444455556666"


def store(region: str, subnet_id: str, compliance: str) -> None:
    """Store a result in the member account."""
    now = time.time()
    stored = Result(RULE, ("AWS::EC2::Subnet", subnet_id), compliance, now, now, now, f"{compliance}: because")
    results_of(MEMBER, region).store(stored)


def details(config: Any, region: str) -> list[dict[str, Any]]:
    """Read all results of the member account."""
    pages = config.get_paginator("get_aggregate_compliance_details_by_config_rule").paginate(
        ConfigurationAggregatorName="all", ConfigRuleName=RULE, AccountId=MEMBER, AwsRegion=region
    )
    return [row for page in pages for row in page["AggregateEvaluationResults"]]


def test_results_of_aggregated_places_are_returned(sandbox: Sandbox) -> None:
    """NOT_APPLICABLE results and other places are absent. An aggregator that lags keeps the old results."""
    config: Any = sandbox.client("config")
    with pytest.raises(ClientError, match="NoSuchConfigurationAggregator"):
        details(config, sandbox.region)
    config.put_configuration_aggregator(
        ConfigurationAggregatorName="all",
        AccountAggregationSources=[{"AccountIds": [MEMBER], "AllAwsRegions": True}],
    )
    for number in range(DETAILS_PAGE + 1):
        store(sandbox.region, f"subnet-{number}", "COMPLIANT")
    store(sandbox.region, "subnet-excluded", "NOT_APPLICABLE")
    assert details(config, sandbox.region) == []
    aggregation = aggregation_of(sandbox.account_id, sandbox.region)
    aggregation.places.add((MEMBER, sandbox.region))
    found = details(config, sandbox.region)
    assert len(found) == DETAILS_PAGE + 1
    assert {row["ComplianceType"] for row in found} == {"COMPLIANT"}
    assert found[0]["Annotation"] == "COMPLIANT: because"
    aggregation.lag(MEMBER, sandbox.region)
    store(sandbox.region, "subnet-1", "NON_COMPLIANT")
    assert {row["ComplianceType"] for row in details(config, sandbox.region)} == {"COMPLIANT"}
    aggregation.kept.clear()
    assert {row["ComplianceType"] for row in details(config, sandbox.region)} == {"COMPLIANT", "NON_COMPLIANT"}
