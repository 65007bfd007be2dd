"""express-path bench get, put, and open: how fast a machine reads and writes objects, by connections or at a rate."""

from collections.abc import Callable
from typing import Annotated

from express_path_cli.aws.options import Quiet
from express_path_instrument.bench import options as shared
from express_path_instrument.bench.plan import (
    MOST_CONNECTIONS,
    MOST_RATE,
    How,
    Where,
    length_of_steps,
    parse_numbers,
    parse_size,
)
from express_path_instrument.bench.results import Kind
from express_path_instrument.bench.session import bench_session
from express_path_instrument.bench.steps import Operation, Prefixes, measure_closed_loop, measure_open_loop

EXAMPLES = """
express-path bench get fast--use1-az4--x-s3 --output before.json  # reads of 32 MB, by 1 to 64 connections
express-path bench put fast--use1-az4--x-s3 --size 64KiB --connections 16 --repeats 5  # writes of small objects
express-path bench get lab --endpoint-url http://127.0.0.1:7070 --duration 5  # a lab
express-path bench open fast--use1-az4--x-s3 --rate 1000,5000,20000 --output open.json  # reads of 64 KiB
express-path bench open my-bucket --operation put --size 16B --rate 10000 --duration 1900 --connections 1000 --allow-errors  # throttling
"""


def _command(kind: Kind, what: str, reads: str, read: str) -> Callable[..., None]:
    """Return the function of one subcommand. Both have the same options."""

    def measure(
        *,
        bucket: shared.BucketName,
        endpoint_url: shared.EndpointUrl = None,
        region: shared.Region = None,
        profile: shared.Profile = None,
        zone_id: shared.ZoneId = None,
        subnet: shared.Subnet = None,
        connections: shared.Connections = "1,8,16,32,48,64",
        size: shared.Size = "32MB",
        objects: shared.Objects = 16,
        warm_up: shared.WarmUp = 2,
        duration: shared.Duration = None,
        count: shared.Count = None,
        repeats: shared.Repeats = 3,
        timeout: shared.Timeout = 60,
        processes: shared.Processes = 1,
        allow_other_zone: shared.AllowOtherZone = False,
        allow_errors: shared.AllowErrors = False,
        output: shared.Output = None,
        quiet: Quiet = False,
    ) -> None:
        where = Where(
            bucket=bucket,
            endpoint_url=endpoint_url,
            region=region,
            profile=profile,
            zone_id=zone_id,
            allow_other_zone=allow_other_zone,
            subnet_id=subnet,
        )
        seconds = length_of_steps(duration, count)
        how = How(
            object_bytes=parse_size(size),
            objects=objects,
            warm_up=warm_up,
            seconds=seconds,
            count=count,
            repeats=repeats,
            timeout=timeout,
            processes=processes,
            allow_errors=allow_errors,
        )
        numbers = parse_numbers("--connections", connections, MOST_CONNECTIONS)
        with bench_session(where, how, quiet=quiet) as session:
            shared.show(measure_closed_loop(session, kind, numbers), output)

    measure.__doc__ = f"""Measure {what} a bucket: throughput and latency.

    Each connection {reads} the next object as soon as it has {read} one (a closed loop). The objects are the command's
    own, and it deletes them at the end, also after Ctrl-C. A failed request makes the result invalid. Exit status: 0
    measured, 2 invalid, or something could not be determined.
    """
    return measure


bench_get = _command(Kind.GET, "reads from", "reads", "read")
bench_put = _command(Kind.PUT, "writes to", "writes", "written")


Rates = Annotated[
    str,
    shared.load("--rate", metavar="NUMBER,...", help="How many requests to start in each second, one step for each."),
]
Requests = Annotated[Operation, shared.load("--operation", help="What each request does.")]
PrefixScheme = Annotated[
    Prefixes,
    shared.load(
        help="How the keys of two tenants start: with a common prefix, or each tenant's with another character."
    ),
]
MostConnections = Annotated[
    int,
    shared.load(
        min=1,
        max=MOST_CONNECTIONS,
        metavar="NUMBER",
        help="The most requests in flight. If all connections are busy, requests wait, which is part of their latency.",
    ),
]


def bench_open(
    *,
    bucket: shared.BucketName,
    endpoint_url: shared.EndpointUrl = None,
    region: shared.Region = None,
    profile: shared.Profile = None,
    zone_id: shared.ZoneId = None,
    subnet: shared.Subnet = None,
    rate: Rates = "100,300,1000,3000",
    operation: Requests = Operation.GET,
    prefixes: PrefixScheme = Prefixes.COMMON,
    connections: MostConnections = 64,
    size: shared.Size = "64KiB",
    objects: shared.Objects = 256,
    warm_up: shared.WarmUp = 2,
    duration: shared.Duration = None,
    repeats: shared.Repeats = 1,
    timeout: shared.Timeout = 60,
    processes: shared.Processes = 1,
    allow_other_zone: shared.AllowOtherZone = False,
    allow_errors: shared.AllowErrors = False,
    output: shared.Output = None,
    quiet: Quiet = False,
) -> None:
    """Measure latency and throttling at constant request rates.

    The latency counts from the time at which a request was to be sent. If the server stalls, the requests that had to
    wait show it, which a closed loop hides. The file has the status codes of each second. Exit status: 0 measured,
    2 invalid, or something could not be determined.
    """
    rates = parse_numbers("--rate", rate, MOST_RATE)
    where = Where(
        bucket=bucket,
        endpoint_url=endpoint_url,
        region=region,
        profile=profile,
        zone_id=zone_id,
        allow_other_zone=allow_other_zone,
        subnet_id=subnet,
    )
    seconds = length_of_steps(duration, None)
    how = How(
        object_bytes=parse_size(size),
        objects=objects,
        warm_up=warm_up,
        seconds=seconds,
        repeats=repeats,
        timeout=timeout,
        processes=processes,
        allow_errors=allow_errors,
    )
    with bench_session(where, how, quiet=quiet) as session:
        shared.show(measure_open_loop(session, operation, rates, connections, prefixes), output)
