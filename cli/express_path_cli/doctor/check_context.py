"""What the questions of a check-up share: clients, and reads that are made once, when first needed."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Generic, TypeVar

from express_path.adapters.aws import Aws, calling
from express_path.adapters.health import FunctionState, Installation, read_function, read_installation
from express_path.adapters.recorder import read_recorder, read_recorder_status
from express_path.adapters.remediation import read_remediation
from express_path.domain.verdict.parameters import RULE_NAME
from express_path.errors import ExpressPathError
from express_path_cli.automation.deployments import StackEvidence, own_stacks
from express_path_cli.automation.stack import Stack, read_stack
from express_path_cli.aws.sessions import AccountRegion, read_caller
from express_path_cli.installation.rule import Rule, find_rules, read_activity, read_times
from express_path_cli.terminal.errors import OptionError

_Value = TypeVar("_Value")


class DoesNotApplyError(Exception):
    """A question is about something that is not there."""


def needed(found: _Value | None) -> _Value:
    """Return what a question is about. Raise DoesNotApplyError if there is none."""
    if not found:
        raise DoesNotApplyError
    return found


class SharedRead(Generic[_Value]):
    """A read that several questions need. The first one makes it, and the others wait; all get its value or error."""

    def __init__(self, read: Callable[[], _Value]) -> None:
        """Take the read; it is not made yet."""
        self._read = read
        self._lock = Lock()
        self._outcome: Future[_Value] = Future()

    def __call__(self) -> _Value:
        """Return the value. Raise the error of the read."""
        with self._lock:
            if not self._outcome.done():
                try:
                    self._outcome.set_result(self._read())
                except ExpressPathError as error:
                    self._outcome.set_exception(error)
        return self._outcome.result()


class CheckContext:
    """One account and Region, and the stack and rule that are deployed there."""

    def __init__(self, aws: Aws, stack_name: str, aws_options: str) -> None:
        """Read nothing yet. `aws_options` are the options that select the same account and Region in the AWS CLI."""
        self.aws = aws
        self.aws_options = aws_options
        self.stack_name = stack_name
        self.now = datetime.now(UTC)
        self.caller = SharedRead(lambda: read_caller(aws))
        self.stack = SharedRead(lambda: read_stack(aws.client("cloudformation"), stack_name))
        self.stacks = SharedRead(
            lambda: own_stacks(AccountRegion(self.caller().account_id, aws), None, StackEvidence.checkable)
        )
        self.own_stack = SharedRead(self._own_stack)
        self.template = SharedRead(self._read_template)
        self.recorder = SharedRead(lambda: read_recorder(aws.config))
        self.recorder_status = SharedRead(lambda: read_recorder_status(aws.config))
        self.rules = SharedRead(lambda: find_rules(aws.config, self.rule_name))
        self.times = SharedRead(lambda: read_times(aws.config, needed(self.rule).name))
        self.function = SharedRead(lambda: read_function(aws.functions, self.function_name))
        self.activity = SharedRead(lambda: read_activity(aws.client("cloudwatch"), self.function_name, self.now))
        self.remediation = SharedRead(lambda: read_remediation(aws.config, self.rule.name) if self.rule else None)
        self.installation: SharedRead[Installation | None] = SharedRead(self._installation)

    def _own_stack(self) -> Stack | None:
        """Return the stack, or None if there is none, or only one that looks like ours, which anybody may have made.

        Only its names and parameters say what to check. Raise ApiError if that could not be read.
        """
        stack = self.stack()
        if stack is None:
            return None
        stacks = self.stacks()
        error = stacks.refused.get(stack.name)
        if error and not isinstance(error, OptionError):
            raise error
        return stack if any(deployment.stack == stack.name for deployment in stacks.values) else None

    def _read_template(self) -> Mapping[str, Any]:
        """Read the template that is deployed, with its transforms applied; empty if there is none, or not as JSON."""
        if self.own_stack() is None:
            return {}
        with calling("cloudformation:GetTemplate"):
            template: Any = self.aws.client("cloudformation").get_template(
                StackName=self.stack_name, TemplateStage="Processed"
            )["TemplateBody"]
        return template if isinstance(template, Mapping) else {}

    @property
    def rule_name(self) -> str:
        """The rule's name from the stack's output, or its default name."""
        try:
            return self.output("RuleName") or RULE_NAME
        except ExpressPathError:
            return RULE_NAME  # the question about the stack reports that it cannot be read

    @property
    def rule(self) -> Rule | None:
        """The deployed rule, or None if there is none."""
        return next(iter(self.rules()), None)

    @property
    def function_name(self) -> str:
        """The name of the rule's function."""
        return needed(self.rule).function_name

    @property
    def function_account(self) -> str | None:
        """The account of the rule's function if that is another one, as for a rule of the organization, or None."""
        account_id = needed(self.rule).function_account_id
        return None if account_id == self.caller().account_id else account_id

    @property
    def own_function(self) -> FunctionState | None:
        """The rule's function if it exists in this account, or None."""
        return self.function() if self.rule and not self.function_account else None

    def _installation(self) -> Installation | None:
        """Read what the stack of the rule's function must have, which each sweep checks; None without such a function."""
        function = self.own_function
        return read_installation(self.aws, function.environment.get("STACK_ID", "")) if function else None

    def deployed(self, logical_id: str) -> Mapping[str, Any]:
        """Return the properties of a resource in the deployed template, with what its mappings say; empty without it."""
        template = self.template()

        def inserted(node: dict[str, Any]) -> Any:  # noqa: ANN401  # JSON
            names = node.get("Fn::FindInMap")
            return template["Mappings"][names[0]][names[1]][names[2]] if names else node

        described = template.get("Resources", {}).get(logical_id, {}).get("Properties", {})
        properties: Mapping[str, Any] = json.loads(json.dumps(described), object_hook=inserted)
        return properties

    def output(self, name: str) -> str:
        """Return an output of our stack, or an empty text without such an output or stack."""
        stack = self.own_stack()
        return stack.outputs.get(name, "") if stack else ""

    def parameter(self, name: str) -> str:
        """Return a parameter of our stack, or an empty text without such a parameter or stack."""
        stack = self.own_stack()
        return stack.parameters.get(name, "") if stack else ""
