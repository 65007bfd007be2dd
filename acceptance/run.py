"""One run: the account and the Region in which it takes place, and what it found. All its calls are made from here."""

import json
import os
import secrets
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import boto3
import jmespath
from botocore.config import Config
from botocore.exceptions import ClientError

from acceptance.facts import Json, removed
from acceptance.interruptions import is_interruption
from acceptance.state import state_of

Found = TypeVar("Found")
SANDBOX = "AWS_ENDPOINT_URL"
"""The variable that leads to the sandbox: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html."""
LIMIT = "LIMIT"
"""The variable with the seconds after which a run no longer waits for something."""
CLOSED = "express-path:acceptance-block-public-access"
"""The key of the tag of a VPC whose run has turned Block Public Access on."""
ENDED = ("Success", "Failed", "TimedOut", "Cancelled")


class Run:
    """A run where the environment leads, in the sandbox or at AWS. Facts and answers by name have no ids or times."""

    def __init__(self) -> None:
        """Connect to the account."""
        self.id = os.environ.get("RUN") or secrets.token_hex(4)
        self.stack_name = f"express-path-acceptance-{self.id}"
        self.rule_name = f"acceptance-{self.id}"
        self.is_sandbox = SANDBOX in os.environ
        self.where = "sandbox" if self.is_sandbox else "AWS"
        # AWS Config reports a change within minutes, and deploys take several.
        longest_s, self._pause_s, self._watch_s = (180.0, 0.25, 1.0) if self.is_sandbox else (1800.0, 10.0, 60.0)
        self._longest_s = float(os.environ.get(LIMIT) or longest_s)
        self.state = state_of(self.id)
        self.is_alone = self.is_sandbox or "ALONE" in os.environ or self.state.kept.get("alone", False)
        self._session = boto3.session.Session()
        self._session.events.register("before-call", self._note)
        self._clients: dict[tuple[str, str], Any] = {}
        self.region = str(self._session.region_name)
        identity = self.client("sts").get_caller_identity()
        self.account_id, self.caller = identity["Account"], identity["Arn"]
        self.begin()

    @property
    def place(self) -> str:
        """The account and the Region."""
        return f"{self.account_id}, {self.region}"

    def command(self, target: str) -> str:
        """Return the command that runs a target of make for this run, where it takes place."""
        where = "" if self.is_sandbox else f" PROFILE={os.environ['PROFILE']} REGION={self.region}"
        return f"make {target} RUN={self.id}{where}"

    def begin(self) -> None:
        """Count the seconds of the next fact from now."""
        self._begun = time.monotonic()

    def add(
        self,
        name: str,
        service: str,
        asked: str,
        answer: Json,
        believed: Json = None,
        all_answers: Json = None,
        *,
        only_at_aws: bool = False,
    ) -> None:
        """Add a fact, and all that AWS answered at that step. The sandbox cannot answer what is `only_at_aws`.

        A fact is one thing that was asked, what AWS answered, and what we believe; `as_believed` is None if that is not known.
        """
        if only_at_aws and self.is_sandbox:
            answer, believed, all_answers = "the sandbox cannot answer", None, None
        known = {self.id: "RUN", self.region: "REGION"}
        self.state.facts[name] = {
            "service": service,
            "region": self.region,
            "date": datetime.now(UTC).date().isoformat(),
            "asked": asked,
            "answer": removed(answer, known),
            "believed": removed(believed, known),
            "as_believed": None if believed is None else answer == believed,
            "seconds": round(time.monotonic() - self._begun, 1),
        }
        if all_answers is not None:
            self.state.answers[name] = removed(all_answers, known)
        self.state.save()
        self.begin()

    def prove(
        self, name: str, service: str, asked: str, answer: Json, believed: Json, all_answers: Json = None
    ) -> None:
        """Add a fact. AssertionError if AWS answers in another way than the product relies on."""
        self.add(name, service, asked, answer, believed, all_answers)
        assert answer == believed, f"{asked} {answer}, not {believed}"

    def once(self, name: str, make: Callable[[], Found]) -> Found:
        """Return what was made under a name, also by this run before it was interrupted."""
        if name not in self.state.kept:
            self.state.keep(name, make())
        kept: Found = self.state.kept[name]
        return kept

    def token(self, name: str) -> str:
        """Return the client token of a call, which stays the same if the call is repeated."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.id}/{name}"))

    def client(self, service: str, role: str = "") -> Any:  # boto3's client
        """Return the client of a service, with this run's credentials or those of a role by its ARN."""
        if (service, role) not in self._clients:
            given = {}
            if role:
                found = self.client("sts").assume_role(RoleArn=role, RoleSessionName=self.id)["Credentials"]
                given = {
                    "aws_access_key_id": found["AccessKeyId"],
                    "aws_secret_access_key": found["SecretAccessKey"],
                    "aws_session_token": found["SessionToken"],
                }
            attempts = 2 if self.is_sandbox else 8
            config = Config(retries={"mode": "adaptive", "total_max_attempts": attempts}, read_timeout=900)
            self._clients[service, role] = self._session.client(service, config=config, **given)  # type: ignore[call-overload]
        return self._clients[service, role]

    def ask(self, service: str, operation: str, query: str, **parameters: Json) -> list[Json]:
        """Return what a JMESPath expression, as in --query of the AWS CLI, finds in all pages of an answer."""
        client = self.client(service)
        if client.can_paginate(operation):
            found = client.get_paginator(operation).paginate(**parameters).search(query)
            return [one for one in found if one is not None]  # a page may have nothing
        return list(jmespath.search(query, getattr(client, operation)(**parameters)) or [])

    def look_for(
        self, look: Callable[[], Found], longest_s: float | None = None, pause_s: float | None = None
    ) -> Found:
        """Look until there is something, and return it, or what there is at the end: after half an hour, or LIMIT."""
        end = time.monotonic() + (self._longest_s if longest_s is None else longest_s)
        while not (found := look()) and time.monotonic() < end:
            time.sleep(self._pause_s if pause_s is None else pause_s)
        return found

    def until(self, what: str, look: Callable[[], Found | None], *, pause_s: float | None = None) -> Found:
        """Look until there is something, and return it. TimeoutError after half an hour, or LIMIT."""
        if found := self.look_for(look, pause_s=pause_s):
            return found
        raise TimeoutError(f"after {self._longest_s:.0f} seconds, still not: {what}. LIMIT=... sets the seconds")

    def stays(self, look: Callable[[], Found], expected: Found) -> Found:
        """Watch for a minute something that should stay as it is, and return what it is then, or once it differs."""
        self.look_for(lambda: look() != expected, self._watch_s)
        return look()

    def start(self, document: str, name: str = "", **given: Json) -> str:
        """Start a runbook, and return the execution's ID. With a name, only one is started under it."""
        if not name:
            started = self.client("ssm").start_automation_execution(DocumentName=document, **given)
            return str(started["AutomationExecutionId"])
        # The token also finds an execution of which this run was not told before it was interrupted.
        return self.once(name, lambda: self.start(document, ClientToken=self.token(name), **given))

    def execution(self, execution_id: str, *statuses: str) -> Json:
        """Wait until an execution of Automation has one of some statuses, and return it."""

        def look() -> Json | None:
            one = self.client("ssm").get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
            return one if one["AutomationExecutionStatus"] in statuses else None

        return self.until(f"{execution_id} {' or '.join(statuses)}", look)

    def reach(self, execution_id: str, step: str) -> None:
        """Wait until an execution has begun a step or has ended, looking as often as Systems Manager lets."""

        def look() -> bool:
            found = self.client("ssm").get_automation_execution(AutomationExecutionId=execution_id)
            execution = found["AutomationExecution"]
            begun = [row["StepName"] for row in execution["StepExecutions"] if row["StepStatus"] != "Pending"]
            return step in begun or execution["AutomationExecutionStatus"] in ENDED

        self.until(f"step {step} of {execution_id}", look, pause_s=0.0 if self.is_sandbox else 0.5)

    def end(self, execution_id: str) -> Json:
        """Wait for the end of an execution, and return it."""
        return self.execution(execution_id, *ENDED)

    def answer(self, execution_id: str, signal: str) -> Json:
        """Approve or reject if an execution asks, and return the execution at its end."""
        if self.execution(execution_id, "Waiting", *ENDED)["AutomationExecutionStatus"] == "Waiting":
            self.client("ssm").send_automation_signal(AutomationExecutionId=execution_id, SignalType=signal)
        return self.end(execution_id)

    def logged(self, group: str, word: str) -> list[Json]:
        """Return the lines with a word that functions have written to a log group as JSON."""
        lines = self.ask("logs", "filter_log_events", "events[].message", logGroupName=group)
        return [json.loads(line) for line in lines if line.startswith("{") and word in line]

    def endpoints(self, vpc: str) -> list[str]:
        """Return the endpoints of a VPC that are not being deleted."""
        filters = [{"Name": "vpc-id", "Values": [vpc]}]
        query = "VpcEndpoints[?!starts_with(State, 'delet')].VpcEndpointId"
        return self.ask("ec2", "describe_vpc_endpoints", query, Filters=filters)

    def delete_endpoints(self, vpc: str) -> None:
        """Delete the endpoints of a VPC, if it has any."""
        if found := self.endpoints(vpc):
            self.client("ec2").delete_vpc_endpoints(VpcEndpointIds=found)

    def block_public_access(self) -> str:
        """Return the mode of VPC Block Public Access in the account and Region: off, or what it blocks."""
        query = "VpcBlockPublicAccessOptions.[InternetGatewayBlockMode]"
        return str(self.ask("ec2", "describe_vpc_block_public_access_options", query)[0])

    def close(self, vpc: str, *, is_closed: bool) -> None:
        """Turn VPC Block Public Access on or off. While it is on, a tag of the run's VPC says that this run did that."""
        ec2, tags = self.client("ec2"), [{"Key": CLOSED, "Value": self.id}]
        state = "VpcBlockPublicAccessOptions.[State] | [?@!='update-in-progress']"
        self.until("the end of a change", lambda: self.ask("ec2", "describe_vpc_block_public_access_options", state))
        if is_closed:
            ec2.create_tags(Resources=[vpc], Tags=tags)
            ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
        elif self.ask("ec2", "describe_tags", "Tags[].Key", Filters=_tagged(vpc)):
            ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")
            self.until("Block Public Access off", lambda: self.block_public_access() == "off")
            ec2.delete_tags(Resources=[vpc], Tags=tags)

    def _note(self, model: Any, **_event: object) -> None:  # botocore's, which has no public type
        self.state.call(f"{model.service_model.service_name}:{model.name}")


def _tagged(vpc: str) -> list[Json]:
    return [{"Name": "resource-id", "Values": [vpc]}, {"Name": "key", "Values": [CLOSED]}]


def attempt(call: Callable[[], Found]) -> tuple[str, Found | None]:
    """Return the code of the error with which a call fails, or "none" and the answer. Raise what interrupts the run."""
    try:
        return "none", call()
    except ClientError as error:
        if is_interruption(error):
            raise
        return str(error.response["Error"]["Code"]), None


def error_code(call: Callable[[], object]) -> str:
    """Return the code of the error with which a call fails, or "none"."""
    return attempt(call)[0]
