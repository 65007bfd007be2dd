"""What a check-up looks at: the facts that several questions share, each read once, when first asked for."""

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from typing import Generic, TypeVar

from express_path.adapters.aws import Aws
from express_path.errors import ExpressPathError
from express_path_cli.connections import read_caller
from express_path_cli.doctor.function_reader import read_activity, read_function
from express_path_cli.doctor.heal_checks import Remediation
from express_path_cli.doctor.recorder_reader import read_recorder, read_recorder_status
from express_path_cli.doctor.rule_checks import Activity, FunctionState
from express_path_cli.doctor.rule_reader import Rule, find_rules, read_remediation, read_times
from express_path_cli.runbooks.stack_record import StackRecord, read_stack
from express_path_cli.wording import RULE_NAME

_Value = TypeVar("_Value")


class Fact(Generic[_Value]):
    """A read that several questions need. Whoever asks first makes it, the others wait; they share its failure too."""

    def __init__(self, read: Callable[[], _Value]) -> None:
        """Read nothing yet."""
        self._read = read
        self._lock = Lock()
        self._found: list[_Value | ExpressPathError] = []

    def __call__(self) -> _Value:
        """The value. Raises what the read raised."""
        with self._lock:
            if not self._found:
                self._found.append(self._once())
        [found] = self._found
        if isinstance(found, ExpressPathError):
            raise found
        return found

    def _once(self) -> _Value | ExpressPathError:
        try:
            return self._read()
        except ExpressPathError as error:
            return error


class CheckContext:
    """One account and Region, and the stack and rule that are deployed there."""

    def __init__(self, aws: Aws, stack_name: str, again: str = "") -> None:
        """Read nothing yet; again holds the options with which the AWS CLI looks there too."""
        self.aws = aws
        self.again = again
        self.stack_name = stack_name
        self.now = datetime.now(UTC)
        self.caller = Fact(lambda: read_caller(aws))
        self.stack: Fact[StackRecord | None] = Fact(lambda: read_stack(aws.client("cloudformation"), stack_name))
        self.recorder = Fact(lambda: read_recorder(aws.config))
        self.recorder_status = Fact(lambda: read_recorder_status(aws.config))
        self.rules = Fact(lambda: find_rules(aws.config, self.rule_name))
        self.times = Fact(lambda: read_times(aws.config, self._deployed.name))
        self.function: Fact[FunctionState | None] = Fact(
            lambda: read_function(aws.client("lambda"), self.function_name)
        )
        self.activity: Fact[Activity] = Fact(
            lambda: read_activity(aws.client("cloudwatch"), self.function_name, self.now)
        )
        self.remediation: Fact[Remediation | None] = Fact(
            lambda: read_remediation(aws.config, self.rule.name) if self.rule else None
        )

    @property
    def rule_name(self) -> str:
        """The rule's name by the stack's output, else its default name."""
        try:
            return self.output("RuleName") or RULE_NAME
        except ExpressPathError:
            return RULE_NAME  # that the stack cannot be read is told by the question about it

    @property
    def rule(self) -> Rule | None:
        """The deployed rule, None where there is none."""
        return next(iter(self.rules()), None)

    @property
    def _deployed(self) -> Rule:
        return self.rules()[0]

    @property
    def function_name(self) -> str:
        """The name of the rule's function."""
        return self._deployed.function_arn.split(":")[6]

    @property
    def function_account(self) -> str | None:
        """The account of the rule's function where that is another one, as in a rule of the organization."""
        account = self._deployed.function_arn.split(":")[4]
        return None if account == self.caller().account_id else account

    def output(self, name: str) -> str:
        """An output of the stack, empty where there is no stack or no such output."""
        stack = self.stack()
        return stack.outputs.get(name, "") if stack else ""

    def parameter(self, name: str) -> str:
        """A parameter of the stack, empty where there is no stack or no such parameter."""
        stack = self.stack()
        return stack.parameters.get(name, "") if stack else ""
