"""What the story does: read verdicts, run runbooks, and wait for AWS Config."""

from dataclasses import dataclass
from typing import Any

from acceptance.network import Network
from acceptance.place import Place, pages
from acceptance.stack import Stack

ENDED = ("Success", "Failed", "TimedOut", "Cancelled")
Execution = dict[str, Any]
"""An AutomationExecution (botocore model)."""


@dataclass(frozen=True, slots=True)
class Acts:
    """The acts of the story on one stack and network."""

    place: Place
    network: Network
    stack: Stack

    def verdicts(self) -> dict[str, tuple[str, str]]:
        """Return compliance and annotation of every subnet that the rule has reported."""
        found = pages(
            self.place.client("config"),
            "get_compliance_details_by_config_rule",
            "EvaluationResults",
            ConfigRuleName=self.stack.rule,
        )
        return {
            one["EvaluationResultIdentifier"]["EvaluationResultQualifier"]["ResourceId"]: (
                one["ComplianceType"],
                one.get("Annotation", ""),
            )
            for one in found
        }

    def wait_for(self, subnet: str, compliance: str, reason: str = "") -> str:
        """Wait until AWS Config has a verdict about a subnet, and return the annotation."""

        def look() -> str | None:
            found, annotation = self.verdicts().get(subnet, ("", ""))
            return annotation if found == compliance and annotation.startswith(reason) else None

        return self.place.until(f"{subnet} {compliance} {reason}", look)

    def start(self, document: str, **parameters: str) -> str:
        """Start a runbook of the stack by the name of its output, and return the execution's ID."""
        outputs = self.stack.outputs
        given = {
            "AutomationAssumeRole": outputs["AutomationRoleArn"],
            "PlanFunctionName": outputs["PlanFunctionArn"],
            **parameters,
        }
        started = self.place.client("ssm").start_automation_execution(
            DocumentName=outputs[document], Parameters={name: [value] for name, value in given.items()}
        )
        return str(started["AutomationExecutionId"])

    def execution(self, execution_id: str) -> Execution:
        """Return an execution."""
        ssm = self.place.client("ssm")
        found: Execution = ssm.get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
        return found

    def end(self, execution_id: str) -> Execution:
        """Wait for the end of an execution, and return it."""

        def look() -> Execution | None:
            found = self.execution(execution_id)
            return found if found["AutomationExecutionStatus"] in ENDED else None

        return self.place.until(f"the end of {execution_id}", look)

    def run(self, document: str, **parameters: str) -> Execution:
        """Run a runbook of the stack to its end, and return the execution."""
        return self.end(self.start(document, **parameters))

    def route_targets(self, table: str) -> list[str]:
        """Return the kinds of targets that a route table has, such as `vpce`, in alphabetical order."""
        [found] = self.place.client("ec2").describe_route_tables(RouteTableIds=[table])["RouteTables"]
        targets = [route.get("GatewayId") or route.get("NatGatewayId") or "other" for route in found["Routes"]]
        return sorted(target.partition("-")[0] for target in targets)


def steps_of(execution: Execution) -> list[list[str]]:
    """Return the name and status of each step that an execution took."""
    return [
        [step["StepName"], step["StepStatus"]]
        for step in execution["StepExecutions"]
        if step["StepStatus"] != "Pending"
    ]
