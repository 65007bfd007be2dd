"""Heal several route tables: one plan, one question, and a few runs at a time."""

import re
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from express_path_cli.automation import runs
from express_path_cli.automation.runs import Job, Run
from express_path_cli.heal.run_batch import Batch, BatchResult
from express_path_cli.heal.runbook_commands import Deployment, confirm, request_approval
from express_path_cli.heal.table_plans import TablePlan, plan_lines, subnet_plan
from express_path_cli.heal.table_targets import TableTarget
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import DECLINED, UNDETERMINED

BLOCKED = DECLINED
"""The exit status of a heal that is blocked."""
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class HealOptions:
    """The options of a heal. again: the command line that selects the same route tables."""

    again: str
    apply: bool = False
    yes: bool = False
    keep_going: bool = False


def heal_tables(deployment: Deployment, targets: Sequence[TableTarget], given: HealOptions) -> int:
    """Plan the heal of every route table, ask once, heal, and return the exit status."""
    if not targets:
        echo("nothing to heal: the scan has no NON_COMPLIANT subnet that exists here")
        return 0
    planned, unknown = _plan(deployment, targets, given)
    echo(f"plan for {_count(targets)} in {deployment.account_region}:")
    for line in plan_lines(planned):
        echo(line)
    blocked = any(plan.blocked for plan in planned)
    status = UNDETERMINED if unknown else BLOCKED if blocked else 0
    changes = [plan for plan in planned if plan.change]
    echo(_sums(planned, unknown))
    if unknown and not given.keep_going:
        echo("nothing was changed: a plan is missing; --keep-going heals the others")
    elif not changes:
        echo("nothing was changed")
    elif not given.apply:
        echo(f"nothing was changed; to heal: express-path heal {given.again} --apply{deployment.options}")
    else:
        return max(status, _apply(deployment, changes, given))
    return status


def done_lines(run: Run, options: str) -> Iterator[str]:
    """Yield the verdict after a heal, and the command that undoes it.

    If another run healed the table first, that run is the one to undo. If nothing was left to heal, there is none.
    """
    yield run.outputs.get("verify.Annotation") or run.outputs.get("plan.Summary", "")
    run_id = undone_by(run)
    if run_id:
        yield f"to undo: express-path undo {shlex.quote(run_id)}{options}"


def undone_by(run: Run) -> str:
    """Return the run to undo in order to undo what a heal did, empty if nothing was healed."""
    found = _RUN_ID.search(run.outputs.get("verify.Undo", ""))
    return found[0] if found else ""


def _plan(
    deployment: Deployment, targets: Sequence[TableTarget], given: HealOptions
) -> tuple[list[TablePlan], list[str]]:
    """Make a dry run for each subnet to plan with. Return the plans, and the route tables without one."""
    stack = deployment.stack
    by_name = {_name(table, subnet): (table, subnet) for table in targets for subnet in table.planned_subnet_ids}
    jobs = [
        Job(name, stack.heal_document, {"SubnetId": subnet, **stack.common, "DryRun": "true"})
        for name, (_, subnet) in by_name.items()
    ]
    result = Batch(deployment, "dry run", jobs).run(lambda _: (), keep_going=given.keep_going)
    missing = {by_name[name][0].id for name in (*result.failed, *result.not_started)}
    plans = {name: subnet_plan(*by_name[name], run) for name, run in result.succeeded.items()}
    planned = [
        TablePlan(table, tuple(plans[_name(table, subnet)] for subnet in table.planned_subnet_ids))
        for table in targets
        if table.id not in missing
    ]
    return planned, sorted(missing)


def _name(table: TableTarget, subnet_id: str) -> str:
    """Return the name of a dry run: the route table, and the subnet if the table has several plans."""
    return table.id if len(table.planned_subnet_ids) == 1 else f"{table.id} ({subnet_id})"


def _apply(deployment: Deployment, changes: Sequence[TablePlan], given: HealOptions) -> int:
    """Heal the route tables, or ask the approvers to, after asking. Return the exit status."""
    names = _count(changes)
    jobs = list(_jobs(deployment, changes))
    if deployment.stack.approval_document:
        confirm(yes=given.yes, question=f"Ask the approvers now, once for each of {names}?")
        _request_approvals(deployment, jobs)
        return 0
    echo("open TCP connections to S3 Express from the subnets that move will drop for a moment")
    confirm(yes=given.yes, question=f"Heal {names} now?")
    result = Batch(deployment, "heal", jobs).run(
        lambda run: done_lines(run, deployment.options), keep_going=given.keep_going
    )
    for line in _outcome(result, deployment.options):
        echo(line)
    return UNDETERMINED if result.failed else 0


def _jobs(deployment: Deployment, changes: Iterable[TablePlan]) -> Iterator[Job]:
    stack = deployment.stack
    for plan in changes:
        if plan.change:
            yield Job(plan.table.id, stack.heal_document, {"SubnetId": plan.change.subnet_id, **stack.common})


def _request_approvals(deployment: Deployment, jobs: Iterable[Job]) -> None:
    for job in jobs:
        echo(f"{job.name}:")
        request_approval(deployment, dict(job.parameters))
        time.sleep(runs.START_SECONDS)


def _outcome(result: BatchResult, options: str) -> Iterator[str]:
    """Yield how many route tables were healed, and the commands that undo those and heal the others."""
    sums = [f"{len(result.succeeded)} healed", f"{len(result.failed)} failed", f"{len(result.not_started)} not started"]
    yield ", ".join(sums[: 3 if result.not_started else 2])
    if result.not_started:
        yield f"to heal those that were not started: express-path heal {shlex.join(result.not_started)} --apply{options}"
    run_ids = dict.fromkeys(filter(None, map(undone_by, result.succeeded.values())))
    if len(run_ids) > 1:
        yield f"to undo all of these heals: express-path undo {shlex.join(run_ids)}{options}"


def _sums(planned: Sequence[TablePlan], unknown: Sequence[str]) -> str:
    changes = sum(plan.change is not None for plan in planned)
    blocked = sum(plan.change is None and bool(plan.blocked) for plan in planned)
    partly = sum(plan.change is not None and bool(plan.blocked) for plan in planned)
    sums = {
        "to heal": changes,
        "of these only in part": partly,
        "blocked": blocked,
        "with nothing to do": len(planned) - changes - blocked,
        f"without a plan ({', '.join(unknown)})": len(unknown),
    }
    return ", ".join(f"{number} {what}" for what, number in sums.items() if number)


def _count(tables: Sequence[object]) -> str:
    return "1 route table" if len(tables) == 1 else f"{len(tables)} route tables"
