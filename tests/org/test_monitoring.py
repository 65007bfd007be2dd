"""org/monitoring.yaml and org/monitoring-link.yaml, deployed whole: the daily check finds silent accounts with its own role."""

import os
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest

from config_rule_sandbox.cloudformation.stack_sets import deploy
from config_rule_sandbox.cloudwatch.printed import Datapoint
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.server import Sandbox
from express_path.errors import SilenceError
from express_path.handlers.check_organization import compose_services, handler
from tests.handlers.test_check_organization import HOME, NORTH, RollOut
from tests.support.organization import PREFIX, Packaged
from tests.support.rule import Context
from tests.support.template import ROOT

FUNCTION = "express-path-check-organization"


def text(name: str) -> str:
    """Return a template."""
    return (ROOT / "org" / f"{name}.yaml").read_text(encoding="utf-8")


class Monitoring:
    """The stacks of the monitoring account, which is the management account here, with linked accounts."""

    def __init__(self, sandbox: Sandbox, packaged: Packaged, roll_out: RollOut) -> None:
        """Deploy to two Regions, the daily check in one of them, and link the accounts."""
        self.sandbox, self.stacks = sandbox, {}
        organizations: Client = sandbox.client("organizations")
        given = {
            "OrganizationId": organizations.describe_organization()["Organization"]["Id"],
            "DashboardRegion": HOME,
            "StackSetsRegion": HOME,
            "CallAs": "SELF",
            "ArtifactBucketPrefix": PREFIX,
            "CodeKey": packaged.keys["CodeKey"],
        }
        for region in (HOME, NORTH):
            s3: Client = sandbox.client("s3", region)
            located = {"CreateBucketConfiguration": {"LocationConstraint": region}} if region != HOME else {}
            s3.create_bucket(Bucket=f"{PREFIX}-{region}", **located)
            code = (packaged.upload / packaged.keys["CodeKey"]).read_bytes()
            s3.put_object(Bucket=f"{PREFIX}-{region}", Key=packaged.keys["CodeKey"], Body=code)
            stack = deploy(sandbox, text("monitoring"), given, sandbox.account_id, region, "express-path-monitoring")
            assert not stack.failure
            self.stacks[region] = stack
        sandbox.metrics.links.clear()
        for account_id in roll_out.accounts:
            link = deploy(sandbox, text("monitoring-link"), self.sink(HOME), account_id, HOME, "StackSet-link")
            assert not link.failure

    def sink(self, region: str) -> dict[str, str]:
        """Return the parameters of the links of a Region."""
        return {"SinkArn": self.stacks[region].outputs["SinkArn"]}

    def check(self) -> list[str]:
        """Run the daily check with the variables and the role of the deployed function; return where it finds silence.

        Lambda counts whether it failed.
        """
        function = self.sandbox.client("lambda").get_function_configuration(FunctionName=FUNCTION)
        session = {name.upper(): value for name, value in self.sandbox.assume(function["Role"]).items()}
        silent: list[str] = []
        with patch.dict(os.environ, session), enforced(self.sandbox):
            services = compose_services(os.environ | function["Environment"]["Variables"])
            try:
                handler({}, Context(), services)
            except SilenceError as error:
                silent = list(error.silent)
        dimensions = (("FunctionName", FUNCTION),)
        counted = Datapoint("AWS/Lambda", "Errors", dimensions, float(bool(silent)), datetime.now(UTC))
        self.sandbox.metrics.add([counted])
        return silent

    def pages(self) -> bool:
        """Return whether the silence alarm goes off in the next hour, and sends to the alarm topic."""
        name = self.stacks[HOME].resources["SilenceAlarm"].physical_id
        [alarm] = self.sandbox.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"]
        assert alarm["AlarmActions"] == [self.stacks[HOME].outputs["AlarmTopicArn"]]
        assert alarm["ActionsEnabled"]
        start = datetime.now(UTC).replace(second=0, microsecond=0)
        return self.sandbox.metrics.first_alarm(alarm, start, start + timedelta(hours=1)) is not None


@pytest.mark.parametrize("broken", [0, 1, 300])
def test_the_deployed_check_finds_silent_accounts(sandbox: Sandbox, packaged: Packaged, broken: int) -> None:
    """Of 300 linked accounts, none is silent, one, or all at once: the function fails once, and one alarm goes off."""
    roll_out = RollOut(sandbox, 300)
    monitoring = Monitoring(sandbox, packaged, roll_out)
    for account_id in roll_out.accounts[broken:]:
        roll_out.check(account_id)
    assert len(monitoring.check()) == broken
    assert monitoring.pages() is (broken > 0)


def test_only_one_region_has_the_dashboard_and_the_check(sandbox: Sandbox, packaged: Packaged) -> None:
    """Each Region has its sink, topic, and alarm. Everything can be deleted."""
    monitoring = Monitoring(sandbox, packaged, RollOut(sandbox, 1))
    kinds = {name: set(stack.resources) for name, stack in monitoring.stacks.items()}
    assert kinds[NORTH] == {"Sink", "AlarmTopic", "AlarmTopicPolicy", "ErrorsAlarm"}
    assert kinds[HOME] > kinds[NORTH] | {"Dashboard", "CheckFunction", "SilenceAlarm"}
    [dashboard] = sandbox.client("cloudwatch").list_dashboards()["DashboardEntries"]
    assert dashboard["DashboardName"] == "express-path"
    for stack in monitoring.stacks.values():
        stack.delete()
    assert sandbox.client("cloudwatch").list_dashboards()["DashboardEntries"] == []


@pytest.mark.parametrize(
    ("account", "region", "reason"),
    [("999988887777", HOME, "does not allow oam:CreateLink"), ("", NORTH, "does not exist in eu-north-1")],
)
def test_only_accounts_of_the_organization_link(
    sandbox: Sandbox, packaged: Packaged, account: str, region: str, reason: str
) -> None:
    """A link of another account, and one to the sink of another Region, fail."""
    roll_out = RollOut(sandbox, 1)
    monitoring = Monitoring(sandbox, packaged, roll_out)
    link = deploy(sandbox, text("monitoring-link"), monitoring.sink(HOME), account or roll_out.accounts[0], region, "l")
    assert reason in str(link.failure)
