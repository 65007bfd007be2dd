"""Security Hub in the sandbox keeps the rules of AWS for imports, updates, and filters."""

from typing import Any

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.security_hub.findings import Findings, findings_of
from config_rule_sandbox.server import Sandbox

NOTE = {"Text": "text", "UpdatedBy": "jane"}


@pytest.fixture
def client(sandbox: Sandbox) -> Client:
    """Return a client of an enabled Security Hub."""
    made = sandbox.client("securityhub")
    made.enable_security_hub()
    return made


@pytest.fixture
def store(sandbox: Sandbox) -> Findings:
    """Return the findings in the sandbox."""
    return findings_of(sandbox.account_id, sandbox.region)


def finding(name: str = "one", minute: int = 0, status: str = "FAILED", **more: object) -> dict[str, Any]:
    """Return a finding that was updated at a minute."""
    return {
        "SchemaVersion": "2018-10-08",
        "Id": name,
        "ProductArn": "arn:aws:securityhub:us-east-1:123456789012:product/123456789012/default",
        "GeneratorId": "rule",
        "AwsAccountId": "123456789012",
        "CreatedAt": "2026-11-22T00:00:00Z",
        "UpdatedAt": f"2026-11-22T00:{minute:02}:00Z",
        "Severity": {"Label": "LOW"},
        "Title": "title",
        "Description": "text",
        "Resources": [{"Type": "Other", "Id": "resource"}],
        "Compliance": {"Status": status},
        **more,
    }


def identifier(name: str = "one") -> dict[str, str]:
    """Return how BatchUpdateFindings names a finding."""
    return {"Id": name, "ProductArn": finding()["ProductArn"]}


def test_only_newer_imports_change_a_finding_and_never_what_customers_set(client: Client, store: Findings) -> None:
    """An import with an equal or earlier UpdatedAt is ignored; notes, fields, workflow, and a set severity stay."""
    client.batch_import_findings(Findings=[finding(minute=5)])
    values = {"Note": NOTE, "UserDefinedFields": {"a": "b"}, "Severity": {"Label": "HIGH"}}
    client.batch_update_findings(FindingIdentifiers=[identifier()], Workflow={"Status": "NOTIFIED"}, **values)
    for minute in (4, 5):
        client.batch_import_findings(Findings=[finding(minute=minute, Title="other")])
    [found] = store.all()
    assert (found["Title"], found["UpdatedAt"]) == ("title", finding(minute=5)["UpdatedAt"])
    note = {"Text": "x", "UpdatedBy": "y", "UpdatedAt": finding()["UpdatedAt"]}
    client.batch_import_findings(Findings=[finding(minute=6, Title="other", Note=note)])
    [found] = store.all()
    assert (found["Title"], found["Note"]["Text"], found["Workflow"]["Status"]) == ("other", "text", "NOTIFIED")
    assert (found["Severity"], found["UserDefinedFields"]) == ({"Label": "HIGH"}, {"a": "b"})


@pytest.mark.parametrize("status", ["NOTIFIED", "RESOLVED", "SUPPRESSED"])
def test_findings_are_new_again_when_they_fail_or_come_back(client: Client, store: Findings, status: str) -> None:
    """Workflow becomes NEW when PASSED ends or an archived finding is active, unless the finding is suppressed."""
    for minute, before, after in (
        (1, {"status": "PASSED"}, {"status": "NOT_AVAILABLE"}),
        (3, {"RecordState": "ARCHIVED"}, {"RecordState": "ACTIVE"}),
        (5, {"status": "FAILED"}, {"status": "NOT_AVAILABLE"}),
    ):
        client.batch_import_findings(Findings=[finding(minute=minute, **before)])
        client.batch_update_findings(FindingIdentifiers=[identifier()], Workflow={"Status": status})
        client.batch_import_findings(Findings=[finding(minute=minute + 1, **after)])
        [found] = store.all()
        stays = status == "SUPPRESSED" or minute == 5
        assert found["Workflow"]["Status"] == (status if stays else "NEW")


@pytest.mark.parametrize(
    "changed",
    [
        {"AwsAccountId": "210987654321"},
        {"ProductArn": "arn:aws:securityhub:us-east-1::product/aws/config"},
        {"UpdatedAt": "2026-11-22"},
        {"Title": "x" * 257},
        {"ProductFields": {str(number): "x" * 2048 for number in range(50)}, "Types": ["x" * 150_000]},
    ],
)
def test_imports_are_checked_one_by_one(client: Client, store: Findings, changed: dict[str, Any]) -> None:
    """A finding that is not acceptable is returned in FailedFindings, and the others are imported."""
    answer = client.batch_import_findings(Findings=[finding("bad") | changed, finding()])
    assert (answer["FailedCount"], answer["SuccessCount"]) == (1, 1)
    assert [(row["Id"], row["ErrorCode"]) for row in answer["FailedFindings"]] == [("bad", "InvalidInput")]
    assert [row["Id"] for row in store.all()] == ["one"]


def test_findings_are_filtered_in_pages(client: Client) -> None:
    """Values of one filter are alternatives, filters are combined, and unknown or too many filters are refused."""
    client.batch_import_findings(Findings=[finding(f"f-{number}") for number in range(7)])
    client.batch_import_findings(Findings=[finding("other", GeneratorId="else", RecordState="ARCHIVED")])

    def equals(*values: str) -> list[dict[str, str]]:
        return [{"Value": value, "Comparison": "EQUALS"} for value in values]

    pages = client.get_paginator("get_findings").paginate(
        Filters={"GeneratorId": equals("rule")}, PaginationConfig={"PageSize": 3}
    )
    assert [len(page["Findings"]) for page in pages] == [3, 3, 1]
    chosen = client.get_findings(Filters={"Id": equals("f-1", "f-2", "other"), "RecordState": equals("ACTIVE")})
    assert [row["Id"] for row in chosen["Findings"]] == ["f-1", "f-2"]
    for filters in ({"Keyword": [{"Value": "x"}]}, {"Id": equals(*map(str, range(21)))}):
        assert refused(client.get_findings, Filters=filters) == "InvalidInputException"
