"""The OCSF function: each changed verdict becomes one Compliance Finding on the event bus."""

import json
from typing import Any

import pytest

from express_path.events.schema import EarlierResult, RuleRun, VerdictChanged
from express_path.events.writer import changed_entry
from express_path.domain.path.reasons import Compliance, Reason
from express_path.errors import ApiError, EventError, SettingError
from express_path.handlers.ocsf import DETAIL_TYPE, SOURCE, Services, compose_services, handler
from sandbox.config_items.direct import direct_client
from sandbox.iam_conditions import enforced
from sandbox.refusals import refused
from sandbox.server import Sandbox
from tests.support.iam import actions, lint
from tests.support.rule import RULE, Context
from tests.support.security_hub import Hub, at, published
from tests.support.template import expanded

Finding = dict[str, Any]


class Consumer:
    """A consumer of the findings, and the function with its role."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Deploy the template's rule for the function, and a rule that takes the findings."""
        self.sandbox = sandbox
        self.findings: list[dict[str, Any]] = []
        self.services: Services = compose_services({"EVENT_BUS_NAME": "default", "AWS_REGION": sandbox.region})
        events, template = sandbox.client("events"), expanded(OcsfEvents="ON")
        rule = template.deployed(template.properties("OcsfVerdicts"))
        self._rule(events, "verdicts", rule["EventPattern"], rule["Targets"][0]["Arn"])
        name = rule["Targets"][0]["Arn"].rpartition(":")[2]
        sandbox.eventbridge.register(name, lambda event: handler(event, Context(), self.services))
        arn = f"arn:aws:lambda:{sandbox.region}:{sandbox.account_id}:function:siem"
        self._rule(events, "findings", {"source": [SOURCE], "detail-type": [DETAIL_TYPE]}, arn)
        sandbox.eventbridge.register("siem", self.findings.append)

    def _rule(self, events: Any, name: str, pattern: dict[str, Any], arn: str) -> None:
        events.put_rule(Name=name, EventPattern=json.dumps(pattern))
        events.put_targets(Rule=name, Targets=[{"Id": "1", "Arn": arn}])

    def publish(self, old: Compliance | None, reason: Reason) -> Finding:
        """Publish a changed verdict as the rule does, and return the finding that arrives."""
        run = RuleRun(self.sandbox.account_id, self.sandbox.region, RULE.name, at(1))
        earlier = EarlierResult(old, None) if old else None
        entry = changed_entry(VerdictChanged(run, earlier, published("subnet-1", reason)))
        request = {"Source": entry.source, "DetailType": entry.detail_type, "Detail": entry.detail}
        self.sandbox.client("events").put_events(Entries=[request])
        event = self.findings.pop()
        assert self.findings == []
        detail: Finding = event["detail"]
        return detail


@pytest.mark.parametrize(
    ("old", "reason", "activity", "status", "severity"),
    [
        (None, Reason.NAT_GATEWAY, (1, 200301), "Fail", 3),
        (Compliance.NON_COMPLIANT, Reason.NAT_BEYOND_TRANSIT_GATEWAY, (2, 200302), "Fail", 4),
        (Compliance.NON_COMPLIANT, Reason.ENDPOINT, (3, 200303), "Pass", 1),
        (Compliance.COMPLIANT, Reason.DELETED, (2, 200302), "Not applicable", 1),
    ],
)
def test_changed_verdict_becomes_a_finding(
    sandbox: Sandbox,
    old: Compliance | None,
    reason: Reason,
    activity: tuple[int, int],
    status: str,
    severity: int,
) -> None:
    """The finding has what happened, the status, the severity, and the ID that the command's findings have too."""
    finding = Consumer(sandbox).publish(old, reason)
    assert (finding["activity_id"], finding["type_uid"]) == activity
    assert (finding["compliance"]["status"], finding["compliance"]["status_code"]) == (status, reason)
    assert (finding["severity_id"], finding.get("status_id")) == (severity, 4 if activity[0] == 3 else None)
    assert finding["finding_info"]["uid"] == "s3express-no-nat-path/123456789012/us-east-1/subnet-1"
    assert finding["time"] == at(1).timestamp() * 1000
    assert finding["resources"][0]["data"]["path"] == ("0.0.0.0/0 -> nat-1" if status == "Fail" else "")
    assert ("remediation" in finding) is (status == "Fail")


def test_finding_that_is_not_taken_fails_the_event(sandbox: Sandbox) -> None:
    """If EventBridge does not take the finding, the invocation fails, so Lambda tries again and keeps the event."""
    consumer, hub = Consumer(sandbox), Hub(sandbox, "RICH")
    event = hub.evaluate("subnet-1", Reason.NAT_GATEWAY, at(1))
    sandbox.eventbridge.fail_entries("ThrottlingException")
    with pytest.raises(ApiError, match="events:PutEvents failed with ThrottlingException"):
        handler(event, Context(), consumer.services)
    sandbox.eventbridge.succeed()
    with pytest.raises(EventError, match="must be VerdictChanged"):
        handler(hub.sweep_completed(at(2)), Context(), consumer.services)
    with pytest.raises(SettingError, match="EVENT_BUS_NAME"):
        compose_services({})


def test_role_can_only_publish_findings(sandbox: Sandbox) -> None:
    """The role of the function puts events of its own source only, on the rule's bus, and nothing else."""
    template = expanded(OcsfEvents="ON")
    role = template.deployed(template.properties("OcsfRole"))
    [policy] = role["Policies"]
    assert lint(policy["PolicyDocument"]) == []
    statements = policy["PolicyDocument"]["Statement"]
    assert {action for statement in statements for action in actions(statement)} == {
        "events:PutEvents",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sqs:SendMessage",
    }
    iam, name = direct_client(sandbox, "iam"), template.deployed("<OcsfRole>")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(role["AssumeRolePolicyDocument"]))
    iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps(policy["PolicyDocument"]))
    credentials = sandbox.assume(str(template.deployed("<OcsfRole.Arn>")))
    events = sandbox.client("events", credentials=credentials)
    entry = {"Source": SOURCE, "DetailType": DETAIL_TYPE, "Detail": "{}", "EventBusName": "default"}
    with enforced(sandbox):
        assert events.put_events(Entries=[entry])["FailedEntryCount"] == 0
        assert refused(events.put_events, Entries=[{**entry, "Source": "express-path"}]) == "AccessDeniedException"


def test_function_is_deployed_only_on_request() -> None:
    """Without OcsfEvents, there is no function; with it, failed events go to the queue of failed events."""
    assert not [name for name in expanded().resources if name.startswith("Ocsf")]
    stack = expanded(OcsfEvents="ON")
    assert stack.properties("OcsfPermission")["SourceArn"] == "<OcsfVerdicts.Arn>"
    configs = [row["Properties"] for row in stack.resources.values() if row["Type"] == "AWS::Lambda::EventInvokeConfig"]
    [config] = [row for row in configs if row["FunctionName"] == "<OcsfFunction>"]
    assert config["DestinationConfig"] == {"OnFailure": {"Destination": "<FailedEventsQueue.Arn>"}}
    assert stack.properties("OcsfFunction")["Environment"]["Variables"]["EVENT_BUS_NAME"] == "default"
