"""The options of a scan and of its output, and the commands to run next, which can be pasted into a shell."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from express_path.domain.path.reasons import NAT_REASONS, Compliance, Reason
from express_path_cli.findings.row import Row
from express_path_cli.findings.selection import Selection
from express_path_cli.findings.worklist import Worklist
from express_path_cli.sources.source import Source


class NextCommand(NamedTuple):
    """A command, and what it is for."""

    purpose: str
    command: str


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The options of a scan: its source, rule parameters as NAME=VALUE, and selected subnets.

    is_plan: a plan is judged, whose network other commands cannot read. file: that of an earlier scan, if it is shown.
    """

    source: Source = field(default_factory=Source)
    parameters: tuple[str, ...] = ()
    selection: Selection = field(default_factory=Selection)
    is_plan: bool = False
    file: str = ""

    def next_commands(self, worklist: Worklist, *, lists_subnets: bool) -> Iterator[NextCommand]:
        """Yield the commands for the first item of a worklist; none if there is nothing to do."""
        items = [*worklist.flagged, *worklist.dropped, *worklist.unresolved]
        if not items or self.is_plan:
            return
        if not lists_subnets:
            yield NextCommand("To list these subnets", self._list(worklist))
        first = items[0].first
        if self.file:
            purpose = "To see its path and what to change"
        else:
            purpose = "To see why, route by route, and what to change"
            if self._reads_many_accounts():
                purpose += f", with credentials of account {first.account_id}"
        yield NextCommand(purpose, self._explain(first))
        healable = [
            item.first for item in worklist.flagged if item.first.reason in NAT_REASONS and item.first.route_table_id
        ]
        if healable and not self.source.dump and not self._reads_many_accounts():
            yield NextCommand("To see the plan of a heal, which changes nothing", self._heal(healable[0]))

    def report(self) -> str:
        """Return the command that writes the report, with every change."""
        return shlex.join(["express-path", "scan", "--output", "express-path.html", *self._scanned()])

    def _reads_many_accounts(self) -> bool:
        return bool(self.source.aggregator or self.source.live.organization)

    def _list(self, found: Worklist) -> str:
        kinds = {
            Compliance.NON_COMPLIANT: found.flagged,
            Reason.DROPPED: found.dropped,
            Reason.UNRESOLVED_EGRESS: found.unresolved,
        }
        words = [word for kind, items in kinds.items() if items for word in ("--show", kind.value)]
        return shlex.join(["express-path", "scan", *words, *self._scanned()])

    def _scanned(self) -> list[str]:
        """Return the options that read and select the same."""
        if self.file:
            words = ["--from", self.file]
        else:
            words = [*self.source.options(), *self._parameters()]
        for vpc_id in sorted(self.selection.vpc_ids):
            words += ["--vpc", vpc_id]
        for tag in self.selection.tags:
            words += ["--tag", tag]
        return words

    def handover(self, by: str) -> NextCommand:
        """Return the command that writes a ticket for each owner."""
        words = ["express-path", "scan", *self._scanned(), "--split-by", by, "--output", "owners"]
        return NextCommand("To hand the work to its owners, with a ticket for each", shlex.join(words))

    def _explain(self, row: Row) -> str:
        if self.file:
            return shlex.join(["express-path", "explain", row.subnet_id, "--from", self.file])
        words = ["express-path", "explain", row.subnet_id]
        if not self.source.dump or self.source.live.regions:
            words += ["--region", row.region]
        return shlex.join([*words, *self.explain_options()])

    def _heal(self, row: Row) -> str:
        where = ["--region", row.region, *self.heal_options()]
        return shlex.join(["express-path", "heal", str(row.route_table_id), *where])

    def explain_options(self) -> list[str]:
        """Return the options with which explain reads the same network, without the Region."""
        if self.source.dump:
            where = Source(self.source.from_dump, example=self.source.example).options()
            return [*where, *self._parameters()]
        words = self.heal_options()
        if self.source.live.external_id and not self._reads_many_accounts():
            words += ["--external-id", self.source.live.external_id]
        return [*words, *self._parameters()]

    def heal_options(self) -> list[str]:
        """Return the options with which heal finds the account, without the Region.

        The profile of a scan of many accounts is not that of the account to heal.
        """
        profile = self.source.live.profile
        if not profile or self.source.dump or self._reads_many_accounts():
            return []
        return ["--profile", profile]

    def _parameters(self) -> list[str]:
        return [word for parameter in self.parameters for word in ("--parameter", parameter)]


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How a result is shown: the subnets, not the worklist; and the options for the next commands."""

    lists_subnets: bool = False
    scan: ScanOptions = field(default_factory=ScanOptions)
