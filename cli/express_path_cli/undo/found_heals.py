"""Find the heals of the selected deployments, and the heals that wait."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from express_path.adapters.aws import pages
from express_path.domain.heal.ledger_records import StartedBy
from express_path_cli.automation.deployments import Deployment, find_deployments
from express_path_cli.automation.past_heals import PastHeal, past_heals, read_history
from express_path_cli.automation.runs import RUN_ID
from express_path_cli.automation.starts import find_waiting
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.named import resources_named
from express_path_cli.terminal.errors import Failure, OptionError
from express_path_cli.terminal.progress import Watch


@dataclass(frozen=True, slots=True)
class FoundHeal:
    """A heal in the ledger of a deployment. principal: the ARN of the person's role or user, empty if it is not known."""

    deployment: Deployment
    heal: PastHeal
    principal: str = ""


@dataclass(frozen=True, slots=True)
class FoundHeals:
    """The heals, by deployment, the deployments, how many places have no stack, and what could not be read.

    ledgers: the deployments whose ledgers could be read. notes: what a person should know.
    """

    heals: Sequence[FoundHeal]
    deployments: Sequence[Deployment]
    ledgers: Sequence[Deployment]
    without_stack: int
    failures: Sequence[Failure]
    notes: Sequence[str] = ()

    def since(self, time: datetime) -> "FoundHeals":
        """Return the same with only the heals that changed something since a time, or whose time cannot be read."""

        def is_since(heal: PastHeal) -> bool:
            text = healed_at(heal)
            try:
                healed = datetime.fromisoformat(text)
            except ValueError:
                return True
            return healed.tzinfo is None or healed >= time

        return self.only(is_since)

    def only(self, is_wanted: Callable[[PastHeal], bool]) -> "FoundHeals":
        """Return the same without the other heals."""
        return replace(self, heals=[row for row in self.heals if is_wanted(row.heal)])

    def of_stack(self, name: str | None) -> "FoundHeals":
        """Return the same with only the stacks of a name, or all if there is only one in each place. Raise OptionError."""
        wanted = [row for row in self.deployments if name in (None, row.stack)]
        if name and not wanted:
            raise OptionError(f"there is no stack {name} with runbooks here", "check --stack, --region, and --profile")
        for place, together in groupby(wanted, key=lambda row: str(row.place)):
            stacks = [row.stack for row in together]
            if len(stacks) > 1:
                raise OptionError(f"several stacks heal in {place}: {', '.join(stacks)}", "select one with --stack")
        keys = {row.key for row in wanted}
        heals = [row for row in self.heals if row.deployment.key in keys]
        return replace(self, heals=heals, deployments=wanted, ledgers=[row for row in self.ledgers if row.key in keys])

    def named(self, targets: Sequence[str]) -> "FoundHeals":
        """Return the same with only the heals of these runs, or of what has this ID or Name tag and can be undone.

        Raise OptionError if a run is in no ledger, or in several, or if nothing can be undone; and ApiError.
        """
        wanted = {run_id for target in targets for run_id in self._runs_of(target)}
        return self.only(lambda heal: heal.run.run_id in wanted)

    def _runs_of(self, target: str) -> Sequence[str]:
        runs = [row.heal.run.run_id for row in self.heals if row.heal.run.run_id == target]
        if len(runs) == 1:
            return runs
        if runs or RUN_ID.fullmatch(target):
            where = "several ledgers have" if runs else "no ledger here has"
            raise OptionError(
                f"{where} the heal of run {target}",
                "a run that changed nothing has no heal to undo; express-path heals lists heals",
            )
        ids = {target}
        if not re.fullmatch(r"(subnet|rtb|vpc)-[0-9a-f]+", target):
            ids = set()
            for deployment in self.ledgers:
                ids.update(resources_named(deployment.place.aws, target))
        healed = [row.heal.run for row in self.heals if row.heal.can_be_undone]
        runs = [run.run_id for run in healed if ids & {run.subnet_id, run.route_table_id, run.vpc_id}]
        if not runs:
            raise OptionError(f"no heal of {target} can be undone", "express-path heals lists heals")
        return runs


def find_heals(live: LiveOptions, watch: Watch) -> FoundHeals:
    """Read the heals of each deployment, latest first in each. Raise OptionError, ApiError."""

    def read(deployment: Deployment) -> list[FoundHeal]:
        heals = past_heals(read_history(deployment.new_clients().dynamodb, deployment.ledger))
        return [FoundHeal(deployment, heal) for heal in heals]

    with TaskPool(live.workers, watch) as task_pool:
        deployments = find_deployments(live, task_pool)
        ledgers = sorted(task_pool.run(deployments.found, read), key=lambda row: row[0].key)
    return FoundHeals(
        [heal for _, heals in ledgers for heal in heals],
        deployments.found,
        [deployment for deployment, _ in ledgers],
        deployments.without_stack,
        sorted(task_pool.failures, key=lambda failure: failure.where),
        deployments.notes,
    )


def with_principals(found: FoundHeals, workers: int, watch: Watch) -> tuple[FoundHeals, Sequence[Failure]]:
    """Return the heals, each with the principal that started it, and what could not be read of that.

    Systems Manager lists a run for a limited time. The prefix also fits the runbook that asks for an approval.
    """

    def read(deployment: Deployment) -> Mapping[str, str]:
        named = [{"Key": "DocumentNamePrefix", "Values": [deployment.runbooks.heal]}]
        operation, field = "describe_automation_executions", "AutomationExecutionMetadataList"
        runs = pages(deployment.new_clients().ssm, "ssm", operation, field, Filters=named)
        return {run["AutomationExecutionId"]: run.get("ExecutedBy", "") for run in runs}

    with TaskPool(workers, watch) as task_pool:
        by_ledger = {deployment.key: by_run for deployment, by_run in task_pool.run(found.ledgers, read)}
    heals = []
    for row in found.heals:
        principal = ""
        if row.heal.run.started_by is StartedBy.PERSON:
            principal = by_ledger.get(row.deployment.key, {}).get(row.heal.run.run_id, "")
        heals.append(replace(row, principal=principal))
    return replace(found, heals=heals), task_pool.failures


@dataclass(frozen=True, slots=True)
class WaitingHeals:
    """The subnets of a deployment that AWS Config should have healed and has not started for a day."""

    deployment: Deployment
    subnet_ids: Sequence[str]

    def fields(self) -> dict[str, Any]:
        """Return them for JSON, with the command that starts their heals."""
        return {
            **self.deployment.fields(),
            "subnetIds": list(self.subnet_ids),
            "command": self.deployment.start_command,
        }


def find_waiting_heals(
    found: FoundHeals, workers: int, watch: Watch
) -> tuple[Sequence[WaitingHeals], Sequence[Failure]]:
    """Return the subnets that wait for a heal in the deployments with some, and what could not be read of that."""
    now = datetime.now(UTC)

    def read(deployment: Deployment) -> WaitingHeals:
        return WaitingHeals(deployment, find_waiting(deployment.new_clients(), deployment, now))

    with TaskPool(workers, watch) as task_pool:
        waiting = [row for _, row in task_pool.run(found.ledgers, read) if row.subnet_ids]
    return sorted(waiting, key=lambda row: row.deployment.key), task_pool.failures


def parse_since(text: str | None) -> datetime | None:
    """Return the time of --since, by default in UTC, or None without it. Raise OptionError."""
    if not text:
        return None
    try:
        since = datetime.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"--since {text} is not a time", "use ISO 8601, such as 2026-11-25T09:00Z") from error
    if since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    now = datetime.now(UTC)
    if since > now:
        raise OptionError(
            f"--since {text} is in the future", f"use a time in the past: it is {now:%Y-%m-%dT%H:%MZ} now"
        )
    return since


def healed_at(heal: PastHeal) -> str:
    """Return when a heal last changed something, or started to, in ISO 8601."""
    run = heal.run
    return run.associated_at or run.intended_at or run.creation_intended_at or run.started_at
