"""A local AWS on which everything happens by itself, as in an account.

CloudFormation deploys stacks, Lambda runs the code of functions and keeps their logs, and AWS Config records changes,
invokes the functions of rules, and remediates what they find.

with LocalAws() as aws:
    aws.client("cloudformation").create_stack(StackName="my-rule", TemplateBody=template)
    aws.settle()
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from subprocess import PIPE, Popen
from typing import Any, Self
from unittest.mock import patch

from moto.config.models import config_backends

from config_rule_sandbox.answers import FirstSweep, UpdatedRule
from config_rule_sandbox.aws_lambda.executions import Executions, MakeHandler
from config_rule_sandbox.cloudformation.operations import CloudFormation
from config_rule_sandbox.config.deployment import CHANGE, PERIODIC, RuleDefinition, prepare, records, scope_of
from config_rule_sandbox.config.items.items import ItemStyle, Recorded
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.recorder import Recorder
from config_rule_sandbox.config.remediation.memory import RemediationError, remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.dynamic import Client, Moto
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.iam.people import create_user
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.automation import StillRunningError

SECONDS_APART = 0.5
"""The time between two looks of AWS Config at the network."""
CAPTURE_SECONDS = 60.0
"""How long results that nothing changes are not captured again for automatic remediation."""
SETTLE_SECONDS = 60.0
Invoke = Callable[[str, Any], Any]
"""Invokes a function: its name or ARN, and the event."""


class NotSettledError(TimeoutError):
    """AWS Config still has something to do."""


class RegionalConfig:
    """AWS Config in an account and Region: records changes, invokes the functions of rules, and remediates what they find."""

    def __init__(self, sandbox: Sandbox, invoke: Invoke, remediation: Remediation) -> None:
        """Start nothing yet. The account and Region are those of `sandbox`."""
        self._sandbox = sandbox
        self._invoke = invoke
        self._remediation = remediation.seen_from(sandbox)
        self._loops: dict[str, tuple[object, ConfigLoop]] = {}
        self._healing = threading.Thread()
        self._remediated = False
        self._captured = float("-inf")
        recorded = Recorded(sandbox.account_id, sandbox.region, ItemStyle())
        self._recorder = Recorder(partial(direct_client, sandbox), recorded)
        """Records while there is no rule. The loop of a rule records, too."""

    def look(self) -> bool:
        """Look for changes once, tell every rule, and begin to remediate. Return whether anything was to be done."""
        place = self._sandbox.account_id, self._sandbox.region
        results = results_of(*place)
        busy = self._healing.is_alive() or self._remediated
        self._remediated = False
        automatic: list[str] = []
        is_told = False
        if not config_backends[place[0]][place[1]].config_rules:
            for change in self._recorder.look():
                results.record(change.item)
        for name, rule in list(config_backends[place[0]][place[1]].config_rules.items()):
            state = (rule.config_rule_id, rule.input_parameters)
            if name not in self._loops or self._loops[name][0] != state:
                self._loops[name] = (state, self._new_loop(name, rule))
                is_told = True
            loop = self._loops[name][1]
            loop.notice()
            is_requested = name in results.requested
            is_told = _tell(loop, _triggers(rule), again=is_requested) or is_told
            if is_requested:
                results.requested.discard(name)
            known = remediations_of(*place).configurations.get(name, {})
            if known.get("Automatic"):
                automatic.append(name)
        if automatic and not self._healing.is_alive():
            capture = is_told or time.monotonic() >= self._captured + CAPTURE_SECONDS
            if capture:
                self._captured = time.monotonic()
            self._healing = threading.Thread(
                target=self._heal, args=(automatic,), kwargs={"capture": capture}, daemon=True
            )
            self._healing.start()
        return busy or is_told

    def send_scheduled(self) -> None:
        """Send the scheduled message of every rule that has a schedule, as when its time has come."""
        rules = config_backends[self._sandbox.account_id][self._sandbox.region].config_rules
        for name, (_, loop) in self._loops.items():
            if name in rules and PERIODIC in _triggers(rules[name]):
                loop.scheduled()

    def capture(self) -> None:
        """Capture the results for automatic remediation at the next look."""
        self._captured = float("-inf")

    def is_busy(self, until: float) -> bool:
        """Wait for the end of what is being remediated, to a time of the monotonic clock. Return whether more is to be done."""
        if self._healing.is_alive():
            self._healing.join(max(0.0, until - time.monotonic()))
        return self._healing.is_alive() or self._remediated

    def _new_loop(self, name: str, rule: Moto) -> ConfigLoop:
        """Return the loop of a new or changed rule, told what AWS Config tells such a rule at first."""
        function = rule.source.source_identifier
        definition = RuleDefinition(name, function.rpartition(":")[2], scope_of(rule))
        parameters = json.loads(rule.input_parameters or "{}")
        loop = ConfigLoop(self._sandbox, partial(self._invoke, function), rule=definition, parameters=parameters)
        answers = self._sandbox.answers
        earlier = self._loops.get(name)
        if earlier and earlier[1].rule.rule_id == loop.rule.rule_id:
            loop.go_on_from(earlier[1])
            is_evaluated = answers.updated_rule is UpdatedRule.EVERYTHING
            is_swept = answers.first_sweep is FirstSweep.AT_CREATION_AND_UPDATE
        else:
            loop.baseline()
            loop.take()
            is_evaluated = True
            is_swept = answers.first_sweep is not FirstSweep.AFTER_A_PERIOD
        if is_evaluated:
            loop.evaluate_again()
        if is_swept and PERIODIC in _triggers(rule):
            loop.scheduled()
        return loop

    def _heal(self, names: list[str], *, capture: bool) -> None:
        for name in names:
            with suppress(
                StillRunningError, RemediationError
            ):  # a request waits, or the remediation was deleted meanwhile
                self._remediated = bool(self._remediation.remediate(name, capture=capture)) or self._remediated


def _tell(loop: ConfigLoop, triggers: set[str], *, again: bool) -> bool:
    """Tell a rule of changes if these invoke it, and return whether it was invoked.

    With `again`, tell it of all resources, or send the scheduled message to a rule that is only periodic. UNVERIFIED
    whether AWS Config also sends the latter to a rule with both triggers.
    """
    if CHANGE in triggers:
        if again:
            loop.evaluate_again()
        return bool(loop.deliver())
    loop.take()
    if again:
        loop.scheduled()
    return again


def _triggers(rule: Moto) -> set[str]:
    """Return the types of messages that invoke a rule."""
    return {detail.message_type for detail in rule.source.source_details or ()}


class AwsConfig:
    """AWS Config in the sandbox's account and Region, and wherever else a recorder records."""

    def __init__(self, sandbox: Sandbox, invoke: Invoke, remediation: Remediation) -> None:
        """Start nothing yet."""
        self._sandbox = sandbox
        self._new = partial(RegionalConfig, invoke=invoke, remediation=remediation)
        self._places = {(sandbox.account_id, sandbox.region): self._new(sandbox)}

    def look(self) -> bool:
        """Deliver events, and look for changes once in each account and Region. Return whether anything was to be done."""
        busy = bool(self._sandbox.eventbridge.deliver())
        for config in self._recording():
            busy = config.look() or busy
        return busy

    def send_scheduled(self) -> None:
        """Send the scheduled message of every rule that has a schedule, as when its time has come."""
        for config in self._recording():
            config.send_scheduled()

    def settle(self, seconds: float) -> None:
        """Look until nothing changes any more, and all remediation has ended. NotSettledError if it goes on."""
        until = time.monotonic() + seconds
        for config in self._places.values():
            config.capture()
        busy = True
        while busy:
            busy = self.look()
            for config in self._places.values():
                busy = config.is_busy(until) or busy
            if busy and time.monotonic() > until:
                raise NotSettledError(f"AWS Config still has something to do after {seconds} seconds")

    def _recording(self) -> list[RegionalConfig]:
        """Return AWS Config in the sandbox's account and Region, and in those in which a recorder records now."""
        own = (self._sandbox.account_id, self._sandbox.region)
        found = []
        for account_id in list(config_backends):
            for region in list(config_backends[account_id]):
                place = (account_id, region)
                if place != own and not records(*place):
                    continue
                if place not in self._places:
                    self._places[place] = self._new(self._sandbox.seen_from(*place))
                found.append(self._places[place])
        return found


class LocalAws:
    """A local AWS as a context manager. Only one runs in a process, because moto's state is global.

    `sandbox` has everything about calls, faults, and knobs; `automation` runs runbooks. `environment()` leads there. The
    environment of this process does so meanwhile, too.
    """

    def __init__(self, region: str = "us-east-1", *, handlers: Mapping[str, MakeHandler] | None = None) -> None:
        """Prepare; nothing runs yet.

        A function runs the code that it was deployed with, in a process of its own. With `handlers`, functions with the
        same name of their handler run in this process instead, where a debugger and coverage see them.
        """
        self.sandbox = Sandbox(region)
        self.automation = Automation(self.sandbox)
        self._handlers = handlers
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Start it, with a recorder that records everything."""
        patches = Patches()
        with ExitStack() as opened:
            opened.enter_context(self.sandbox)
            opened.enter_context(self.automation)
            remediation = opened.enter_context(Remediation(self.sandbox, self.automation))
            opened.enter_context(patch.dict(os.environ, self.environment()))
            opened.callback(patches.undo)
            CloudFormation(self.sandbox).apply(patches)
            executions = Executions(self.sandbox, self._handlers)
            opened.callback(executions.stop)
            self.automation.functions.run_others = executions.invoke
            # An event is delivered after the call that put it, because the function that did so is still running.
            self.sandbox.eventbridge.run_others, self.sandbox.eventbridge.holds = executions.invoke, True
            prepare(self.sandbox)
            self._config = AwsConfig(self.sandbox, executions.invoke, remediation)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:  # as contextlib has it
        """Stop everything, and restore moto and the environment."""
        self._opened.close()

    def client(self, service: str, region: str | None = None) -> Client:
        """Return a boto3 client."""
        return self.sandbox.client(service, region)

    def environment(self) -> dict[str, str]:
        """Return the environment variables that lead every AWS SDK, and the AWS CLI, to this AWS."""
        return self.sandbox.environment()

    def look(self) -> bool:
        """Let AWS Config look for changes once. Return whether there was anything to do, or still is."""
        return self._config.look()

    def send_scheduled(self) -> None:
        """Let the scheduled message come of every rule that AWS Config knows and that has a schedule."""
        self._config.send_scheduled()

    def settle(self, seconds: float = SETTLE_SECONDS) -> None:
        """Let AWS Config look until nothing changes any more, and all remediation has ended. NotSettledError if it goes on."""
        self._config.settle(seconds)

    def run(self) -> None:
        """Let AWS Config look again and again."""
        while True:
            self.look()
            time.sleep(SECONDS_APART)


def serve(aws: LocalAws, arguments: Sequence[str] = ()) -> None:
    """Start it, print the environment that leads to it as one line of JSON, and run until the process is ended.

    Arguments such as `later_steps=absent` give other answers (answers.py). With an argument that is a list of policies as JSON,
    every request needs a permission, and the environment is that of a user with these policies.
    """
    with aws, ExitStack() as opened:
        environment = aws.environment()
        for argument in arguments:
            if argument.startswith("["):
                del environment["AWS_SESSION_TOKEN"]
                credentials = create_user(aws.sandbox, "person", json.loads(argument))
                environment |= {name.upper(): value for name, value in credentials.items()}
                opened.enter_context(enforced(aws.sandbox))
            else:
                switch, _, answer = argument.partition("=")
                aws.sandbox.answers.set(switch, answer)
        sys.stdout.write(json.dumps(environment) + "\n")
        sys.stdout.flush()
        aws.run()


@contextmanager
def in_a_process(module: str = "config_rule_sandbox", *arguments: str) -> Iterator[dict[str, str]]:
    """Run a module that calls `serve` in a process of its own, which Ctrl-C does not reach, and give the environment."""
    command = [sys.executable, "-m", module, *arguments]
    with Popen(command, stdout=PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
