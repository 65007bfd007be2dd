"""express-path schema: the JSON Schema of a scan, or of the events that the rule publishes."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.terminal.console import echo

EXAMPLES = """
express-path schema > scan.schema.json  # of the output of scan --format json
express-path schema events > events.schema.json  # of the events that the rule publishes
"""


class Schema(StrEnum):
    """What a JSON Schema describes."""

    SCAN = "scan"
    EVENTS = "events"


FILES = {
    Schema.SCAN: Path(__file__).with_name("scan.schema.json"),
    Schema.EVENTS: Path(__file__).with_name("verdict-event.schema.json"),
}

Described = Annotated[
    Schema,
    typer.Argument(metavar="scan|events", help="What the schema describes. Default: scan.", show_default=False),
]


def schema(*, described: Described = Schema.SCAN) -> None:
    """Print the JSON Schema of a scan, or of the rule's events.

    A scan is the output of `scan --format json`. The schema describes every field. Later versions of express-path may add fields, which do not change schemaVersion.
    """
    echo(FILES[described].read_text(encoding="utf-8"), nl=False)
