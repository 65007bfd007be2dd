"""The commands to run after a scan, with the options of that scan, so that they can be pasted into a shell."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from express_path.domain.path.reasons import NAT_REASONS
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.selection import Selection
from express_path_cli.findings.worklist import Worklist, WorklistRow
from express_path_cli.sources.source import Source


class NextCommand(NamedTuple):
    """A command, and what it is for."""

    purpose: str
    command: str


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The options of a scan: its source, rule parameters as NAME=VALUE, selected subnets, and tags to show."""

    source: Source = field(default_factory=Source)
    parameters: tuple[str, ...] = ()
    selection: Selection = field(default_factory=Selection)
    tag_keys: tuple[str, ...] = ()

    def next_commands(self, worklist: Worklist, *, details: bool) -> Iterator[NextCommand]:
        """Yield the commands for the first row of a worklist; none if there is nothing to do."""
        rows = [*worklist.flagged, *worklist.dropped, *worklist.unresolved]
        if not rows:
            return
        if not details:
            yield NextCommand("To list these subnets", self._details())
        first = rows[0].verdicts[0]
        elsewhere = f", with credentials of account {first.account_id}" if self._reads_many_accounts() else ""
        yield NextCommand(f"To see why, route by route, and what to change{elsewhere}", self._explain(first))
        healable = [row for row in worklist.flagged if row.reason in NAT_REASONS and row.route_table_id]
        if healable and not self.source.from_dump and not self._reads_many_accounts():
            yield NextCommand("To see the plan of a heal, which changes nothing", self._heal(healable[0]))

    def report(self) -> str:
        """Return the command that writes the report, with every change."""
        return shlex.join(["express-path", "report", *self.source.options(), *self._parameters()])

    def _reads_many_accounts(self) -> bool:
        return bool(self.source.aggregator or self.source.live.organization)

    def _details(self) -> str:
        selected = [("--vpc", vpc_id) for vpc_id in sorted(self.selection.vpc_ids)]
        selected += [("--tag", tag) for tag in self.selection.tags]
        selected += [("--tags", key) for key in self.tag_keys]
        words = [word for option in selected for word in option]
        return shlex.join(["express-path", "scan", "--details", *self.source.options(), *self._parameters(), *words])

    def _explain(self, verdict: Verdict) -> str:
        is_needed = not self.source.from_dump or self.source.live.regions
        region = ["--region", verdict.region] if is_needed else []
        return shlex.join(["express-path", "explain", verdict.subnet_id, *region, *self.explain_options()])

    def _heal(self, row: WorklistRow) -> str:
        where = ["--region", row.region, *self.heal_options()]
        return shlex.join(["express-path", "heal", str(row.route_table_id), *where])

    def explain_options(self) -> list[str]:
        """Return the options with which explain reads the same network, without the Region."""
        if self.source.from_dump:
            return ["--from-dump", str(self.source.from_dump), *self._parameters()]
        external_id = self.source.live.external_id if not self._reads_many_accounts() else ""
        given = ["--external-id", external_id] if external_id else []
        return [*self.heal_options(), *given, *self._parameters()]

    def heal_options(self) -> list[str]:
        """Return the options with which heal finds the account, without the Region.

        The profile of a scan of many accounts is not that of the account to heal.
        """
        profile = self.source.live.profile if not self._reads_many_accounts() else None
        return ["--profile", profile] if profile and not self.source.from_dump else []

    def _parameters(self) -> list[str]:
        return [word for parameter in self.parameters for word in ("--parameter", parameter)]
