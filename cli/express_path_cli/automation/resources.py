"""The resources that CloudFormation lists of a stack, which say whether it is a stack of express-path.

Outputs and names can be chosen by anybody who may create a stack. The ID of a resource of AWS's own types is what
CloudFormation itself created, with permissions of the person who created the stack:
https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackResourceSummary.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import pages
from express_path.adapters.health import read_function
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
_GONE = ("DELETE_COMPLETE", "DELETE_SKIPPED")
_LEDGER = "LEDGER_TABLE_NAME"
"""The variable of the plan function's environment that names the ledger."""


@dataclass(frozen=True, slots=True)
class StackResources:
    """The resources of a stack that have our logical IDs and types: their physical IDs, by logical ID."""

    stack_id: str
    names: Mapping[str, str]

    @property
    def stack(self) -> str:
        """The name of the stack."""
        return self.stack_id.split("/")[1]

    def name(self, logical_id: str) -> str:
        """Return the physical ID of a resource. Raise OptionError if the stack does not have it."""
        if not self.names.get(logical_id):
            raise self.refusal(f"it has no resource {logical_id} of type {_TYPES[logical_id]}")
        return self.names[logical_id]

    def refusal(self, why: str) -> OptionError:
        """Return the error that says why the stack is not used."""
        return OptionError(
            f"stack {self.stack} is not a stack of express-path: {why}",
            "nothing was done there: find out who made that stack, and delete it or deploy it again",
        )

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
    rows = pages(cloudformation, "cloudformation", "list_stack_resources", "StackResourceSummaries", StackName=stack_id)
    names = {
        str(row["LogicalResourceId"]): str(row.get("PhysicalResourceId") or "")
        for row in rows
        if row["ResourceType"] == _TYPES.get(str(row["LogicalResourceId"])) and row["ResourceStatus"] not in _GONE
    }
    return StackResources(stack_id, names)


def ledger_of(functions: "LambdaClient", resources: StackResources, parameters: Mapping[str, str]) -> str:
    """Return the name of a stack's ledger: its own table, or the one that its parameter and its plan function name.

    Raise ApiError, and OptionError if the two differ.
    """
    given = parameters.get("LedgerTableName", "")
    if not given:
        return resources.name("LedgerTable")
    function = resources.name("PlanFunction")
    found = read_function(functions, function)
    actual = found.environment.get(_LEDGER, "") if found else ""
    if actual != given:
        raise resources.refusal(
            f"its parameter LedgerTableName is {given}, but the ledger of its function {function} is {actual or '(none)'}"
        )
    return given
