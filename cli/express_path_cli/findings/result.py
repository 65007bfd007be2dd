"""What a scan found: rows, what it covered, and what could not be read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.baseline import Baseline, Comparison, Coverage, compare, parameter_values
from express_path_cli.findings.change import ChangeFindings
from express_path_cli.findings.hubs import Hub
from express_path_cli.findings.row import Row, SetParameter
from express_path_cli.findings.summary import summary
from express_path_cli.terminal.errors import Failure
from express_path_cli.terminal.texts import count_text


@dataclass(frozen=True, slots=True)
class Result:
    """The rows to show, sorted by account, Region and subnet, when and how they were made, and what is missing.

    unlisted: the rows that were made and are not shown. filters: the --vpc and --tag options, as "--vpc vpc-1".
    comparison: with the baseline, None without one. listed: the subnets of each account and Region that was read,
    evaluated or not. change: what the plan changes whose result this is. settings: which configuration file decides, and what
    it ignores, in sentences; empty without one. account_names: those that Organizations or that file says, by account.
    hubs: the route tables whose endpoint cuts other VPCs off from S3 Express, or may do so. set_parameters: those that the
    configuration file sets.
    """

    rows: Sequence[Row]
    made_at: datetime
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()
    parameters: RuleParameters = field(default_factory=RuleParameters)
    unlisted: Sequence[Row] = field(default=(), repr=False)
    filters: Sequence[str] = ()
    comparison: Comparison | None = None
    listed: Mapping[tuple[str, str], Collection[str]] = field(default_factory=dict, repr=False)
    change: ChangeFindings | None = None
    settings: Sequence[str] = ()
    account_names: Mapping[str, str] = field(default_factory=dict)
    hubs: Sequence[Hub] = ()
    set_parameters: Sequence[SetParameter] = ()

    @property
    def evaluated(self) -> int:
        """How many subnets were evaluated, shown or not."""
        return len(self.rows) + len(self.unlisted)

    @property
    def is_about_news(self) -> bool:
        """Whether the result is about what a plan changes, or what is new since a baseline."""
        return self.comparison is not None or self.change is not None

    @property
    def not_news(self) -> str:
        """How many findings and other subnets are not listed because the result is about news; empty if there are none."""
        rows = [row for row in self.unlisted if not row.is_news and not row.ignored] if self.is_about_news else []
        findings = sum(row.is_flagged for row in rows)
        parts = []
        if findings:
            parts.append(f"{count_text(findings, 'finding')} that {'is' if findings == 1 else 'are'} not new")
        if len(rows) > findings:
            parts.append(count_text(len(rows) - findings, "other subnet" if findings else "subnet without news"))
        return f"Not listed: {' and '.join(parts)}. --show all lists them." if parts else ""

    @property
    def ignored(self) -> list[Row]:
        """The findings that the configuration file ignores, shown or not."""
        return [row for row in (*self.rows, *self.unlisted) if row.ignored]

    @property
    def set_by_file(self) -> int:
        """How many subnets, shown or not, have another compliance because of parameters of the configuration file."""
        return sum(row.set_by is not None for row in (*self.rows, *self.unlisted))

    @property
    def summary(self) -> str:
        """The totals of the rows to show, in one sentence."""
        return summary(self.rows, self.evaluated, len(self.ignored), self.set_by_file, is_about_news=self.is_about_news)

    @property
    def coverage(self) -> Coverage:
        """What the scan covered."""
        return Coverage(
            tuple(sorted(f"{account_id} {region}" for account_id, region in self.listed)),
            tuple(self.filters),
            parameter_values(self.parameters),
        )

    def compared_with(self, baseline: Baseline) -> "Result":
        """Return the same result with a comparison, and with what it says about each row, shown or not."""
        not_read = [failure.where for failure in self.failures]
        comparison = compare(baseline, [*self.rows, *self.unlisted], self.listed, not_read)

        def marked(rows: Sequence[Row]) -> list[Row]:
            return [replace(row, baseline=mark) if (mark := comparison.mark(row)) else row for row in rows]

        return replace(self, rows=marked(self.rows), unlisted=marked(self.unlisted), comparison=comparison)
