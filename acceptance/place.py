"""Where a run takes place: an account and a Region at AWS, or the sandbox. All calls of a run are made from here."""

import os
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import boto3
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


class NeverHappenedError(Exception):
    """What a run waited for did not happen: `what`, after `seconds`."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"after {seconds:.0f} seconds, still not: {what}")
        self.what = what
        self.seconds = seconds


class Place:
    """The account and Region of one run. `name` is "sandbox" or "AWS"."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Connect to the sandbox if a variable leads to it, and else to the account of PROFILE in REGION."""
        self.run = environment.get("RUN") or secrets.token_hex(4)
        self.stack_name = f"express-path-acceptance-{self.run}"
        self.is_sandbox = SANDBOX in environment
        self.name = "sandbox" if self.is_sandbox else "AWS"
        self.environment = dict(environment)
        where = {} if self.is_sandbox else {"AWS_PROFILE": environment["PROFILE"], "AWS_REGION": environment["REGION"]}
        self.environment |= where
        self._session = boto3.session.Session(
            profile_name=where.get("AWS_PROFILE"), region_name=where.get("AWS_REGION")
        )
        self._session.events.register("before-call", _note)
        self._clients: dict[tuple[str, ...], Client] = {}
        self.region = str(self._session.region_name)
        self.account_id = self.client("sts").get_caller_identity()["Account"]

    @property
    def tags(self) -> list[dict[str, str]]:
        """The tag of the run, as most services take it."""
        return [{"Key": "express-path:acceptance", "Value": self.run}]

    def named(self, kind: str) -> list[Json]:
        """Return the TagSpecifications of a call of EC2 that creates a resource of a kind outside of the stacks."""
        return [{"ResourceType": kind, "Tags": [{"Key": "Name", "Value": self.stack_name}, *self.tags]}]

    def client(self, service: str, role: str = "") -> Client:
        """Return the client of a service, with this place's credentials or those of a role by its ARN."""
        if (service, role) not in self._clients:
            given = self._credentials(role) if role else {}
            config = Config(retries={"mode": "adaptive", "total_max_attempts": 8}, read_timeout=900)
            self._clients[service, role] = self._session.client(service, config=config, **given)  # type: ignore[call-overload]
        return self._clients[service, role]

    def _credentials(self, role: str) -> dict[str, str]:
        found = self.client("sts").assume_role(RoleArn=role, RoleSessionName=self.run)["Credentials"]
        keys = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}
        return {f"aws_{name}": found[key] for name, key in keys.items()}

    def until(self, what: str, look: Callable[[], Found | None]) -> Found:
        """Look until there is something, and return it. NeverHappenedError after this place's limit."""
        limit = LONGEST_SECONDS[self.name]
        start = time.monotonic()
        while not (found := look()):
            if time.monotonic() - start > limit:
                raise NeverHappenedError(what, limit)
            time.sleep(POLL_SECONDS[self.name])
        return found

    def execution(self, execution_id: str) -> Json:
        """Return an execution of Automation."""
        return self.client("ssm").get_automation_execution(AutomationExecutionId=execution_id)["AutomationExecution"]

    def end(self, execution_id: str) -> Json:
        """Wait for the end of an execution, and return it."""

        def look() -> Json | None:
            found = self.execution(execution_id)
            return found if found["AutomationExecutionStatus"] in ENDED else None

        return self.until(f"the end of {execution_id}", look)

    def answer(self, execution_id: str, signal: str) -> None:
        """Approve or reject when an execution asks."""

        def asks() -> bool:
            return bool(self.execution(execution_id)["AutomationExecutionStatus"] == "Waiting")

        self.until("a request for approval", asks)
        self.client("ssm").send_automation_signal(AutomationExecutionId=execution_id, SignalType=signal)

    def logged(self, group: str) -> list[str]:
        """Return what functions have written to a log group."""
        return [one["message"] for one in pages(self.client("logs"), "filter_log_events", "events", logGroupName=group)]

    def results(self, rule: str) -> list[Json]:
        """Return the results that AWS Config has of a rule."""
        config = self.client("config")
        return pages(config, "get_compliance_details_by_config_rule", "EvaluationResults", ConfigRuleName=rule)

    def endpoints(self, vpc: str) -> list[str]:
        """Return the endpoints of a VPC that are not being deleted."""
        filters = [{"Name": "vpc-id", "Values": [vpc]}]
        found = pages(self.client("ec2"), "describe_vpc_endpoints", "VpcEndpoints", Filters=filters)
        return [one["VpcEndpointId"] for one in found if not one["State"].lower().startswith("delet")]


def _note(model: Any, **_event: object) -> None:  # botocore's, which has no public type
    CALLS.add(f"{model.service_model.service_name}:{model.name}")


def pages(client: Client, operation: str, key: str, **parameters: Json) -> list[Json]:
    """Return all items that a paginated operation lists."""
    return [item for page in client.get_paginator(operation).paginate(**parameters) for item in page.get(key, [])]


def error_code(call: Callable[[], object]) -> str:
    """Return the code of the error with which a call fails, or "none"."""
    try:
        call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "none"
