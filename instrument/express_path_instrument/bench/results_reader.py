"""Read the JSON document of a measurement. It is read strictly: a damaged file must not change a comparison."""

from pathlib import Path

from express_path_cli.terminal.documents import read_as
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import WrittenBy, faults_in, read_json
from express_path_instrument.bench.results import SCHEMA_VERSION, BenchResult

_WRITTEN_BY = WrittenBy(
    "output of express-path bench", "express-path bench get BUCKET --output", SCHEMA_VERSION, ["kind", "steps"]
)


def read_bench(file: Path) -> BenchResult:
    """Return the measurement in a file that `express-path bench --output` wrote. Raise OptionError for any other."""
    document = read_json(file, _WRITTEN_BY)
    # A document that does not say that it is valid is not.
    why = "" if document.get("valid") is True else document.get("invalidReason") or "no reason is given"
    whole = {"path": None, **document, "invalidReason": why}
    with faults_in(file, _WRITTEN_BY):
        result = read_as(BenchResult, whole, "the measurement", _name_of)
    if not result.steps:
        raise OptionError(f"{file} has no steps", _WRITTEN_BY.hint(file))
    return result


def _name_of(field: str, place: int, _item: object) -> str:
    return f"{field.removesuffix('s')} {place + 1}"
