"""Queries of Logs Insights, as far as the dashboard uses them.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html. Another command raises ValueError.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

Row = dict[str, Any]
COMPARISON = re.compile(r'([\w.]+) = "([^"]*)"')


def value(row: Row, name: str) -> Any:
    """Return a field of a log line, also of an object in it (a.b), or None."""
    if name in row:
        return row[name]
    first, _, rest = name.partition(".")
    return value(row[first], rest) if rest and isinstance(row.get(first), dict) else None


def run(query: str, rows: Iterable[Row]) -> list[Row]:
    """Return the rows that a query over log lines returns. The field @log names the log group."""
    _, *commands = query.split(" | ")
    found = [{**row, "@message": json.dumps(row)} for row in rows]
    for command in commands:
        name, _, argument = command.partition(" ")
        found = COMMANDS[name](argument, found)
    return found


def _filter(condition: str, rows: list[Row]) -> list[Row]:
    if not set(re.sub(r"[()]", "", COMPARISON.sub("", condition)).split()) <= {"and", "or"}:
        raise ValueError(condition)
    return [row for row in rows if _holds(condition, row)]


def _holds(condition: str, row: Row) -> bool:
    """Return whether comparisons with = hold; "and" binds more than "or"."""
    alternatives = condition.replace("(", "").replace(")", "").split(" or ")
    return any(
        all(str(value(row, name)) == wanted for name, wanted in COMPARISON.findall(alternative))
        for alternative in alternatives
    )


def _fields(argument: str, rows: list[Row]) -> list[Row]:
    if match := re.fullmatch(r'coalesce\((\w+), "(\w+)"\) as (\w+)', argument):
        return [{**row, match[3]: row.get(match[1]) or match[2]} for row in rows]
    if match := re.fullmatch(r"jsonParse\(@message\) as (\w+)", argument):
        return [{**row, match[1]: json.loads(row["@message"])} for row in rows]
    raise ValueError(argument)


def _unnest(argument: str, rows: list[Row]) -> list[Row]:
    name, alias = argument.split(" into ")
    return [{**row, alias: item} for row in rows for item in value(row, name) or []]


AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "count_distinct": lambda values: len(set(values)),
    "latest": lambda values: values[-1],
    "sum": lambda values: sum(filter(None, values)),
}


def _stats(argument: str, rows: list[Row]) -> list[Row]:
    aggregates, _, groups = argument.partition(" by ")
    names = groups.split(", ") if groups else []
    grouped: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        grouped.setdefault(tuple(value(row, name) for name in names), []).append(row)
    return [
        {**dict(zip(names, key, strict=True)), **_aggregated(aggregates, members)} for key, members in grouped.items()
    ]


def _aggregated(aggregates: str, rows: list[Row]) -> Row:
    found = re.findall(r"(\w+)\(([\w.*]+)\) as (\w+)", aggregates)
    return {alias: AGGREGATES[name]([value(row, field) for row in rows]) for name, field, alias in found}


def _sort(argument: str, rows: list[Row]) -> list[Row]:
    name, order = argument.split(" ")
    return sorted(rows, key=partial(_number, name), reverse=order == "desc")


def _number(name: str, row: Row) -> float:
    return float(row[name])


COMMANDS: dict[str, Callable[[str, list[Row]], list[Row]]] = {
    "filter": _filter,
    "fields": _fields,
    "unnest": _unnest,
    "stats": _stats,
    "sort": _sort,
}
