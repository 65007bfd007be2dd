"""What the table of a scan shows of a row of the worklist, and of a group of subnets."""

from collections.abc import Callable, Iterable, Sequence

from express_path.domain.findings.texts import path_text
from express_path.domain.path.reasons import Reason
from express_path.domain.remedy.texts import how_to_find_out
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.baseline import Mark
from express_path_cli.findings.grouping import Group, Grouping
from express_path_cli.findings.result import Result, is_flagged
from express_path_cli.findings.row import ResourceLabels
from express_path_cli.findings.worklist import Task, WorklistRow
from express_path_cli.terminal.tables import Layout, Record

PLACE = ("Account", "Region")
"""The titles of the columns that are not shown if all rows have the same values."""
ROW_LAYOUTS: Sequence[Layout] = (
    [("Subnets", "New"), ("Route table", "Table name"), ("VPC", "VPC name"), ("Reason", "NAT"), PLACE],
    [("Subnets", "New"), ("Route table", "Reason", "Table name"), ("VPC", "NAT", "VPC name"), PLACE],
)
"""The rows of the worklist in about 100 and in 80 columns, with whole IDs."""


def row_record(row: WorklistRow, labels: ResourceLabels, result: Result) -> Record:
    """Return a row of the worklist, with the selected tags, and what to do if no remedy is shown for it."""
    names = labels.names(row.verdicts[0])
    cells: dict[str, Sequence[str]] = {
        "Subnets": [str(len(row.verdicts))],
        **_new(row, result),
        "Reason": [row.reason],
        "Route table": [row.route_table_id or "unknown"],
        "Table name": [names.route_table],
        "VPC": [row.vpc_id],
        "VPC name": [names.vpc],
        "Account": [row.account_id],
        "Region": [row.region],
    }
    if is_flagged(row.verdicts[0]):
        cells["NAT"] = row.nat_ids
    return Record(cells, _tags(row, labels, result.tag_keys) | _notes(row))


def _new(row: WorklistRow, result: Result) -> dict[str, Sequence[str]]:
    """Return how many subnets of a row have a finding that the baseline does not have; empty without a baseline."""
    if result.comparison is None:
        return {}
    return {"New": [str(sum(result.mark(verdict) is Mark.NEW for verdict in row.verdicts))]}


def _tags(row: WorklistRow, labels: ResourceLabels, tag_keys: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the values that the subnets of a row have for each selected tag."""
    if not tag_keys:
        return {}
    tags = [labels.tags(verdict) for verdict in row.verdicts]
    return {key: list(dict.fromkeys(of_subnet[key] for of_subnet in tags if key in of_subnet)) for key in tag_keys}


def _notes(row: WorklistRow) -> dict[str, Sequence[str]]:
    if row.reason is Reason.DROPPED:
        return {
            "Path": _distinct(row.verdicts, path_text),
            "To fix": _distinct(row.verdicts, lambda verdict: verdict.note),
        }
    if row.reason is Reason.UNRESOLVED_EGRESS:
        return {
            "Path": _distinct(row.verdicts, path_text),
            "Unknown": _distinct(row.verdicts, lambda verdict: verdict.note),
            "To find out": _distinct(row.verdicts, how_to_find_out),
        }
    return {}


def _distinct(verdicts: Iterable[Verdict], text: Callable[[Verdict], str]) -> list[str]:
    return list(dict.fromkeys(map(text, verdicts)))


def group_layouts(grouping: Grouping) -> Sequence[Layout]:
    """Return how the groups are shown in 80 columns."""
    what, where = grouping.titles[:2], grouping.titles[2:]
    return ([what, where, ("Subnets", "Route tables"), ("NON_COMPLIANT",), ("DROPPED", "Unresolved")],)


def group_record(group: Group, grouping: Grouping) -> Record:
    """Return how many subnets of a group need work, and how many route tables the NON_COMPLIANT ones have."""
    numbers = {
        "Subnets": len(group.verdicts),
        "NON_COMPLIANT": group.flagged,
        "Route tables": group.route_tables,
        "DROPPED": group.dropped,
        "Unresolved": group.unresolved,
    }
    values = dict(zip(grouping.titles, group.values, strict=True))
    return Record({title: [str(value)] for title, value in (values | numbers).items()})


def task_subnets(task: Task, reason: Reason) -> str:
    """Return how many subnets a task fixes, and how many of them have another reason than this one."""
    others = [f"{number} of them {other}" for other, number in task.subnets if other is not reason]
    return ", ".join([subnets(task.number), *others])


def subnets(number: int) -> str:
    """Return a number of subnets."""
    return f"{number} subnet{'' if number == 1 else 's'}"
