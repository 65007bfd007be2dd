"""Where this machine is: what the EC2 instance metadata says, and the path of its subnet."""

import os
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from express_path.adapters.aws import Aws
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.aws.sessions import AccountRegion
from express_path_instrument.bench.results import MeasuredPath

_TIMEOUT = 1
_TOKEN_SECONDS = 60
_OK = 200


@dataclass(frozen=True, slots=True)
class Instance:
    """This machine. Everything is empty if it is no EC2 instance, or if its metadata cannot be read."""

    instance_type: str = ""
    zone_id: str = ""
    subnet_id: str = ""


def read_instance() -> Instance:
    """Read the instance metadata with a session token (IMDSv2).

    It is connected to directly, without a proxy, for at most a second for each of five reads.
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
    """
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return Instance()
    service = urlsplit(os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254")
    try:
        with closing(HTTPConnection(service.hostname or "", service.port, timeout=_TIMEOUT)) as connection:
            return _read_instance(connection)
    except (OSError, HTTPException):
        return Instance()


def _read_instance(connection: HTTPConnection) -> Instance:
    age = {"X-aws-ec2-metadata-token-ttl-seconds": str(_TOKEN_SECONDS)}
    token = {"X-aws-ec2-metadata-token": _read(connection, "PUT", "api/token", age)}
    mac = _read(connection, "GET", "meta-data/mac", token)
    return Instance(
        _read(connection, "GET", "meta-data/instance-type", token),
        _read(connection, "GET", "meta-data/placement/availability-zone-id", token),
        _read(connection, "GET", f"meta-data/network/interfaces/macs/{mac}/subnet-id", token),
    )


def _read(connection: HTTPConnection, method: str, name: str, headers: dict[str, str]) -> str:
    connection.request(method, f"/latest/{name}", headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", errors="replace").strip()
    if answer.status != _OK:
        raise HTTPException(f"{name}: status {answer.status}")
    return text


def read_path(aws: Aws, subnet_id: str) -> MeasuredPath | None:
    """Return the verdict on a subnet, or None if it cannot be read: a measurement does not need it."""
    parameters = RuleParameters()
    try:
        account_region = AccountRegion.of_caller(aws)
        reader = SnapshotReader(aws)
        vpc_id = reader.vpc_of(subnet_id)
        if vpc_id is None:
            return None
        snapshot = reader.read(account_region.account_id, vpc_id, parameters)
    except ApiError:
        return None
    verdict = Evaluator(Tracer(snapshot), parameters).verdict(subnet_id)
    hops = tuple(f"{hop.kind} {hop.id}" for hop in verdict.path)
    return MeasuredPath(verdict.compliance, verdict.reason, hops)
