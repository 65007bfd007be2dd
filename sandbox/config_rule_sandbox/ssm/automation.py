"""Systems Manager Automation in the sandbox: runs runbooks in threads, with the permissions of their roles."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import Any, Self

from config_rule_sandbox.answers import Answers
from config_rule_sandbox.aws_lambda.functions import Functions
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import operations
from config_rule_sandbox.ssm.described import described_execution
from config_rule_sandbox.ssm.engine import Engine
from config_rule_sandbox.ssm.execution import Execution
from config_rule_sandbox.ssm.knobs import Disturbance, Killing, Knobs, Trouble
from config_rule_sandbox.ssm.registry import keep
from config_rule_sandbox.ssm.roles import Caller, Credentials, assume
from config_rule_sandbox.ssm.start import prepare

WAIT_SECONDS = 60.0


class StillRunningError(TimeoutError):
    """An execution that has not ended in time; `execution_id` and `status` are those of the execution."""

    def __init__(self, execution: Execution) -> None:
        super().__init__(f"{execution.id} is {execution.status} at step {execution.current}")
        self.execution_id = execution.id
        self.status = execution.status


class Automation:
    """Automation and change calendars of a running sandbox, as a context manager.

    `knobs` are the settings, `functions` the Lambda functions that runbooks can invoke.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        """Prepare; moto is not changed yet."""
        self.knobs = Knobs()
        self.functions = Functions()
        self._sandbox = sandbox
        self._patches = Patches()
        self._executions: dict[str, tuple[Execution, Thread]] = {}

    @property
    def answers(self) -> Answers:
        """What AWS does where its documentation leaves that open."""
        return self._sandbox.answers

    def __enter__(self) -> Self:
        """Let the sandbox's server answer Automation's calls."""
        operations.apply(self._patches, self)
        self.functions.apply(self._patches)
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop everything that runs, and undo the changes."""
        self.reset()
        self._patches.undo()

    def reset(self) -> None:
        """Stop every execution without running another step, forget the functions, and turn the knobs back.

        What a step that has timed out still does ends first.
        """
        for execution, _ in self._executions.values():
            execution.cancelled.set()
        for thread in threading.enumerate():
            if thread.name.partition("/")[0] in self._executions:
                thread.join(WAIT_SECONDS)
        self._executions.clear()
        self.functions.clear()
        self.knobs.reset()

    def execute(self, document_name: str, parameters: dict[str, Any] | None = None, **more: str) -> dict[str, Any]:
        """Start a runbook through the API, wait for its end, and return the AutomationExecution (botocore model).

        A parameter may be given as one string instead of the API's list. `more` are other members of the request.
        """
        given = {key: [value] if isinstance(value, str) else value for key, value in (parameters or {}).items()}
        members = {"Parameters": given} if given else {}
        client = self._sandbox.client("ssm")
        answer = client.start_automation_execution(DocumentName=document_name, **members, **more)
        return self.wait(answer["AutomationExecutionId"])

    def wait(self, execution_id: str, seconds: float = WAIT_SECONDS) -> dict[str, Any]:
        """Wait for the end of an execution and return its AutomationExecution. StillRunningError if it takes longer."""
        execution, _ = self._executions[execution_id]
        if not execution.ended.wait(seconds):
            raise StillRunningError(execution)
        return described_execution(execution)

    @contextmanager
    def killing(
        self, *, before: str | None = None, during: str | None = None, status: str = "Cancelled"
    ) -> Iterator[None]:
        """Kill every execution at a step: before it, or during it.

        During a step means that its call took effect and no outcome was recorded. `status` is what the API shows from
        then on: Cancelled, TimedOut, or InProgress without end; StopAutomationExecution ends the latter.
        """
        self.knobs.killing = Killing(before, during, status)
        try:
            yield
        finally:
            self.knobs.killing = None

    @contextmanager
    def disturbing(self, document: str, step: str, trouble: Trouble) -> Iterator[Disturbance]:
        """Let something go wrong with a step in every execution of a runbook."""
        self.knobs.disturbance = disturbance = Disturbance(document, step, trouble)
        try:
            yield disturbance
        finally:
            self.knobs.disturbance = None

    def current_step(self, document: str) -> str:
        """Return the step at which the latest execution of a runbook is; empty if it has ended or there is none."""
        found = [execution for execution, _ in self._executions.values() if execution.document_name == document]
        return (found[-1].current or "") if found else ""

    def start(self, parameters: dict[str, Any], who: Caller, account_id: str, region: str) -> Execution:
        """Start what a checked StartAutomationExecution asks for, or find the execution of the same client token."""
        execution = prepare(parameters, who, account_id, region, self.answers)
        role = execution.assume_role
        credentials = assume(role, execution.id, account_id, region) if role else who.credentials
        kept = keep(execution, parameters.get("ClientToken"))
        if kept is execution:
            self._begin(execution, credentials)
        return kept

    def _begin(self, execution: Execution, credentials: Credentials) -> None:
        run = partial(self._run, execution, credentials)
        thread = Thread(target=run, name=execution.id, daemon=True)
        self._executions[execution.id] = (execution, thread)
        thread.start()

    def _run(self, execution: Execution, credentials: Credentials) -> None:
        clients: dict[str, Client] = {}

        def client(service: str) -> Client:
            if service not in clients:
                clients[service] = self._sandbox.client(service, execution.region, credentials)
            return clients[service]

        Engine(execution, self.knobs, client).run()
