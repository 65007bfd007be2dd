"""The sandbox itself: moto's threaded server on a loopback port, corrected, logged, and able to fail on demand."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from copy import copy
from threading import Lock
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import config_rule_sandbox.patching.early_import  # noqa: F401  # before other modules import moto's

# isort: split
import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from moto.core.authorization import enable_iam_authentication
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_api._internal.models import moto_api_backend

from config_rule_sandbox.answers import given
from config_rule_sandbox.calls import CallLog
from config_rule_sandbox.cloudwatch.metrics import Metrics
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ec2 import Ec2
from config_rule_sandbox.eventbridge.buses import EventBridge
from config_rule_sandbox.faults import Faults
from config_rule_sandbox.http.in_memory import Application, serve
from config_rule_sandbox.http.web_server import WebServer
from config_rule_sandbox.logs.queries import Logs
from config_rule_sandbox.patching import corrections
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.pricing.price_list import Prices
from config_rule_sandbox.stale_reads import Observation, StaleReads
from config_rule_sandbox.tracing import trace_no_calls

LONGEST_CALL_SECONDS = 900
"""How long clients wait for an answer: as long as a function may run, and so longer than botocore's 60 seconds.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-timeout.html
"""
CREDENTIALS = {
    "aws_access_key_id": "ASIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key": "sandbox",
    "aws_session_token": "sandbox",
}
"""Credentials of the sandbox's own account; nothing checks them unless IAM enforcement is switched on."""

_running = Lock()


class Sandbox:
    """An AWS on 127.0.0.1, used as a context manager; only one runs in a process, because moto's state is global.

    `endpoint_url` is known once it runs; `account_id` owns everything made with default credentials; `calls` is the
    call log, `faults` makes operations fail, `reads` makes reads stale, `ec2` holds the knobs of the EC2 corrections
    and the sharing of subnets, `metrics` records metrics of AWS's services, `logs` has the knobs of Logs
    Insights, `prices` lists prices, `eventbridge` has the functions and knobs of EventBridge, and `answers` says what AWS
    does where its documentation leaves that open.
    """

    def __init__(self, region: str = "us-east-1") -> None:
        """Prepare a sandbox whose default Region is `region`; nothing runs and nothing is changed yet."""
        self.region = region
        self.account_id: str = DEFAULT_ACCOUNT_ID
        self.endpoint_url = ""
        self.calls = CallLog()
        self.faults = Faults()
        self.ec2 = Ec2()
        self.metrics = Metrics(self.account_id, region)
        self.logs = Logs()
        self.eventbridge = EventBridge()
        self.prices = Prices()
        self.answers = given()
        self._patches = Patches()
        # One session for all clients, as it reads the models from disk once; making clients is not safe among threads.
        self._session = boto3.session.Session()
        self._session.events.register("before-send", self.answer)  # type: ignore[arg-type]  # a handler may answer
        self._session.events.register("creating-client-class", trace_no_calls)
        self._making_clients = Lock()
        self._clients: dict[tuple[str, ...], Client] = {}
        self.reads = StaleReads()
        self._server = WebServer(self.calls, self.faults, self.prices, self.reads)

    def __enter__(self) -> Self:
        """Apply the corrections, empty every backend and start serving. RuntimeError if another one is running."""
        if not _running.acquire(blocking=False):
            raise RuntimeError("a sandbox is already running in this process")
        from config_rule_sandbox.cloudformation.stack_set_calls import (  # noqa: PLC0415  # it imports this module
            StackSets,
        )

        try:
            corrections.apply(self._patches)
            self.ec2.apply(self._patches)
            self.metrics.apply(self._patches)
            self.logs.apply(self._patches)
            self.eventbridge.apply(self._patches)
            StackSets(self).apply(self._patches)
            self.reset()
            self._server.start()
        except BaseException:
            self._patches.undo()
            _running.release()
            raise
        self.endpoint_url = "http://{}:{}".format(*self._server.get_host_and_port())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving, empty every backend and undo the corrections."""
        self._server.stop()
        self.reset()
        self._patches.undo()
        _running.release()

    def reset(self) -> None:
        """Empty every backend, lift all faults, forget all calls and knobs. AWS-owned resources are there again."""
        self.faults.clear()
        self.ec2.reset()
        self.metrics.reset()
        self.logs.reset()
        self.eventbridge.reset()
        self.prices.reset()
        self.answers.reset()
        moto_api_backend.reset()
        self.calls.clear()
        # Sessions of roles end here, so nobody uses their clients again.
        own = tuple(CREDENTIALS.values())
        self._clients = {key: client for key, client in self._clients.items() if key[3:] == own}

    def seen_from(self, account_id: str, region: str) -> "Sandbox":
        """Return this running sandbox with another default account and Region, for what AWS does there.

        Its `client` still has the credentials of the sandbox's own account.
        """
        seen = copy(self)
        seen.account_id, seen.region = account_id, region
        return seen

    @property
    def application(self) -> Application:
        """The WSGI application behind `endpoint_url`, for requests of this process that need no socket."""
        return self._server.application

    def answer(self, request: AWSPreparedRequest, **_event: object) -> AWSResponse | None:
        """Answer a request of this process that is for this sandbox. Handlers of botocore's event before-send may do that.

        Return None for a request to another address, which botocore then sends.
        """
        if not self.endpoint_url or urlsplit(str(request.url)).netloc != urlsplit(self.endpoint_url).netloc:
            return None
        return serve(self.application, request)

    def client(self, service: str, region: str | None = None, credentials: Mapping[str, str] | None = None) -> Client:
        """Return a boto3 client of this sandbox. `credentials` are boto3's keyword arguments, see `credentials()`.

        Retries are off, so that a fault shows at once; the code under test makes its own clients. Clients
        are kept, because making one takes much longer than a call.
        """
        wanted = dict(credentials or CREDENTIALS)
        region_name = region or self.region
        key = (self.endpoint_url, service, region_name, *wanted.values())
        with self._making_clients:
            if key not in self._clients:
                self._clients[key] = self._session.client(
                    service,  # type: ignore[call-overload]
                    region_name=region_name,
                    endpoint_url=self.endpoint_url,
                    config=Config(
                        retries={"total_max_attempts": 1},
                        read_timeout=LONGEST_CALL_SECONDS,
                        max_pool_connections=64,
                        s3={"addressing_style": "path", "disable_s3_express_session_auth": True},  # type: ignore[arg-type]
                    ),
                    **wanted,
                )
            return self._clients[key]

    def credentials(self, account_id: str) -> dict[str, str]:
        """Return credentials of another account (12 digits), by assuming a role there."""
        return self.assume(f"arn:aws:iam::{account_id}:role/sandbox")

    def assume(self, role_arn: str) -> dict[str, str]:
        """Return the credentials of a session of a role, for `client()`; the role need not exist."""
        answer = self.client("sts").assume_role(RoleArn=role_arn, RoleSessionName="sandbox")["Credentials"]
        return {
            "aws_access_key_id": answer["AccessKeyId"],
            "aws_secret_access_key": answer["SecretAccessKey"],
            "aws_session_token": answer["SessionToken"],
        }

    def enforcing_iam(self) -> AbstractContextManager[None]:
        """Return a context in which every request needs a permission: real access keys or roles, and their policies.

        Credentials from `assume()` keep working within the policies of their role.
        """
        return enable_iam_authentication()

    def stale_reads(self, operation: str, nth: int | None = None) -> AbstractContextManager[Observation]:
        """Return a context in which one read of an operation such as `ec2:DescribeRouteTables` misses the last change.

        `nth` counts its calls from 1 within the context; without it, the first call is meant whose answer the last
        change made another one. Strongly consistent reads of DynamoDB are never stale.
        """
        return self.reads.observe(operation, nth)

    def observed_reads(self) -> AbstractContextManager[Observation]:
        """Return a context that notes every read of EC2 and DynamoDB, and which of them a missed change would alter."""
        return self.reads.observe()

    def environment(self) -> dict[str, str]:
        """Return the environment variables that point any AWS SDK, the handler and the command at this sandbox.

        https://docs.aws.amazon.com/sdkref/latest/guide/settings-reference.html. Session authentication of S3 Express
        is off, because it wants one host for each zone.
        """
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            **{name.upper(): value for name, value in CREDENTIALS.items()},
            "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH": "true",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
