"""express-path org status: results, stacks and sweeps of an organization, and what is missing."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from typer.testing import Result

from config_rule_sandbox.cloudformation.stack_sets import set_status
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from tests.cli.org.deployed import STACK_SET, DeployedOrganization
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.support.command import invoke
from tests.support.config_aggregator import Aggregator, answering

HOME, NORTH = REGIONS
SWEPT = ("--role-name", ROLE)


@pytest.fixture
def organization(sandbox: Sandbox) -> Iterator[DeployedOrganization]:
    """Yield an organization with the rule in two accounts and two Regions, where every subnet is COMPLIANT."""
    aggregator = Aggregator(sandbox)
    with answering(aggregator):
        made = DeployedOrganization(sandbox, aggregator)
        number = 0
        for name in made.accounts:
            for region in REGIONS:
                number += 1
                made.result(name, region, f"subnet-{number}000", Reason.ENDPOINT, ["vpce-1"])
                made.sweep(name, region, COMPLIANT=1)
        yield made


def status(*options: str) -> Result:
    """Run the status command with the aggregator."""
    return invoke(["org", "status", "--aggregator", "organization", *options])


def document(result: Result) -> dict[str, Any]:
    """Return the JSON that a status printed."""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def attention(result: Result) -> dict[tuple[str, str], list[str]]:
    """Return the codes of what needs attention by account name and Region."""
    return {
        (place["accountName"], place["region"]): [row["code"] for row in place["attention"]]
        for place in document(result)["places"]
        if place["attention"]
    }


def test_nothing_needs_attention(organization: DeployedOrganization) -> None:
    """With results, current stacks and sweeps everywhere, the status is 0, and every place is listed."""
    result = status(*SWEPT, "--format", "json")
    found = document(result)
    assert (result.exit_code, attention(result), found["failures"], found["worklist"]) == (0, {}, [], [])
    assert len(found["places"]) == 4
    [place, *_] = [row for row in found["places"] if (row["accountName"], row["region"]) == ("data", HOME)]
    assert (place["compliant"], place["nonCompliant"], place["notApplicable"]) == (1, 0, 0)
    assert (place["stackSet"], place["stackStatus"]) == (STACK_SET, "CURRENT")
    assert found["stackSets"] == [{"name": STACK_SET, "remediationMode": "OFF", "version": "0123.zip"}]
    assert found["accountsWithoutRule"] == [{"accountId": organization.sandbox.account_id, "accountName": "master"}]


def test_verdicts_and_the_worklist_are_those_of_config(sandbox: Sandbox, organization: DeployedOrganization) -> None:
    """Subnets are counted by account and reason; a row of the worklist names the route table, VPC and NATs."""
    for number in range(120):  # more than a page
        organization.result("data", HOME, f"subnet-aaaa{number}", Reason.NAT_GATEWAY, ["nat-1"])
    organization.result(
        "web", NORTH, "subnet-bbbb", Reason.NAT_BEYOND_TRANSIT_GATEWAY, ["tgw-1", "tgw-attach-1", "nat-2"]
    )
    organization.result("web", NORTH, "subnet-cccc", Reason.DROPPED)
    sandbox.calls.clear()
    result = status("--format", "json")
    found = document(result)
    assert result.exit_code == 1
    counted = {(row["accountName"], row["reason"]): row["subnets"] for row in found["byAccount"]}
    assert counted == {
        ("data", "NAT_GATEWAY"): 120,
        ("data", "ENDPOINT"): 2,
        ("web", "NAT_BEYOND_TRANSIT_GATEWAY"): 1,
        ("web", "ENDPOINT"): 2,
    }
    rows = {row["routeTableId"]: row for row in found["worklist"]}
    assert set(rows) == {"rtb-aaaa", "rtb-bbbb"}
    assert len(rows["rtb-aaaa"]["subnetIds"]) == 120
    assert (rows["rtb-bbbb"]["vpcId"], rows["rtb-bbbb"]["natIds"]) == ("vpc-bbbb", ["nat-2"])
    assert found["natIds"] == ["nat-1", "nat-2"]
    assert sandbox.calls.mutating() == []
    assert sandbox.calls.of("sts", "AssumeRole") == []
    assert "--role-name" in result.stderr
    only = document(status("--region", NORTH, "--format", "json"))
    assert {place["region"] for place in only["places"]} == {NORTH}
    assert [row["routeTableId"] for row in only["worklist"]] == ["rtb-bbbb"]


def test_missing_results_are_never_zero(organization: DeployedOrganization) -> None:
    """Without a result, the numbers are null and the status is 2; unless a sweep found no subnet to evaluate."""
    organization.aggregation.places.remove((organization.accounts["data"], HOME))
    result = status("--format", "json")
    assert attention(result) == {("data", HOME): ["NO_RESULTS"]}
    assert result.exit_code == 2
    [place] = [row for row in document(result)["places"] if row["attention"]]
    assert (place["nonCompliant"], place["compliant"]) == (None, None)
    organization.aggregation.kept[organization.accounts["web"], NORTH] = []
    assert attention(status("--format", "json"))["web", NORTH] == ["NO_RESULTS"]
    organization.sweep("web", NORTH, timedelta(minutes=5), NOT_APPLICABLE=3)
    result = status(*SWEPT, "--format", "json")
    assert set(attention(result)) == {("data", HOME)}


def test_an_aggregator_that_lags_does_not_hide_findings(organization: DeployedOrganization) -> None:
    """If the last sweep counted more NON_COMPLIANT subnets, and no result is newer, the status is 1."""
    organization.age_results("data", HOME, timedelta(hours=2))
    organization.aggregation.lag(organization.accounts["data"], HOME)
    organization.result("data", HOME, "subnet-aaaa", Reason.NAT_GATEWAY, ["nat-1"])
    organization.sweep("data", HOME, timedelta(minutes=5), NON_COMPLIANT=1, COMPLIANT=1)
    result = status(*SWEPT, "--format", "json")
    assert (attention(result), result.exit_code) == ({("data", HOME): ["AGGREGATOR_DIFFERS"]}, 1)
    [place] = [row for row in document(result)["places"] if row["attention"]]
    assert place["attention"][0]["text"].startswith("the last sweep counted 1 NON_COMPLIANT, the aggregator has 0")
    organization.aggregation.kept.clear()
    organization.result("data", HOME, "subnet-aaaa", Reason.ENDPOINT, ["vpce-1"])  # healed after the sweep
    result = status(*SWEPT, "--format", "json")
    assert (attention(result), result.exit_code) == ({}, 0)


def test_overdue_sweeps_and_outdated_stacks_are_named(sandbox: Sandbox, organization: DeployedOrganization) -> None:
    """A sweep is overdue after 25 hours. A stack that is not current is named with AWS's reason."""
    data, web = (organization.accounts[name] for name in ("data", "web"))
    administrator = (sandbox.account_id, sandbox.region)
    set_status(administrator, STACK_SET, (data, HOME), "OUTDATED", "The bucket does not exist")
    organization.add("late", organization.workloads)
    organization.deploy("express-path-late", organization.workloads, (), CodeKey="4567.zip")
    for region in REGIONS:
        organization.put_rule("late", region)
        organization.result("late", region, f"subnet-{region}", Reason.ENDPOINT, ["vpce-1"])
    organization.sweep("late", HOME, timedelta(hours=26), COMPLIANT=1)
    organization.sweep("late", NORTH, timedelta(hours=24), COMPLIANT=1)
    assert web
    result = status(*SWEPT, "--format", "json")
    assert attention(result) == {("data", HOME): ["NOT_CURRENT"], ("late", HOME): ["OVERDUE_SWEEP"]}
    assert result.exit_code == 1
    texts = [row["text"] for place in document(result)["places"] for row in place["attention"]]
    assert f"the instance of {STACK_SET} is OUTDATED: The bucket does not exist" in texts
    assert "different versions" in status().stdout


def test_excluded_accounts_that_have_the_rule_are_named(organization: DeployedOrganization) -> None:
    """Automatic deployment ignores exclusions, which a note says; one without an instance needs no attention."""
    organization.exclude("data")
    result = status("--format", "json")
    assert attention(result) == {("data", HOME): ["EXCLUDED"], ("data", NORTH): ["EXCLUDED"]}
    assert result.exit_code == 1
    texts = [row["text"] for place in document(result)["places"] for row in place["attention"]]
    assert f"is in ExcludedAccountIds of {STACK_SET}, but has an instance" in texts[0]
    assert (
        f"{STACK_SET} excludes 2 accounts with ExcludedAccountIds, which automatic deployment ignores" in result.stderr
    )
    assert "Accounts that are excluded, but have the rule" in status().stdout


def test_excluded_subnets_are_counted_by_their_tag(organization: DeployedOrganization) -> None:
    """Aggregators do not contain excluded subnets: the line of the last sweep names the tag and the number."""
    excluded = [{"by": "tag express-path:exclude", "subnets": 5}]
    organization.log("data", HOME, {"message": "evaluated", "posted": "swept"}, "not JSON, swept")
    organization.sweep("data", HOME, timedelta(hours=2), excluded=[{"by": "tag old", "subnets": 1}])
    organization.sweep(
        "data", HOME, timedelta(minutes=5), excluded=excluded, unresolved=2, COMPLIANT=1, NOT_APPLICABLE=7
    )
    result = status(*SWEPT, "--format", "json")
    assert result.stderr == ""
    [place] = [row for row in document(result)["places"] if row["excluded"]]
    assert (place["accountName"], place["excluded"]) == ("data", excluded)
    assert (place["notApplicable"], place["unresolved"], result.exit_code) == (7, 2, 0)
    assert "tag express-path:exclude" in status(*SWEPT).stdout


def test_what_does_not_work_is_named(organization: DeployedOrganization) -> None:
    """Whatever the last sweep found to be broken is listed with its place, and the status is 1."""
    fault = {"component": "ledger", "problem": "the table ledger does not exist"}
    organization.sweep("data", HOME, timedelta(minutes=5), faults=[fault], COMPLIANT=1)
    result = status(*SWEPT, "--format", "json")
    assert (attention(result), result.exit_code) == ({("data", HOME): ["UNHEALTHY"]}, 1)
    assert "ledger: the table ledger does not exist" in status(*SWEPT).stdout


def test_a_line_that_is_not_the_functions_is_an_error(organization: DeployedOrganization) -> None:
    """Whoever can write to the log cannot hide a place: its line is checked, and the status is 2."""
    organization.log("data", HOME, {"message": "swept", "faults": [], "counts": {"COMPLIANT": "many"}})
    result = status(*SWEPT)
    assert result.exit_code == 2
    assert "field COMPLIANT is 'many'" in result.stderr


def test_what_cannot_be_read_is_named_and_the_rest_reported(
    sandbox: Sandbox, organization: DeployedOrganization
) -> None:
    """Accounts, StackSets, results and sources that fail are named, each on its own; the status is 2."""
    data, web = (organization.accounts[name] for name in ("data", "web"))
    sandbox.faults.deny("sts", "AssumeRole", RoleArn=f"arn:aws:iam::{data}:role/{ROLE}")
    sandbox.faults.deny("config", "GetAggregateComplianceDetailsByConfigRule", AccountId=web, AwsRegion=NORTH)
    organization.items.bad = [
        {"SourceId": "444455556666", "AwsRegion": HOME, "LastUpdateStatus": "FAILED", "LastErrorMessage": "denied"}
    ]
    result = status(*SWEPT, "--format", "json")
    assert (result.exit_code, attention(result)) == (2, {})
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == sorted(
        [f"account {data} (data)", f"account {web} {NORTH}", f"account 444455556666 {HOME}"]
    )
    [place] = [row for row in document(result)["places"] if row["nonCompliant"] is None]
    assert (place["accountName"], place["region"]) == ("web", NORTH)
    sandbox.faults.clear()
    for service, operation in (("cloudformation", "ListStackSets"), ("organizations", "ListAccounts")):
        sandbox.faults.deny(service, operation)
        result = status()
        assert (result.exit_code, "4 COMPLIANT" in result.stdout) == (2, True)
        assert f"{service}:{operation} failed" in result.stderr
        assert "no StackSet" not in result.stderr


@pytest.mark.usefixtures("organization")
def test_an_unknown_aggregator_is_one_line() -> None:
    """The line tells how to list those that there are."""
    result = invoke(["org", "status", "--aggregator", "other"])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "describe-configuration-aggregators" in line


def test_a_region_without_stack_sets_is_named(sandbox: Sandbox) -> None:
    """They may be in another Region, so it is not known where results are missing."""
    Organization(sandbox)
    sandbox.client("config").put_configuration_aggregator(
        ConfigurationAggregatorName="organization",
        AccountAggregationSources=[{"AccountIds": [sandbox.account_id], "AllAwsRegions": True}],
    )
    with answering(Aggregator(sandbox)):
        result = status()
    assert (result.exit_code, result.stdout.startswith("nothing is deployed")) == (0, True)
    assert "no StackSet in us-east-1 has a name that begins with express-path-" in result.stderr
