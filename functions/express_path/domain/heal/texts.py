"""What people read about heals and undos. Each sentence is made here from fields, and no program reads it again."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from express_path.domain.heal.failures import StepFailure
from express_path.domain.heal.ledger_records import RunRecord
from express_path.domain.heal.records import CHANGING, Concern, PlanAction
from express_path.domain.heal.undo_plan import UndoFact, UndoFactCode


class PlanFacts(Protocol):
    """What the sentences about a plan need of it."""

    @property
    def action(self) -> PlanAction:
        """What the heal would do."""

    @property
    def subnet_id(self) -> str:
        """The subnet to heal."""

    @property
    def annotation(self) -> str:
        """The annotation of the subnet's verdict."""

    @property
    def blockers(self) -> Sequence[Concern]:
        """What blocks the heal."""

    @property
    def warnings(self) -> Sequence[Concern]:
        """What only warns."""

    @property
    def judged(self) -> Sequence[str]:
        """The holders of the policies that were read."""


MOST_NAMED = 5
"""How many policies a plan names."""


def one_line(parts: Iterable[str]) -> str:
    """Return the parts in one line, which is for people only."""
    return " | ".join(parts)


def plan_text(plan: PlanFacts) -> str:
    """Return a plan in one line, with every blocker and warning and what to do about it, and what was judged."""
    return one_line([f"{plan.action} for {plan.subnet_id}: {plan.annotation}", *finding_texts(plan)])


def finding_texts(plan: PlanFacts) -> Iterator[str]:
    """Yield a text for each blocker and warning of a plan, and which policies were judged if the heal changes something."""
    yield from map(concern_text, plan.blockers)
    yield from map(_warning_text, plan.warnings)
    if plan.action in CHANGING:
        yield judged_text(plan.judged)


def concern_text(concern: Concern) -> str:
    """Return a blocker or warning with its evidence and what to do, in one line.

    The evidence may contain what the owner of a resource wrote. With a line break, it could look like another blocker.
    """
    return " ".join(f"{concern.code}: {concern.evidence}; {concern.fix}".split())


def _warning_text(warning: Concern) -> str:
    return f"warning {concern_text(warning)}"


def judged_text(holders: Sequence[str]) -> str:
    """Return which policies were checked, and which a plan cannot read."""
    unread = "identity policies, SCPs, RCPs, and policies of other accounts' buckets"
    if not holders:
        return f"no policy of a directory bucket or access point was checked, nor {unread}"
    more = f" and {len(holders) - MOST_NAMED} more" if len(holders) > MOST_NAMED else ""
    return f"policies checked: {', '.join(holders[:MOST_NAMED])}{more}; not checked: {unread}"


def how_to_undo(heal: RunRecord | None) -> str:
    """Return how to undo the last heal that started to associate a route table; None if there is no such heal."""
    if heal is None:
        return "nothing to undo: no heal associated the route table"
    if heal.unconfirmed_since:
        return (
            f"unconfirmed: run {heal.run_id} started to associate the route table, and whether it succeeded is not recorded, so "
            f"it cannot be undone; express-path undo {heal.run_id} says what to look for"
        )
    return f"to undo: express-path undo {heal.run_id}, or start RemoveS3ExpressGatewayEndpoint with RunId={heal.run_id}"


_FACTS = {
    UndoFactCode.DISASSOCIATE: "{resource} will no longer use {evidence}",
    UndoFactCode.NOT_ASSOCIATED: "{resource} does not use {evidence}",
    UndoFactCode.UNCONFIRMED: "the ledger does not confirm that the heal associated the route table",
    UndoFactCode.DELETE_ENDPOINT: "{resource} will be deleted: a heal created it, and no other route table uses it",
    UndoFactCode.KEEP_ENDPOINT: "{resource} stays: {evidence}",
    UndoFactCode.ENDPOINT_GONE: "{resource} was already deleted",
    UndoFactCode.MOVE: "{resource} will {evidence}",
    UndoFactCode.MORE_MOVES: "and {evidence} more subnets of {resource}",
}


def undo_fact_text(fact: UndoFact) -> str:
    """Return one fact about an undo."""
    return _FACTS[fact.code].format(resource=fact.resource, evidence=fact.evidence)


def failure_text(failure: StepFailure) -> str:
    """Return why a step failed, with the blockers and warnings of a blocked heal."""
    if not failure.blockers:
        return failure.evidence
    concerns = [*map(concern_text, failure.blockers), *map(_warning_text, failure.warnings)]
    return one_line([f"{PlanAction.BLOCKED} for {failure.resource}: {failure.evidence}", *concerns])


def failure_texts(failures: Sequence[StepFailure]) -> Iterator[str]:
    """Yield why a run failed, the last failure first, and each fix once. failures are in the order of their ends."""
    yield "; before that, ".join(
        f"step {failure.step} failed: {failure_text(failure)}" for failure in reversed(failures)
    )
    yield from (f"fix: {fix}" for fix in dict.fromkeys(failure.fix for failure in reversed(failures)) if fix)
