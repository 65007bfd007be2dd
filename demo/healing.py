"""The demonstration's second half: runbooks plan a heal, heal, undo the heal, and do not change what a stack owns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from config_rule_sandbox.calls import Call
from config_rule_sandbox.ssm.execution import FAILED, SUCCESS
from demo.runbooks import HEAL, UNDO, Execution, Runbooks
from demo.situations import Situation
from demo.stage import Expected, Stage
from demo.steps import StepLine, failures, step_outputs
from demo.verdicts import Row

FLAGGED: Expected = {
    "data-private": ("NON_COMPLIANT", "NAT_GATEWAY"),
    "reports-private": ("NON_COMPLIANT", "NAT_GATEWAY"),
}
"""The expected verdicts before the heal, and again after the undo."""

HEALED: Expected = {"data-private": ("COMPLIANT", "ENDPOINT")}
PLANNED = "CREATE_AND_ASSOCIATE"
NEW = "vpce-new"
"""The name of the endpoint that the heal creates."""

BLOCKER = "OWNED_BY_IAC"
PLAN = """\
It would create a gateway endpoint for {serviceName} ({ipAddressType}) in {vpcId} and associate it with the subnet's \
route table, {routeTableId}."""

READ_ONLY = "The plan changed nothing in EC2. From here on, a star marks each step that changes something."


class Healing:
    """Runs the runbooks on "data", the VPC without an endpoint, and on "reports", whose endpoint a stack owns."""

    def __init__(self, stage: Stage, runbooks: Runbooks, data: Situation, reports: Situation) -> None:
        """Prepare; no runbook is started yet."""
        self._stage = stage
        self._narrator = stage.narrator
        self._runbooks = runbooks
        self._data = data
        self._reports = reports
        self._to_heal = {"SubnetId": data["data-private"]}
        self._ec2 = stage.client("ec2")

    def run(self) -> None:
        """Show the plan, the heal and the undo, each with the verdicts after it, and a heal that is blocked."""
        title = "AWS Config records them and invokes the rule: {} events"
        flagged = self._stage.verdicts(title, FLAGGED, self._data, self._reports)
        before = self._route_tables()
        self._plan()
        run_id = self._heal()
        healed = self._verdicts(HEALED, flagged)
        self._undo(run_id)
        self._verdicts(FLAGGED, healed)
        if self._stage.must(self._route_tables() == before, "the route tables must be as before the heal"):
            self._narrator.say("The route tables of this VPC are exactly as before the heal.")
        self._block()

    def _plan(self) -> None:
        changes = self._changes()
        execution = self._follow("The plan: a dry run of the runbook", HEAL, SUCCESS, self._to_heal, DryRun="true")
        plan = json.loads(step_outputs(execution["StepExecutions"], "plan").get("Details", "{}"))
        if self._stage.must(plan.get("action") == PLANNED, f"the plan must be {PLANNED}: {plan}"):
            self._narrator.say(PLAN.format(**plan))
        if self._stage.must(self._changes() == changes, "a dry run must not change anything"):
            self._narrator.say(READ_ONLY)

    def _heal(self) -> str:
        execution = self._follow("The heal: the same runbook, step by step", HEAL, SUCCESS, self._to_heal)
        made = step_outputs(execution["StepExecutions"], "create").get("VpcEndpointId", "none")
        self._data = replace(self._data, ids={**self._data.ids, NEW: made})
        return str(execution["AutomationExecutionId"])

    def _undo(self, run_id: str) -> None:
        self._follow("The undo of that heal: another runbook", UNDO, SUCCESS, {"RunId": run_id})

    def _block(self) -> None:
        changes = self._changes()
        subnet = {"SubnetId": self._reports["reports-private"]}
        execution = self._follow(
            "A heal that is blocked: a CloudFormation stack owns the endpoint", HEAL, FAILED, subnet
        )
        self._stage.must(self._changes() == changes, "a blocked heal must not change anything")
        self._narrator.subtitle("Why it failed, from the outputs of the run")
        explained = failures(execution["StepExecutions"])
        blockers = [blocker for failure in explained for blocker in failure.get("blockers", ())]
        patches = {tool: patch for failure in explained for tool, patch in failure.get("patches", {}).items()}
        for failure in explained:
            self._narrator.say(f"{failure['code']} for {failure['resource']}: {failure['evidence']}")
        for blocker in blockers:
            self._narrator.say(f"{blocker['code']}: {blocker['evidence']}; {blocker['fix']}")
        codes = [blocker["code"] for blocker in blockers]
        self._stage.must(codes == [BLOCKER], f"the blocker must be {BLOCKER}, not {codes}")
        self._narrator.subtitle("The patch for CloudFormation, which owns the endpoint, from the same outputs")
        if self._stage.must([*patches] == ["cloudFormation"], "there must be a patch for the owner's tool alone"):
            self._narrator.code(patches["cloudFormation"])

    def _follow(self, title: str, runbook: str, wanted: str, given: Mapping[str, str], **more: str) -> Execution:
        """Run a runbook, show its steps as they end, and return its execution, which must end in the wanted status."""
        parameters = {**given, **more}
        with self._narrator.step(title, f"running {runbook}"):
            self._narrator.say(" ".join([runbook, *(f"{name}={value}" for name, value in parameters.items())]))
            execution = self._runbooks.follow(runbook, self._show, **parameters)
        status, why = execution["AutomationExecutionStatus"], execution.get("FailureMessage", "")
        self._stage.must(status == wanted, f"{runbook} must end with {wanted}, not {status}: {why}")
        return execution

    def _show(self, line: StepLine) -> None:
        self._narrator.item(line.name, line.text, marked=line.changes)

    def _verdicts(self, expected: Expected, was: Sequence[Row]) -> list[Row]:
        title = "AWS Config records the change and invokes the rule again: {} events"
        return self._stage.verdicts(title, expected, self._data, was=was)

    def _changes(self) -> list[Call]:
        return [call for call in self._stage.sandbox.calls.mutating() if call.service == "ec2"]

    def _route_tables(self) -> list[dict[str, Any]]:
        of_vpc = [{"Name": "vpc-id", "Values": [self._data["vpc"]]}]
        tables: list[dict[str, Any]] = self._ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
        return tables
