"""Where a run takes place: an account and a Region at AWS, or the sandbox. All calls of a run are made from here."""

import json
import os
import secrets
import time
from collections.abc import Callable
from typing import Any, TypeVar

import boto3
import jmespath
from botocore.config import Config
from botocore.exceptions import ClientError

Found = TypeVar("Found")
Client = Any
"""A boto3 client of any service."""
Json = Any
SANDBOX = "AWS_ENDPOINT_URL"
"""The variable that leads to the sandbox: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html."""
LONGEST_SECONDS = {"sandbox": 180, "AWS": 1800}
"""How long AWS may take for one thing: AWS Config reports a change within minutes, and deploys take several."""
POLL_SECONDS = {"sandbox": 0.25, "AWS": 10}
CALLS: set[str] = set()
"""The operations that this process has called, as "service:Operation"."""
ENDED = ("Success", "Failed", "TimedOut", "Cancelled")


class Place:
    """The account and Region of one run, to which the environment leads. `name` is "sandbox" or "AWS"."""

    def __init__(self) -> None:
        """Connect to it."""
        self.run = os.environ.get("RUN") or secrets.token_hex(4)
        self.stack_name = f"express-path-acceptance-{self.run}"
        self.is_sandbox = SANDBOX in os.environ
        self.is_alone = self.is_sandbox or "ALONE" in os.environ
        self.name = "sandbox" if self.is_sandbox else "AWS"
        self._session = boto3.session.Session()
        self._session.events.register("before-call", _note)
        self._clients: dict[tuple[str, str], Client] = {}
        self.region = str(self._session.region_name)
        identity = self.client("sts").get_caller_identity()
        self.account_id, self.caller = identity["Account"], identity["Arn"]

    def client(self, service: str, role: str = "") -> Client:
        """Return the client of a service, with this place's credentials or those of a role by its ARN."""
        if (service, role) not in self._clients:
            given = {}
            if role:
                found = self.client("sts").assume_role(RoleArn=role, RoleSessionName=self.run)["Credentials"]
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
        """Look until there is something, and return it. TimeoutError after this place's limit."""
        limit = LONGEST_SECONDS[self.name]
        start = time.monotonic()
        while not (found := look()):
            if time.monotonic() - start > limit:
                raise TimeoutError(f"after {limit} seconds, still not: {what}")
            time.sleep(POLL_SECONDS[self.name])
        return found

    def start(self, document: str, **given: Json) -> str:
        """Start a runbook, and return the execution's ID."""
        started = self.client("ssm").start_automation_execution(DocumentName=document, **given)
        return str(started["AutomationExecutionId"])

    def execution(self, execution_id: str, *statuses: str) -> Json:
        """Wait until an execution of Automation has one of some statuses, and return it."""

        def look() -> Json | None:
            found = self.client("ssm").get_automation_execution(AutomationExecutionId=execution_id)
            execution = found["AutomationExecution"]
            return execution if execution["AutomationExecutionStatus"] in statuses else None

        return self.until(f"{execution_id} {' or '.join(statuses)}", look)

    def end(self, execution_id: str) -> Json:
        """Wait for the end of an execution, and return it."""
        return self.execution(execution_id, *ENDED)

    def answer(self, execution_id: str, signal: str) -> Json:
        """Approve or reject when an execution asks, and return the execution at its end."""
        self.execution(execution_id, "Waiting")
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
