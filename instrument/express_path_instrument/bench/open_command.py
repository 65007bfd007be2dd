"""express-path bench open: latency and throttling at constant request rates."""

from typing import Annotated

import typer

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
from express_path_instrument.bench.session import bench_session
from express_path_instrument.bench.steps import Operation, Prefixes, measure_open_loop

EXAMPLES = """
express-path bench open fast--use1-az4--x-s3 --rate 1000,5000,20000 --output open.json  # reads of 64 KiB
express-path bench open my-bucket --operation put --size 16B --rate 10000 --duration 1900 --connections 1000 --allow-errors  # throttling
"""
Rates = Annotated[
    str,
    typer.Option(
        "--rate",
        metavar="NUMBER,...",
        help="How many requests to start in each second, one step for each.",
        rich_help_panel=shared.LOAD,
    ),
]
Requests = Annotated[
    Operation, typer.Option("--operation", help="What each request does.", rich_help_panel=shared.LOAD)
]
PrefixScheme = Annotated[
    Prefixes,
    typer.Option(
        help="How the keys of two tenants start: with a common prefix, or each tenant's with another character.",
        rich_help_panel=shared.LOAD,
    ),
]
MostConnections = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_CONNECTIONS,
        metavar="NUMBER",
        help="The most requests in flight. If all connections are busy, requests wait, which is part of their latency.",
        rich_help_panel=shared.LOAD,
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
    """Measure latency and throttling at constant request rates, as when users do not wait for each other.

    The latency counts from the time at which a request was to be sent. If the server stalls, the requests that had to
    wait show it, which a closed loop hides. The file has the status codes of each second. Exit status: 0 measured,
    2 invalid, or something could not be determined.
    """
    rates = parse_numbers("--rate", rate, MOST_RATE)
    where = Where(bucket, endpoint_url, region, profile, zone_id, allow_other_zone, subnet)
    seconds = length_of_steps(duration, None)
    how = How(parse_size(size), objects, warm_up, seconds, None, repeats, timeout, processes, allow_errors)
    with bench_session(where, how, quiet=quiet) as session:
        shared.show(measure_open_loop(session, operation, rates, connections, prefixes), output)
