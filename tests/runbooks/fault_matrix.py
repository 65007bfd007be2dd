"""The fault matrix: one step of a runbook goes wrong in one way, then somebody undoes the heal and heals again.

The steps are those of the runbook files. `CELLS` has every combination, and what somebody does midway at the steps where it
matters. A cell raises AssertionError if a promise does not hold, and else returns how the runs ended.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from config_rule_sandbox.ssm.knobs import Trouble
from config_rule_sandbox.tracing import traced
from tests.runbooks.bench import Bench
from tests.runbooks.midway import ACTS
from tests.support.heals import APPROVED, FUNCTION, HEAL, UNDO, Run, all_steps, status, step, steps
from tests.support.ledgers import heal_id

STALE, DELETED = "stale read", "endpoint deleted"
COLUMNS = (*(trouble.value for trouble in Trouble), STALE, DELETED)
"""What goes wrong: see `Trouble`. Or each read of the step misses the last change, one read in each run. Or somebody
deletes the endpoint right before the step."""

RARE = {
    HEAL: {
        "approved": ("elect",),
        "denied": ("recordFailed", "explain", "fail"),
    },
    UNDO: {
        "used again": ("confirm",),
        "undeletable": ("markFailed", "explain", "fail"),
    },
    APPROVED: {
        "unsent": ("decideAnswer", "pause", "release", "explain", "fail"),
        "asked": ("makePlanAgain", "planAgain", "decideAgain"),
        "rejected": ("seeAnswer", "recordAnswer", "denied"),
        "compliant": ("done",),
    },
}
"""The situations in which a run takes steps that it does not normally take, or in which a step writes more than normally.

A cell fails if its run skips the step."""

READS = "aws:invokeLambdaFunction"
S3 = "com.amazonaws.us-east-1.s3"


@dataclass(frozen=True, slots=True)
class Cell:
    """A step of a runbook, and what goes wrong with it."""

    document: str
    step: str
    column: str

    @property
    def situation(self) -> str:
        """The situation in which a run takes the step."""
        return next((name for name, names in RARE[self.document].items() if self.step in names), "normal")

    def __str__(self) -> str:
        """Return the name of the cell."""
        return f"{self.document}-{self.step}-{self.column}"


def _cells() -> Iterator[Cell]:
    for document in (HEAL, UNDO, APPROVED):
        for name, definition in all_steps(document).items():
            if name == "stopped":  # it only ends a run: see test_stop.py
                continue
            reads = definition["action"] == READS and name != "explain"
            yield from (
                Cell(document, name, column)
                for column in COLUMNS
                # These steps come after everything is verified.
                if (column != STALE or reads)
                and (column != DELETED or (document == HEAL and name not in ("seeVerdict", "done")))
            )
    for column, act in ACTS.items():
        yield from (Cell(document, name, column) for document in (HEAL, UNDO, APPROVED) for name in act.steps(document))


CELLS = list(_cells())


def play(cell: Cell, bench: Bench) -> str:
    """Play one cell and return how its runs ended."""
    game = {HEAL: _Heal, UNDO: _Undo, APPROVED: _Ask}[cell.document](cell, bench)
    if cell.column != STALE:
        with game.troubled():
            run = game.run()
        game.check(run)
        return game.end(run)
    with bench.deployment.sandbox.observed_reads() as seen:
        during = _noting(bench, cell, lambda: len(seen.reads))
        run = game.run()
    assert cell.step in steps(run), f"the run skips {cell.step}"
    game.end(run)
    reads = [(read.operation, read.nth) for start, end in during for read in seen.reads[start:end] if read.differs]
    outcomes = []
    for operation, nth in reads:
        bench.renew()
        game = type(game)(cell, bench)
        with bench.deployment.sandbox.stale_reads(operation, nth) as observation:
            run = game.run()
        assert len(observation.given) == 1, (operation, nth)
        assert status(run) == "Success", (operation, nth, run.get("FailureMessage"))
        outcomes.append(game.end(run))
    return "; ".join(dict.fromkeys(outcomes)) or "no read differs"


def _noting(bench: Bench, cell: Cell, position: Callable[[], int]) -> list[tuple[int, int]]:
    """Return a list that gets the positions before and after each invocation of the plan function by the step."""
    found: list[tuple[int, int]] = []

    def plan(event: dict[str, Any]) -> dict[str, Any]:
        start = position()
        try:
            return bench.deployment.plan(event)
        finally:
            if bench.deployment.automation.current_step(cell.document) == cell.step:
                found.append((start, position()))

    bench.deployment.automation.functions.register(FUNCTION, traced(plan))
    return found


class _Game:
    """One run that meets the trouble, and what comes before and after it."""

    def __init__(self, cell: Cell, bench: Bench) -> None:
        """Bring about the situation of the cell."""
        self.cell, self.bench = cell, bench
        self.deployment = bench.deployment
        self.act, self.seen = ExitStack(), ""
        getattr(self, "_" + cell.situation.replace(" ", "_"), lambda: None)()

    def run(self) -> Run:
        """Make the run."""
        raise NotImplementedError

    def end(self, run: Run) -> str:
        """Undo and heal again, check what is promised, and return how the runs ended."""
        raise NotImplementedError

    @contextmanager
    def troubled(self) -> Iterator[None]:
        """Let the run meet the trouble, and check that it does."""
        automation = self.deployment.automation
        if self.cell.column in {*Trouble}:
            with automation.disturbing(self.cell.document, self.cell.step, Trouble(self.cell.column)) as disturbance:
                yield
            assert disturbance.met, f"the run skips {self.cell.step}"
            return
        met: list[str] = []
        automation.knobs.before_step = partial(self._meet, met)
        yield
        automation.knobs.before_step = None
        assert met, f"the run skips {self.cell.step}"

    def _meet(self, met: list[str], document: str, step: str) -> None:
        """Do right before the step what the cell says."""
        if (document, step) != (self.cell.document, self.cell.step) or met:
            return
        met.append(step)
        if self.cell.column == DELETED:
            if endpoints := self.bench.endpoints:
                self.deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=endpoints)
            return
        self.act.enter_context(ACTS[self.cell.column].begin(self.bench, document))
        self.seen = self.bench.described()

    def check(self, run: Run) -> None:
        """Check what is promised right after the run, and then take back what somebody did midway."""
        bench, document, name = self.bench, self.cell.document, self.cell.step
        bench.check_ledgers()
        if self.cell.column not in ACTS:
            return
        assert bench.described_foreign() == bench.foreign, "the run changed something foreign"
        if name in ACTS[self.cell.column].last.get(document, ()):
            assert bench.described() == self.seen, f"the run changed something after {name}"
        if self.cell.column.startswith("throttled"):
            assert step(run, name)["StepStatus"] == "Failed", f"{name} was not throttled"
        if status(run) == "Success":
            assert bench.is_healed == (document != UNDO), "the run succeeded, and the network is not as it says"
        self.act.close()


class _Heal(_Game):
    """A heal meets the trouble. Then it is undone, healed again, and undone again."""

    def run(self) -> Run:
        """Heal."""
        return self.bench.heal()

    def end(self, run: Run) -> str:
        """Check that a run that succeeds leaves the table healed."""
        assert status(run) != "Success" or self.bench.is_healed, "the run succeeded with nothing associated"
        self.deployment.sandbox.faults.clear()
        undone = self.bench.undo(str(run["AutomationExecutionId"]))
        return f"{status(run)}, {undone}; again: {self.bench.heal_and_undo()}"

    def _approved(self) -> None:
        self.bench.require_approval()

    def _denied(self) -> None:
        self.deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint", times=1)


class _Undo(_Game):
    """The undo of a heal meets the trouble. Then somebody starts it again, heals again, and undoes that."""

    def __init__(self, cell: Cell, bench: Bench) -> None:
        """Heal."""
        self._healed = bench.heal()
        assert status(self._healed) == "Success", self._healed.get("FailureMessage")
        super().__init__(cell, bench)

    def run(self) -> Run:
        """Undo."""
        return self.deployment.undo(self._healed["AutomationExecutionId"])

    def end(self, run: Run) -> str:
        """Check that nothing foreign changes, and that the undo can be finished."""
        bench = self.bench
        bench.deployment.sandbox.faults.clear()
        self.deployment.sandbox.ec2.knobs.undeletable_endpoints = False
        assert bench.described_foreign() == bench.foreign, "the undo changed something foreign"
        heal_id = self._healed["AutomationExecutionId"]
        run_item = self.deployment.ledger.item(f"RUN#{heal_id}")
        if bench.last_heal(run_item) != heal_id:
            assert bench.undo(heal_id) == "replaced"
            undone = bench.undo(bench.last_heal(run_item))
            return f"{status(run)}; again: replaced, {undone}; heal: {bench.heal_and_undo()}"
        again = self.deployment.undo(heal_id)
        message = str(again.get("FailureMessage", ""))
        assert status(again) == "Success" or "undid it already" in message, message
        assert bench.described_table() == bench.before, "the route table is not as before"
        may_stay = self.cell.situation == "used again" or (self.cell.column in ACTS and status(run) == "Success")
        assert bench.endpoints == [] or may_stay, "the endpoint was not deleted"
        assert "undoRunId" in self.deployment.ledger.item(f"RUN#{heal_id}")
        finished = "nothing left" if "undid it already" in message else "undone"
        return f"{status(run)}; again: {finished}; heal: {bench.heal_and_undo()}"

    def _used_again(self) -> None:
        """Let a team use the endpoint right after the undo marked it as deleted."""
        [endpoint] = self.bench.endpoints
        updates = iter(range(4))

        def use_it() -> None:
            if next(updates) == 3:  # claim, record, recordDisassociation, markDeleted
                self.deployment.ec2.modify_vpc_endpoint(
                    VpcEndpointId=endpoint, AddRouteTableIds=[self.bench.vpc.tables[1]]
                )
                self.bench.foreign = self.bench.described_foreign()

        self.deployment.sandbox.faults.before("dynamodb", "UpdateItem", use_it, times=4)

    def _undeletable(self) -> None:
        self.deployment.sandbox.ec2.knobs.undeletable_endpoints = True


class _Ask(_Game):
    """A run that asks for approval meets the trouble. Then somebody starts it again and undoes the heal."""

    def __init__(self, cell: Cell, bench: Bench) -> None:
        """Put the stack in mode APPROVAL."""
        bench.require_approval()
        super().__init__(cell, bench)

    def run(self) -> Run:
        """Ask, and answer."""
        if self.cell.situation == "unsent":
            return self.bench.ask("", StartedBy="CONFIG")
        return self.bench.ask("Reject" if self.cell.situation == "rejected" else "Approve")

    def end(self, run: Run) -> str:
        """Check that a run that succeeds leaves the table healed, and that the next run heals it."""
        bench = self.bench
        assert status(run) != "Success" or bench.is_healed, "the run succeeded with nothing associated"
        assert self.cell.situation != "rejected" or not bench.is_healed, "a rejected heal was made"
        again = bench.ask()
        assert (status(again), bench.is_healed) == ("Success", True), again.get("FailureMessage")
        assert bench.described_foreign() == bench.foreign, "the heal changed something foreign"
        return f"{status(run)}; again: Success, {bench.undo(bench.record['healRunId'])}"

    def _unsent(self) -> None:
        self.deployment.sandbox.faults.fail("sns", "Publish", "AuthorizationError", 403, times=1)

    def _asked(self) -> None:
        """Let a run that has ended record a request right before this run records its own."""
        asked = {"approvalState": "REQUESTED", "approvalRunId": heal_id(100), "approvalExpiresAt": 10**10}
        write = partial(self.deployment.ledger.write, f"TABLE#{self.bench.vpc.table}", **asked)
        self.deployment.sandbox.faults.before("dynamodb", "UpdateItem", write)

    def _compliant(self) -> None:
        assert status(self.bench.heal()) == "Success"


def table(outcomes: dict[Cell, str]) -> Iterator[str]:
    """Yield the lines of the matrix: a row for each step, first with the troubles and then with the acts of others."""
    letters: dict[str, str] = {}
    for outcome in outcomes.values():
        letters.setdefault(outcome, f"{len(letters) + 1:>2}")
    width = max((len(cell.step) for cell in outcomes), default=0)
    for columns in (COLUMNS, tuple(ACTS)):
        cells = [cell for cell in outcomes if cell.column in columns]
        for document in dict.fromkeys(cell.document for cell in cells):
            yield f"{document}"
            yield f"  {'step':{width}}  " + "  ".join(columns)
            for step_name in dict.fromkeys(cell.step for cell in cells if cell.document == document):
                found = {column: outcomes.get(Cell(document, step_name, column), "") for column in columns}
                shown = (f"{letters.get(outcome, '-'):>{len(column)}}" for column, outcome in found.items())
                yield f"  {step_name:{width}}  " + "  ".join(shown)
            yield ""
    yield from (f"{letter}  {outcome}" for outcome, letter in letters.items())
