"""The resources that CloudFormation lists of a stack, which say whether it is a stack of express-path.

Outputs and names can be chosen by anybody who may create a stack. The ID of a resource of AWS's own types is what
CloudFormation itself created, with permissions of the person who created the stack, if the status of the resource says so:
https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackResourceSummary.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import pages
from express_path.adapters.health import CHANGING, OWNED, read_function
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

ROLE_PATH = "/express-path/automation/"
"""The path of the roles that may write to a ledger: those of the runbooks, and of `stop`."""
_ROLE, _FUNCTION, _DOCUMENT = "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::SSM::Document"
_TYPES = {
    "ConfigRule": "AWS::Config::ConfigRule",
    "EvaluateFunction": _FUNCTION,
    "PlanFunction": _FUNCTION,
    "AutomationRole": _ROLE,
    "StopRole": _ROLE,
    "HealDocument": _DOCUMENT,
    "ApprovalDocument": _DOCUMENT,
    "UndoDocument": _DOCUMENT,
    "LedgerTable": "AWS::DynamoDB::Table",
}
"""The types of the resources that commands use, by logical ID."""
_TABLE, _RETAINED = "LedgerTable", "DELETE_SKIPPED"
"""The ledger, whose DeletionPolicy retains it, and its status then
(https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackResourceSummary.html)."""
_LEDGER = "LEDGER_TABLE_NAME"
"""The variable of the plan function's environment that names the ledger."""


class RefusedStackError(OptionError):
    """A stack is not one of express-path, and why."""

    def __init__(self, stack: str, why: str) -> None:
        """Keep the name of the stack, and why."""
        self.stack, self.why = stack, why
        super().__init__(
            f"stack {stack} is not a stack of express-path: {why}",
            "nothing was done there: find out who made that stack, and delete it or deploy it again",
        )


@dataclass(frozen=True, slots=True)
class StackResources:
    """The resources of a stack that have our logical IDs and types: their physical IDs, and their statuses, by logical ID.

    None of them is gone, or was never created. retained_ledger: the table that a deletion of the stack, or an update, left
    behind; empty if there is none.
    """

    stack_id: str
    names: Mapping[str, str]
    statuses: Mapping[str, str]
    retained_ledger: str = ""

    @property
    def stack(self) -> str:
        """The name of the stack."""
        return self.stack_id.split("/")[1]

    def name(self, logical_id: str) -> str:
        """Return the physical ID of a resource, also while it changes. Raise RefusedStackError if the stack does not have it."""
        if not self.names.get(logical_id):
            raise self.refusal(f"it has no resource {logical_id} of type {_TYPES[logical_id]}")
        return self.names[logical_id]

    def check_owned(self, *logical_ids: str) -> None:
        """Raise RefusedStackError if the stack does not have one of these resources, or it is being changed."""
        for logical_id in logical_ids:
            self.name(logical_id)
            if self.statuses[logical_id] not in OWNED:
                raise self.refusal(f"its resource {logical_id} is {self.statuses[logical_id]}")

    def refusal(self, why: str) -> RefusedStackError:
        """Return the error that says why the stack is not used."""
        return RefusedStackError(self.stack, why)

    def role_arn(self, logical_id: str) -> str:
        """Return the ARN of a role with the path of express-path. Whether it exists is not read. Raise OptionError."""
        partition, account_id = self._place[1], self._place[4]
        return f"arn:{partition}:iam::{account_id}:role{ROLE_PATH}{self.name(logical_id)}"

    def function_arn(self, logical_id: str) -> str:
        """Return the ARN of a function. Raise OptionError."""
        partition, region, account_id = self._place[1], self._place[3], self._place[4]
        return f"arn:{partition}:lambda:{region}:{account_id}:function:{self.name(logical_id)}"

    @property
    def _place(self) -> list[str]:
        return self.stack_id.split(":")


def read_resources(cloudformation: Any, stack_id: str) -> StackResources:  # noqa: ANN401  # boto3's client
    """Read the resources of a stack, by its ARN. Raise ApiError."""
    listed = pages(
        cloudformation, "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack_id
    )
    typed = [row for row in listed if row["ResourceType"] == _TYPES.get(str(row["LogicalResourceId"]))]
    rows = {str(row["LogicalResourceId"]): row for row in typed if row["ResourceStatus"] in OWNED | CHANGING}
    names = {logical_id: str(row.get("PhysicalResourceId") or "") for logical_id, row in rows.items()}
    statuses = {logical_id: str(row["ResourceStatus"]) for logical_id, row in rows.items()}
    retained = [row for row in typed if row["LogicalResourceId"] == _TABLE and row["ResourceStatus"] == _RETAINED]
    return StackResources(
        stack_id, names, statuses, next((str(row.get("PhysicalResourceId") or "") for row in retained), "")
    )


def ledger_of_function(functions: "LambdaClient", function: str) -> str:
    """Return the name of the ledger that a plan function uses; empty if there is none, or no such function. Raise ApiError."""
    found = read_function(functions, function)
    return found.environment.get(_LEDGER, "") if found else ""
