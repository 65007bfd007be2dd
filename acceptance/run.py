"""One run: the account and the Region in which it takes place, and what it found. All its calls are made from here."""

import json
import os
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import boto3
import jmespath
from botocore.config import Config
from botocore.exceptions import ClientError

from acceptance.facts import Json, removed

Found = TypeVar("Found")
SANDBOX = "AWS_ENDPOINT_URL"
"""The variable that leads to the sandbox: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html."""
CALLS: set[str] = set()
"""The operations that this process has called, as "service:Operation"."""
ENDED = ("Success", "Failed", "TimedOut", "Cancelled")


class Run:
    """A run where the environment leads, in the sandbox or at AWS. Facts and answers by name have no ids or times."""

    def __init__(self) -> None:
        """Connect to the account."""
        self.id = os.environ.get("RUN") or secrets.token_hex(4)
        self.stack_name = f"express-path-acceptance-{self.id}"
        self.is_sandbox = SANDBOX in os.environ
        self.where = "sandbox" if self.is_sandbox else "AWS"
        self.is_alone = self.is_sandbox or "ALONE" in os.environ
        # AWS Config reports a change within minutes, and deploys take several.
        self._longest_s, self._pause_s = (180.0, 0.25) if self.is_sandbox else (1800.0, 10.0)
        self._session = boto3.session.Session()
        self._session.events.register("before-call", _note)
        self._clients: dict[tuple[str, str], Any] = {}
        self.region = str(self._session.region_name)
        identity = self.client("sts").get_caller_identity()
        self.account_id, self.caller = identity["Account"], identity["Arn"]
        self.facts: dict[str, dict[str, Json]] = {}
        self.answers: dict[str, Json] = {}
        self.begin()

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
        self.facts[name] = {
            "service": service,
            "region": self.region,
            "date": datetime.now(UTC).date().isoformat(),
            "asked": asked,
            "answer": removed(answer, known),
            "believed": believed,
            "as_believed": None if believed is None else answer == believed,
            "seconds": round(time.monotonic() - self._begun, 1),
        }
        if all_answers is not None:
            self.answers[name] = removed(all_answers, known)
        self.begin()

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
            config = Config(retries={"mode": "adaptive", "total_max_attempts": 8}, read_timeout=900)
            self._clients[service, role] = self._session.client(service, config=config, **given)  # type: ignore[call-overload]
        return self._clients[service, role]

    def ask(self, service: str, operation: str, query: str, **parameters: Json) -> list[Json]:
        """Return what a JMESPath expression, as in --query of the AWS CLI, finds in all pages of an answer."""
        client = self.client(service)
        if client.can_paginate(operation):
            found = client.get_paginator(operation).paginate(**parameters).search(query)
            return [one for one in found if one is not None]  # a page may have nothing
        return list(jmespath.search(query, getattr(client, operation)(**parameters)) or [])

    def until(self, what: str, look: Callable[[], Found | None]) -> Found:
        """Look until there is something, and return it. TimeoutError after half an hour, in the sandbox three minutes."""
        start = time.monotonic()
        while not (found := look()):
            if time.monotonic() - start > self._longest_s:
                raise TimeoutError(f"after {self._longest_s:.0f} seconds, still not: {what}")
            time.sleep(self._pause_s)
        return found

    def start(self, document: str, **given: Json) -> str:
        """Start a runbook, and return the execution's ID."""
        started = self.client("ssm").start_automation_execution(DocumentName=document, **given)
        return str(started["AutomationExecutionId"])

    def execution(self, execution_id: str, *statuses: str) -> Json:
        """Wait until an execution of Automation has one of some statuses, and return it."""

        def look() -> Json | None:
            one = self.client("ssm").get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]
            return one if one["AutomationExecutionStatus"] in statuses else None

        return self.until(f"{execution_id} {' or '.join(statuses)}", look)

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


def _note(model: Any, **_event: object) -> None:  # botocore's, which has no public type
    CALLS.add(f"{model.service_model.service_name}:{model.name}")


def attempt(call: Callable[[], Found]) -> tuple[str, Found | None]:
    """Return the code of the error with which a call fails, or "none" and the answer."""
    try:
        return "none", call()
    except ClientError as error:
        return str(error.response["Error"]["Code"]), None


def error_code(call: Callable[[], object]) -> str:
    """Return the code of the error with which a call fails, or "none"."""
    return attempt(call)[0]
