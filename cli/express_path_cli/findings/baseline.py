"""Compare a scan with an earlier one, the baseline: which findings are new, unchanged, fixed, or unknown.

A finding is a NON_COMPLIANT subnet. It is identified by account, Region, subnet, and reason.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.parameters import NO_TAG, PARAMETERS, RuleParameters
from express_path_cli.findings.row import Mark, Row
from express_path_cli.findings.scan_file import WRITTEN_BY, FindingId, FindingRow, SubnetRow, findings_of, read_part
from express_path_cli.terminal.documents import Count, Word, one_of
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import faults_in, read_json
from express_path_cli.terminal.texts import count_text

_WITHOUT_A_PATH = frozenset(
    {
        Reason.UNRESOLVED_EGRESS,
        Reason.NOT_OWNED,
        Reason.EXCLUDED,
        Reason.NO_DIRECTORY_BUCKETS,
        Reason.SERVICE_NOT_OFFERED,
        Reason.DELETED,
    }
)
"""The reasons of subnets whose path was not followed to its end. They do not show that a NAT is gone."""


PAST = (Mark.FIXED, Mark.UNKNOWN, Mark.REPLACED)
"""The marks of findings that only the baseline has."""


class Cause(StrEnum):
    """Why a finding that is gone does not count as fixed. The values are for people, the names for JSON."""

    NOT_READ = "its account and Region were not read"
    NOT_SELECTED = "the subnet was not selected"
    NOT_LISTED = "the subnet is no longer listed"
    PATH_UNKNOWN = "its path is not known"
    DROPPED = "AWS drops its traffic now"
    OTHER_PARAMETERS = "the rule parameters were different"


@dataclass(frozen=True, slots=True)
class PastFinding:
    """A finding of the baseline that this scan does not have: FIXED, UNKNOWN, or REPLACED.

    now: the subnet's row in this scan, None if it was not evaluated. cause: why the finding is UNKNOWN.
    """

    finding: FindingId
    vpc_id: str
    mark: Mark
    now: Row | None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a scan covered.

    accounts: the accounts and Regions that it read, such as "111122223333 us-east-1". filters: its --vpc and --tag
    options. parameters: its rule parameters by name, those with a value.
    """

    accounts: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The findings of an earlier scan, each with its VPC.

    coverage: what that scan covered, None for the network of a plan. not_read: the places that it could not read.
    """

    findings: Mapping[FindingId, str]
    coverage: Coverage | None = None
    not_read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the findings of a scan differ from those of the baseline. past: sorted by account, Region and subnet."""

    new: Sequence[Row]
    unchanged: Sequence[Row]
    past: Sequence[PastFinding]
    marks: Mapping[tuple[str, str, str], Mark] = field(repr=False)

    @property
    def fixed(self) -> Sequence[PastFinding]:
        """The findings whose subnets now have a path without a NAT, or none."""
        return [past for past in self.past if past.mark is Mark.FIXED]

    @property
    def unknown(self) -> Sequence[PastFinding]:
        """The findings of subnets whose path was not decided in this scan."""
        return [past for past in self.past if past.mark is Mark.UNKNOWN]

    def mark(self, row: Row) -> Mark | None:
        """Return what happened to the finding of a subnet: new, unchanged, fixed, or unknown. None without one."""
        return self.marks.get(row.key)


def compare(
    baseline: Baseline,
    rows: Sequence[Row],
    listed: Mapping[tuple[str, str], Collection[str]],
    not_read: Collection[str] = (),
) -> Comparison:
    """Compare all rows of a scan with the baseline.

    listed: the subnets of each account and Region that was read, evaluated or not. not_read: what could not be read, as
    failures name it.
    """
    current = {_finding_of(row): row for row in rows if row.is_flagged}
    new = [current[finding] for finding in sorted(current) if finding not in baseline.findings]
    unchanged = [current[finding] for finding in sorted(current) if finding in baseline.findings]
    by_subnet = {row.key: row for row in rows}
    past = [
        _past(finding, vpc_id, by_subnet.get(finding[:3]), listed, not_read)
        for finding, vpc_id in sorted(baseline.findings.items())
        if finding not in current
    ]
    marks = {item.finding[:3]: item.mark for item in past if item.now}
    marks |= {row.key: Mark.UNCHANGED for row in unchanged} | {row.key: Mark.NEW for row in new}
    return Comparison(new, unchanged, past, marks)


def notes_on_scope(baseline: Baseline, now: Coverage) -> list[str]:
    """Return how a scan and its baseline differ in what they covered; empty for the network of a plan."""
    if baseline.coverage is None:
        return []
    # What this scan could not read is an error of its own.
    changes = [f"since the baseline, {change}" for change in _scope_changes(baseline.coverage, now)]
    return changes + [f"the baseline lacks {where}: findings there count as new" for where in baseline.not_read]


def _past(
    finding: FindingId,
    vpc_id: str,
    now: Row | None,
    listed: Mapping[tuple[str, str], Collection[str]],
    not_read: Collection[str],
) -> PastFinding:
    if now and now.is_flagged:
        return PastFinding(finding, vpc_id, Mark.REPLACED, now)
    cause = _cause(finding, now, listed, not_read)
    return PastFinding(finding, vpc_id, Mark.UNKNOWN if cause else Mark.FIXED, now, cause)


def _cause(
    finding: FindingId,
    now: Row | None,
    listed: Mapping[tuple[str, str], Collection[str]],
    not_read: Collection[str],
) -> Cause | None:
    """Return why it is unknown whether a finding is fixed, None if it is fixed.

    An aggregator may contain an outdated copy of an account that it could not read.
    """
    place = (finding.account_id, finding.region)
    if place not in listed or f"account {finding.account_id} {finding.region}" in not_read:
        return Cause.NOT_READ
    if now is None:
        return Cause.NOT_SELECTED if finding.subnet_id in listed[place] else Cause.NOT_LISTED
    if now.reason == finding.reason:
        return Cause.OTHER_PARAMETERS
    if now.reason is Reason.DROPPED:
        return Cause.DROPPED
    return Cause.PATH_UNKNOWN if now.reason in _WITHOUT_A_PATH else None


def _finding_of(row: Row) -> FindingId:
    return FindingId(*row.key, row.reason)


def _scope_changes(before: Coverage, after: Coverage) -> list[str]:
    """Return how two scans differ in what they covered. If they do, fewer findings are not an improvement."""
    added, lost = _only_in(after.accounts, before.accounts), _only_in(before.accounts, after.accounts)
    changes = [*_named(added, "was added", "were added"), *_named(lost, "was not read", "were not read")]
    if before.filters != after.filters:
        changes.append(f"the filters changed from {_listed(before.filters)} to {_listed(after.filters)}")
    for name in sorted({*before.parameters, *after.parameters}):
        old, new = before.parameters.get(name, "none"), after.parameters.get(name, "none")
        if old != new:
            changes.append(f"{name} changed from {old} to {new}")
    return changes


def _only_in(names: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted(set(names) - set(others))


def _named(names: Sequence[str], one: str, several: str) -> list[str]:
    """Return what happened to the first of these names and to how many more; empty if there are none."""
    more = len(names) - 1
    return [f"{names[0]} and {more} more {several}" if more else f"{names[0]} {one}"] if names else []


def _listed(filters: Sequence[str]) -> str:
    return " ".join(filters) or "none"


class PastRow(FindingRow, rename="camel", kw_only=True):
    """A finding of the baseline of an earlier scan that is not in that scan. cause: why it is unknown."""

    cause: Annotated[str, one_of(Cause.__members__)] | None = None


class _Compliances(Struct):
    flagged: Count = msgspec.field(name=Compliance.NON_COMPLIANT.value)


class Totals(Struct):
    """How many subnets were evaluated, listed or not, and of them NON_COMPLIANT."""

    compliances: _Compliances
    evaluated: Count | None = None


class NotRead(Struct):
    """A place that the earlier scan could not read."""

    where: Word


class EarlierScan(Struct, rename="camel", kw_only=True):
    """What the document of an earlier scan says about all of it."""

    totals: Totals
    accounts: tuple[Word, ...] = ()
    filters: tuple[Word, ...] = ()
    parameters: dict[str, Word] = {}

    @property
    def coverage(self) -> Coverage:
        """What the scan covered."""
        return Coverage(self.accounts, self.filters, self.parameters)


class _BaselineScan(EarlierScan, rename="camel", kw_only=True):
    subnets: tuple[SubnetRow, ...]
    unknown: tuple[PastRow, ...] = ()
    not_read: tuple[NotRead, ...] = ()


def read_baseline(file: Path) -> Baseline:
    """Return the findings in the JSON output of a scan. Raise OptionError if it is not one, or if it lacks some.

    A finding that was unknown in that scan is still in the baseline, unless its subnet was no longer listed.
    """
    document = read_json(file, WRITTEN_BY)
    with faults_in(file, WRITTEN_BY):
        earlier = read_part(_BaselineScan, document)
    flagged = findings_of(earlier.subnets)
    counted = earlier.totals.compliances.flagged
    if counted > len(flagged):
        raise OptionError(
            f"{file} lists {len(flagged)} of its {counted} NON_COMPLIANT subnets",
            "make the baseline without --show, or with --show NON_COMPLIANT",
        )
    unknown = {row.finding: row.vpc_id for row in earlier.unknown if row.cause != Cause.NOT_LISTED.name}
    return Baseline(unknown | flagged, earlier.coverage, tuple(place.where for place in earlier.not_read))


def parameter_values(parameters: RuleParameters) -> dict[str, str]:
    """Return the rule parameters that have a value, by name, spelled as --parameter accepts them."""
    fields = {name: getattr(parameters, parameter.field) for name, parameter in PARAMETERS.items()}
    texts = {name: ",".join(sorted(value)) if isinstance(value, frozenset) else value for name, value in fields.items()}
    texts["excludeTag"] = parameters.exclude_tag or NO_TAG
    return {name: str(text) for name, text in texts.items() if text}


def parameter_words(parameters: RuleParameters) -> tuple[str, ...]:
    """Return the rule parameters that are not the default, as NAME=VALUE."""
    default = parameter_values(RuleParameters())
    return tuple(
        f"{name}={value}" for name, value in parameter_values(parameters).items() if default.get(name) != value
    )


def comparison_text(comparison: Comparison) -> str:
    """Return how many findings are new, unchanged, fixed, and unknown, in one line."""
    replaced = sum(past.mark is Mark.REPLACED for past in comparison.past)
    also = f" ({replaced} NON_COMPLIANT before, for another reason)" if replaced else ""
    return (
        f"Compared with the baseline: {len(comparison.new)} new{also}, {len(comparison.unchanged)} unchanged, "
        f"{len(comparison.fixed)} fixed, {len(comparison.unknown)} unknown"
    )


def comparison_lines(comparison: Comparison, most: int | None = None) -> Iterator[str]:
    """Yield a line for each route table with findings that are new, fixed, or unknown, for each kind at most this many."""
    replaced = {past.finding[:3]: past for past in comparison.past if past.mark is Mark.REPLACED}
    kinds = {
        Mark.NEW: [(_new(row, replaced.get(row.key)), row.subnet_id) for row in comparison.new],
        Mark.FIXED: [(_gone(past), past.finding.subnet_id) for past in comparison.fixed],
        Mark.UNKNOWN: [(_gone(past), past.finding.subnet_id) for past in comparison.unknown],
    }
    for mark, subnets in kinds.items():
        by_table: defaultdict[str, list[str]] = defaultdict(list)
        for where, subnet_id in subnets:
            by_table[where].append(subnet_id)
        lines = [
            f"{mark}: {where}: {ids[0] if len(ids) == 1 else count_text(len(ids), 'subnet')}"
            for where, ids in by_table.items()
        ]
        yield from lines[:most]
        if most is not None and len(lines) > most:
            yield f"{mark}: {len(lines) - most} more route tables, which --format json lists"


def _new(row: Row, before: PastFinding | None) -> str:
    """Return where a new finding is, and its reason. before: the finding that it replaces."""
    reason = f"{before.finding.reason} -> {row.reason}" if before else row.reason
    return _where(row.account_id, row.region, row.vpc_id, row.route_table_id or "", reason)


def _gone(past: PastFinding) -> str:
    """Return where a finding of the baseline was, and what became of it."""
    finding, now = past.finding, past.now
    reason = f"{finding.reason} -> {now.reason}" if now else finding.reason
    cause = f"({past.cause})" if past.cause else ""
    table_id = (now.route_table_id if now else None) or ""
    return _where(finding.account_id, finding.region, past.vpc_id, table_id, reason, cause)


def past_text(past: PastFinding) -> str:
    """Return what happened to a finding of the baseline, in one line."""
    return f"{past.mark}: {past.finding.subnet_id} {_gone(past)}"


def _where(*names: str) -> str:
    return " ".join(filter(None, names))
