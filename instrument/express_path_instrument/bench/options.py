"""The options that the commands of `bench` share."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, say
from express_path_cli.terminal.files import STDOUT, check_output, write_file
from express_path_cli.terminal.tables import Terminal
from express_path_instrument.bench.results import BenchResult, as_bench_json
from express_path_instrument.bench.tables import as_bench_table

load = partial(typer.Option, rich_help_panel="What to send")
safety = partial(typer.Option, rich_help_panel="What is allowed")
"""An option in a panel of --help."""

BucketName = Annotated[str, typer.Argument(metavar="BUCKET", help="A directory bucket, or a general purpose bucket.")]
EndpointUrl = Annotated[
    str | None,
    options.where(metavar="URL", help="A lab's S3 server at a loopback or private address, instead of AWS."),
]
Region = options.Region
Profile = options.Profile
ZoneId = Annotated[
    str | None,
    options.where(
        metavar="ID",
        help="The zone ID of this machine, such as use1-az4. Default: read from the EC2 instance metadata.",
    ),
]
Subnet = Annotated[
    str | None,
    options.where(
        metavar="SUBNET",
        help="The subnet of this machine, whose path is reported. Default: read from the EC2 instance metadata.",
    ),
]
Connections = Annotated[
    str,
    load(metavar="NUMBER,...", help="How many connections to use, one step for each number."),
]
Duration = Annotated[
    float | None,
    load(min=0.1, metavar="SECONDS", help="How long each step is measured. Default: 10."),
]
Count = Annotated[
    int | None,
    load(min=1, metavar="NUMBER", help="Measure this many requests in each step, not a duration."),
]
Size = Annotated[
    str,
    load(metavar="SIZE", help="The size of each object, such as 64KiB or 10MB."),
]
Objects = Annotated[
    int,
    load(min=1, max=1_000_000, metavar="NUMBER", help="How many objects to use."),
]
WarmUp = Annotated[
    float,
    load(min=0, metavar="SECONDS", help="How long a step runs before it is measured."),
]
Repeats = Annotated[
    int,
    load(min=1, max=100, metavar="NUMBER", help="How often to measure every step."),
]
Timeout = Annotated[
    float,
    load(min=0.1, metavar="SECONDS", help="After how long without data a request fails, or, after a step, hangs."),
]
Processes = Annotated[
    int,
    load(min=1, max=1024, metavar="NUMBER", help="How many processes send requests."),
]
AllowOtherZone = Annotated[
    bool,
    safety("--allow-other-zone", help="Measure although the bucket is in another zone."),
]
AllowErrors = Annotated[
    bool,
    safety("--allow-errors", help="Continue after failed requests, and count the result as valid."),
]
Output = Annotated[
    Path | None,
    options.how(
        "--output",
        "-o",
        callback=check_output,
        metavar="FILE",
        help="Also write the result to this file, as JSON; - writes it to standard output instead of the table.",
    ),
]


def show(results: Iterable[BenchResult], output: Path | None) -> None:
    """Write each result to the file, print the table of the last one, and end with status 2 if it is invalid.

    Each result has one step more than the one before it. So if something interrupts the measurement, what was measured
    until then is in the file and in the table. The cleanup, which can take long, comes later.
    """
    result = None
    try:
        for result in results:
            if output and output != STDOUT:
                write_file(output, [as_bench_json(result)])
    finally:
        if result and output == STDOUT:
            echo(as_bench_json(result), nl=False)
        elif result:
            Terminal().print(as_bench_table(result))
    if result and not result.valid:
        hint = " (add --allow-errors to count failed requests)" if any(step.errors for step in result.steps) else ""
        say(f"the measurement is invalid: {result.invalid_reason}{hint}")
        raise typer.Exit(UNDETERMINED)
