"""The fault matrix: one step of a runbook goes wrong in one way, then somebody undoes the heal and heals again.

The steps are those of the runbook files. `CELLS` has every combination. A cell raises AssertionError if a promise does not hold, and else returns how the runs ended.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_network
from itertools import chain
from typing import Any

import pytest

from config_rule_sandbox.networks.central_egress import EVERY_VPC, Hub, attach
from config_rule_sandbox.ssm.knobs import Trouble
from config_rule_sandbox.tracing import traced
from tests.support.heals import APPROVED, FUNCTION, HEAL, UNDO, Approval, Deployment, Run, Vpc, all_steps, status, steps
from tests.support.ledgers import heal_id
from tests.support.network import Builder

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
        for name, step in all_steps(document).items():
            if name == "stopped":  # it only ends a run: see test_stop.py
                continue
            reads = step["action"] == READS and name != "explain"
            yield from (
                Cell(document, name, column)
                for column in COLUMNS
                # These steps come after everything is verified.
                if (column != STALE or reads)
                and (column != DELETED or (document == HEAL and name not in ("seeVerdict", "done")))
            )


CELLS = list(_cells())


class Bench:
    """A VPC to heal, and foreign resources: in another VPC, and another endpoint and a route table in the same one.

    A spoke reaches S3 Express through that route table, so no heal may change it.
    """

    def __init__(self, deployment: Deployment, builder: Builder, patches: pytest.MonkeyPatch) -> None:
        """Make the other VPC."""
        self.deployment, self.builder, self.patches = deployment, builder, patches
        self.approval: Approval | None = None
        self._other = Vpc(builder).id
        builder.endpoint(self._other, deployment.tables(self._other)[-1]["RouteTableId"])
        self._hub = Hub(builder)
        self._hub.join(builder)
        lists = deployment.ec2.describe_prefix_lists()["PrefixLists"]
        [express] = [found["Cidrs"] for found in lists if found["PrefixListName"].endswith(".s3express")]
        self._addresses = chain.from_iterable(ip_network(block).hosts() for block in express)
        self.renew()

    def renew(self) -> None:
        """Make another VPC to heal."""
        self.vpc = Vpc(self.builder, tables=2)
        self.builder.endpoint(self.vpc.id, *self.vpc.tables, service="s3")
        attachment = attach(self.builder, self._hub.gateway, self.vpc.id, self.vpc.subnets[1])
        self._hub.lead(f"{next(self._addresses)}/32", attachment)
        self.builder.route(self.vpc.tables[1], EVERY_VPC, TransitGatewayId=self._hub.gateway)
        self.foreign, self.before = self.described_foreign(), self.described_table()

    def described_table(self) -> str:
        """Return the description of the route table to heal."""
        return json.dumps(self._table(self.vpc.table), default=str)

    def described_foreign(self) -> str:
        """Return the description of everything that no heal and no undo may change."""
        endpoints = self.deployment.ec2.describe_vpc_endpoints()["VpcEndpoints"]
        others = [
            found for found in endpoints if found["VpcId"] == self.vpc.id and found["ServiceName"].endswith(".s3")
        ]
        other_vpc = self.deployment.tables(self._other), self.deployment.endpoints(self._other)
        return json.dumps([other_vpc, others, self._table(self.vpc.tables[1])], default=str)

    def _table(self, table_id: str) -> dict[str, Any]:
        [found] = [table for table in self.deployment.tables(self.vpc.id) if table["RouteTableId"] == table_id]
        return found

    @property
    def endpoints(self) -> list[str]:
        """The S3 Express endpoints of the VPC to heal."""
        return [str(endpoint["VpcEndpointId"]) for endpoint in self.deployment.endpoints(self.vpc.id)]

    @property
    def is_associated(self) -> bool:
        """Whether the table to heal has a route to an S3 Express endpoint."""
        return any(self.vpc.table in tables for tables in self.deployment.associations(self.vpc.id).values())

    @property
    def record(self) -> dict[str, Any]:
        """The ledger's item of the table to heal."""
        return self.deployment.ledger.item(f"TABLE#{self.vpc.table}")

    def require_approval(self) -> None:
        """Put the stack in mode APPROVAL."""
        self.approval = Approval(self.deployment, self.patches.setenv)

    def heal(self) -> Run:
        """Heal the subnet, approved if that is necessary."""
        if self.approval:
            self.approval.approve(self.vpc.subnet)
        return self.deployment.heal(self.vpc.subnet)

    def ask(self, answer: str = "Approve", **more: str) -> Run:
        """Run the approval runbook, and answer its request; with an empty answer, do not."""
        assert self.approval
        if not answer:
            return self.approval.run(self.vpc.subnet, **more)
        return self.approval.answer(self.approval.start(self.vpc.subnet, **more), answer)

    def undo(self, run_id: str) -> str:
        """Undo a heal, check everything that an undo promises, and return how it ended."""
        run_item = self.deployment.ledger.item(f"RUN#{run_id}")
        table, endpoints = self.described_table(), self.endpoints
        calls = self.deployment.sandbox.calls
        modified = len(calls.of("ec2", "ModifyVpcEndpoint"))
        run = self.deployment.undo(run_id)
        message = str(run.get("FailureMessage", ""))
        assert self.described_foreign() == self.foreign, "the undo changed something foreign"
        if "associatedAt" in run_item:
            assert status(run) == "Success", message
            assert self.described_table() == self.before, "the route table is not as before"
            return "undone"
        assert len(calls.of("ec2", "ModifyVpcEndpoint")) == modified, "an open intention was undone"
        assert self.described_table() == table, "the undo of an open intention changed the route table"
        if status(run) == "Success":
            assert run_item["createdEndpoint"] is True
            return "unused endpoint deleted"
        assert self.endpoints == endpoints, "the undo of an open intention deleted an endpoint"
        if not run_item:
            assert "the ledger has no such run" in message, message
            return "nothing to undo"
        for text in ("BLOCKED", "CloudTrail", run_id):
            assert text in message, message
        return "blocked"

    def heal_and_undo(self) -> str:
        """Heal by a person, check that the table uses an endpoint, undo its last heal, and return how that ended."""
        run = self.heal()
        assert status(run) == "Success", run.get("FailureMessage")
        assert (self.is_associated, self.record["state"]) == (True, "HEALED")
        assert self.described_foreign() == self.foreign, "the heal changed something foreign"
        self._check_hub()
        return self.undo(self.record["healRunId"])

    def _check_hub(self) -> None:
        """Check that a heal leaves the table of the spokes' traffic alone, also if a team gave it the endpoint."""
        hub_table = self.vpc.tables[1]
        has_endpoint = any(hub_table in tables for tables in self.deployment.associations(self.vpc.id).values())
        run = self.deployment.heal(self.vpc.subnets[1])
        if has_endpoint:
            assert status(run) == "Success", run.get("FailureMessage")
        else:
            assert "TRANSIT_TRAFFIC" in str(run.get("FailureMessage")), "a heal of the hub was not blocked"
        assert self.described_foreign() == self.foreign, "a heal of the hub changed something foreign"


def play(cell: Cell, bench: Bench) -> str:
    """Play one cell and return how its runs ended."""
    game = {HEAL: _Heal, UNDO: _Undo, APPROVED: _Ask}[cell.document](cell, bench)
    if cell.column != STALE:
        with game.troubled():
            run = game.run()
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
        if self.cell.column != DELETED:
            with automation.disturbing(self.cell.document, self.cell.step, Trouble(self.cell.column)) as disturbance:
                yield
            assert disturbance.met, f"the run skips {self.cell.step}"
            return
        met: list[str] = []
        automation.knobs.before_step = partial(self._delete, met)
        yield
        automation.knobs.before_step = None
        assert met, f"the run skips {self.cell.step}"

    def _delete(self, met: list[str], document: str, step: str) -> None:
        if (document, step) == (self.cell.document, self.cell.step) and not met:
            met.append(step)
            if endpoints := self.bench.endpoints:
                self.deployment.ec2.delete_vpc_endpoints(VpcEndpointIds=endpoints)


class _Heal(_Game):
    """A heal meets the trouble. Then it is undone, healed again, and undone again."""

    def run(self) -> Run:
        """Heal."""
        return self.bench.heal()

    def end(self, run: Run) -> str:
        """Check that a run that succeeds leaves the table healed."""
        assert status(run) != "Success" or self.bench.is_associated, "the run succeeded with nothing associated"
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
        again = self.deployment.undo(heal_id)
        message = str(again.get("FailureMessage", ""))
        assert status(again) == "Success" or "undid it already" in message, message
        assert bench.described_table() == bench.before, "the route table is not as before"
        assert bench.endpoints == [] or self.cell.situation == "used again", "the endpoint was not deleted"
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
        assert status(run) != "Success" or bench.is_associated, "the run succeeded with nothing associated"
        assert self.cell.situation != "rejected" or not bench.is_associated, "a rejected heal was made"
        again = bench.ask()
        assert (status(again), bench.is_associated) == ("Success", True), again.get("FailureMessage")
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
    """Yield the lines of the matrix: a row for each step, and a legend of the outcomes."""
    letters: dict[str, str] = {}
    for outcome in outcomes.values():
        letters.setdefault(outcome, f"{len(letters) + 1:>2}")
    width = max((len(cell.step) for cell in outcomes), default=0)
    for document in dict.fromkeys(cell.document for cell in outcomes):
        yield f"{document}"
        yield f"  {'step':{width}}  " + "  ".join(f"{column:>16}" for column in COLUMNS)
        for step in dict.fromkeys(cell.step for cell in outcomes if cell.document == document):
            shown = (letters.get(outcomes.get(Cell(document, step, column), ""), "-") for column in COLUMNS)
            yield f"  {step:{width}}  " + "  ".join(f"{letter:>16}" for letter in shown)
        yield ""
    yield from (f"{letter}  {outcome}" for outcome, letter in letters.items())
