"""Where a run takes place: an account and a Region at AWS, or the sandbox. All calls of a run are made from here."""

import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

Found = TypeVar("Found")
Client = Any
"""A boto3 client of any service."""
TAG = "express-path:acceptance"
"""The key of the tag, whose value is the run's id, of everything that can have a tag."""
SANDBOX = "AWS_ENDPOINT_URL"
"""The variable that leads to the sandbox: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html."""
LONGEST_SECONDS = {"sandbox": 180, "AWS": 1800}
"""How long AWS may take for one thing: AWS Config reports a change within minutes, and deploys take several."""
CALLS: set[str] = set()
"""The operations that this process has called in any place, as "service:Operation"."""
POLL_SECONDS = {"sandbox": 0.25, "AWS": 10}


class NeverHappenedError(Exception):
    """What a run waited for did not happen: `what`, after `seconds`."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"after {seconds:.0f} seconds, still not: {what}")
        self.what = what
        self.seconds = seconds


@dataclass
class Place:
    """The account and Region of one run."""

    run: str
    session: boto3.session.Session
    name: str
    _clients: dict[tuple[str, ...], Client] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note every call before it is sent."""
        self.session.events.register("before-call", self._note)
        self.region = str(self.session.region_name)
        self.account_id = self.client("sts").get_caller_identity()["Account"]

    @classmethod
    def connect(cls, environment: Mapping[str, str] = os.environ) -> "Place":
        """Connect to the sandbox if a variable leads to it, and else to the account of PROFILE in REGION."""
        run = environment.get("RUN") or secrets.token_hex(4)
        if SANDBOX in environment:
            return cls(run, boto3.session.Session(), "sandbox")
        session = boto3.session.Session(profile_name=environment["PROFILE"], region_name=environment["REGION"])
        return cls(run, session, "AWS")

    @property
    def stack_name(self) -> str:
        """The name of the run's stack, with which the names of all its resources begin."""
        return f"express-path-acceptance-{self.run}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of tools that are to work in this place."""
        if self.name == "sandbox":
            return dict(os.environ)
        return {**os.environ, "AWS_PROFILE": self.session.profile_name, "AWS_REGION": self.region}

    @property
    def tags(self) -> list[dict[str, str]]:
        """The tag of the run, as most services take it."""
        return [{"Key": TAG, "Value": self.run}]

    def tagged(self, kind: str) -> list[dict[str, Any]]:
        """Return the TagSpecifications of a call of EC2 that creates a resource of a kind, such as `vpc`."""
        return [{"ResourceType": kind, "Tags": self.tags}]

    def client(self, service: str, **credentials: str) -> Client:
        """Return the client of a service, with this place's credentials or others."""
        key = (service, *credentials.values())
        if key not in self._clients:
            config = Config(retries={"mode": "adaptive", "total_max_attempts": 8}, read_timeout=900)
            self._clients[key] = self.session.client(service, config=config, **credentials)  # type: ignore[call-overload]
        return self._clients[key]

    def until(self, what: str, look: Callable[[], Found | None], seconds: float | None = None) -> Found:
        """Look until there is something, and return it. NeverHappenedError after `seconds`, or this place's limit."""
        limit = seconds or LONGEST_SECONDS[self.name]
        start = time.monotonic()
        while not (found := look()):
            if time.monotonic() - start > limit:
                raise NeverHappenedError(what, limit)
            time.sleep(POLL_SECONDS[self.name])
        return found

    def _note(self, model: Any, **_event: object) -> None:  # botocore's, which has no public type
        CALLS.add(f"{model.service_model.service_name}:{model.name}")


def pages(client: Client, operation: str, key: str, **parameters: Any) -> list[Any]:  # JSON
    """Return all items that a paginated operation lists."""
    return [item for page in client.get_paginator(operation).paginate(**parameters) for item in page.get(key, [])]


def error_code(call: Callable[[], object]) -> str:
    """Return the code of the error with which a call fails, or "none"."""
    try:
        call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "none"


def is_gone(error: ClientError) -> bool:
    """Return whether an error says that what was to be deleted does not exist."""
    text = f"{error.response['Error']['Code']} {error.response['Error'].get('Message')}"
    return re.search(r"not ?found|not ?exist|NoSuch|NonExistent|NotPresent", text, re.IGNORECASE) is not None
