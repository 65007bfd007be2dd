"""Read the JSON document of a measurement. It is read strictly: a damaged file must not change a comparison."""

import math
from datetime import UTC, datetime
from pathlib import Path

from express_path.errors import RecordError
from express_path.fields import Description, free_text, nested, number, optional_free_text, rows
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import WrittenBy, read_json
from express_path_instrument.bench.results import (
    SCHEMA_VERSION,
    TIME,
    BenchResult,
    Client,
    Kind,
    Latency,
    MeasuredPath,
    SecondStatuses,
    Step,
    Target,
)

_DOCUMENT = "the measurement"
_WRITTEN_BY = WrittenBy(
    "output of express-path bench", "express-path bench get BUCKET --output", SCHEMA_VERSION, ["kind", "steps"]
)


def read_bench(file: Path) -> BenchResult:
    """Return the measurement in a file that `express-path bench --output` wrote. Raise OptionError for any other."""
    document = read_json(file, _WRITTEN_BY)
    try:
        return _result(document)
    except RecordError as error:
        raise OptionError(f"{file}: {error}", _WRITTEN_BY.hint(file)) from error


def _result(document: Description) -> BenchResult:
    client, target = nested(document, "client", _DOCUMENT), nested(document, "target", _DOCUMENT)
    steps = rows(document, "steps", _DOCUMENT)
    if not steps:
        raise RecordError(_DOCUMENT, "steps", steps, "a list with at least one step")
    return BenchResult(
        kind=_kind(document),
        made_at=_time(document),
        path=_path(document),
        client=Client(
            optional_free_text(client, "instanceType", "client"),
            number(client, "cpus", "client") or 0,
            optional_free_text(client, "engine", "client"),
            optional_free_text(client, "engineVersion", "client"),
        ),
        target=Target(
            free_text(target, "bucket", "target"),
            optional_free_text(target, "endpoint", "target"),
            optional_free_text(target, "zoneId", "target"),
        ),
        object_bytes=_count(document, "objectBytes", _DOCUMENT),
        repeats=_count(document, "repeats", _DOCUMENT),
        steps=tuple(_step(row, f"step {position}") for position, row in enumerate(steps, start=1)),
        invalid_reason=_invalid_reason(document),
    )


def _kind(document: Description) -> Kind:
    try:
        return Kind(free_text(document, "kind", _DOCUMENT))
    except ValueError as error:
        raise RecordError(_DOCUMENT, "kind", document.get("kind"), f"one of {', '.join(Kind)}") from error


def _time(document: Description) -> datetime:
    found = free_text(document, "madeAt", _DOCUMENT)
    try:
        return datetime.strptime(found, TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise RecordError(_DOCUMENT, "madeAt", found, "a time in UTC such as 2026-03-01T09:30:00Z") from error


def _path(document: Description) -> MeasuredPath | None:
    found = nested(document, "path", _DOCUMENT)
    if not found:
        return None
    hops = found.get("hops", [])
    if not isinstance(hops, list) or not all(isinstance(hop, str) for hop in hops):
        raise RecordError("path", "hops", hops, "a list of strings")
    return MeasuredPath(free_text(found, "verdict", "path"), free_text(found, "reason", "path"), tuple(hops))


def _invalid_reason(document: Description) -> str:
    """Return why the measurement is invalid. A document that does not say that it is valid is not."""
    if document.get("valid") is True:
        return ""
    return optional_free_text(document, "invalidReason", _DOCUMENT) or "no reason is given"


def _step(row: Description, name: str) -> Step:
    latency = nested(row, "latencyMs", name)
    return Step(
        repeat=_count(row, "repeat", name),
        seconds=_amount(row, "seconds", name),
        requests=_count(row, "requests", name),
        bytes=_count(row, "bytes", name),
        gbps=_amount(row, "gbps", name),
        requests_per_second=_amount(row, "requestsPerSecond", name),
        latency=Latency(**{field: _optional_amount(latency, field, name) for field in Latency.__dataclass_fields__}),
        connections=number(row, "connections", name),
        rate_per_second=_optional_amount(row, "ratePerSecond", name),
        cpu_percent=_optional_amount(row, "cpuPercent", name),
        other_cpu_percent=_optional_amount(row, "otherCpuPercent", name),
        errors=_counts(nested(row, "errors", name), name),
        statuses=tuple(_second(second, name) for second in rows(row, "statusOverTime", name)),
        unfinished=number(row, "unfinished", name) or 0,
        oldest_unfinished_ms=_optional_amount(row, "oldestUnfinishedMs", name),
        hangs=row.get("hangs") is True,
        unsent=number(row, "unsent", name) or 0,
        lag_p99_ms=_optional_amount(row, "lagP99Ms", name),
        server_p99_ms=_optional_amount(row, "serverP99Ms", name),
    )


def _second(row: Description, name: str) -> SecondStatuses:
    counts = {status: count for status, count in row.items() if status != "second"}
    return SecondStatuses(_count(row, "second", name), _counts(counts, name))


def _counts(found: Description, name: str) -> dict[str, int]:
    return {status: _count(found, status, name) for status in found}


def _count(row: Description, field: str, name: str) -> int:
    found = number(row, field, name)
    if found is None or found < 0:
        raise RecordError(name, field, found, "a whole number, 0 or more")
    return found


def _amount(row: Description, field: str, name: str) -> float:
    found = _optional_amount(row, field, name)
    if found is None:
        raise RecordError(name, field, found, "a number, 0 or more")
    return found


def _optional_amount(row: Description, field: str, name: str) -> float | None:
    found = row.get(field)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found) or found < 0:
        raise RecordError(name, field, found, "a number, 0 or more")
    return float(found)
