"""The order in which the steps of a runbook can run.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html
"""

from config_rule_sandbox.ssm.document import ABORT, CONTINUE, Document, Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError

BRANCH = "aws:branch"


def check_flow(document: Document) -> None:
    """Raise FaultyDocumentError if a step leads to no step, is in a loop, or is never reached.

    Automation itself verifies that there is no infinite loop. Two combinations are refused because AWS's documents
    do not say what they do: isEnd with onFailure: step:name, and isCritical: false with onFailure: Abort.
    """
    for step in document.steps.values():
        where = f"mainSteps.{step.name}"
        for name in _named(step):
            if name not in document.steps:
                raise FaultyDocumentError(where, f"there is no step {name}")
        if step.is_end and step.on_failure not in (ABORT, CONTINUE):
            raise FaultyDocumentError(
                where, "isEnd ends the automation after a failure too, so onFailure leads nowhere"
            )
        if not step.is_critical and step.on_failure == ABORT:
            raise FaultyDocumentError(where, "a step that is not critical needs an onFailure other than Abort")
    first = next(iter(document.steps))
    _check_loops(document, first, (), set())
    lost = sorted(set(document.steps) - reachable(document, first) - {first})
    if lost:
        raise FaultyDocumentError("mainSteps", f"no step leads to {lost}")


def after_success(document: Document, step: Step) -> str | None:
    """Return the name of the step after one that succeeded and, if a branch, did not jump; None at the end."""
    if step.is_end:
        return None
    return step.next_step or document.following(step.name)


def successors(document: Document, step: Step) -> set[str]:
    """Return the names of all steps that can come right after a step."""
    found = _jumps(step) | ({step.on_failure} - {ABORT, CONTINUE})
    falls_through = step.action != BRANCH or "Default" not in step.inputs
    following = after_success(document, step) if falls_through else None
    return found | ({following} if following else set())


def reachable(document: Document, name: str) -> set[str]:
    """Return the names of all steps that can come after a step, sooner or later."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for successor in successors(document, document.steps[waiting.pop()]) - found:
            found.add(successor)
            waiting.append(successor)
    return found


def leading_to(document: Document, name: str) -> set[str]:
    """Return the names of all steps that can come before a step, sooner or later."""
    following = {step.name: successors(document, step) for step in document.steps.values()}
    found: set[str] = set()
    waiting = {name}
    while waiting:
        before = {step for step, names in following.items() if not names.isdisjoint(waiting)}
        waiting = before - found
        found |= before
    return found


def _named(step: Step) -> set[str]:
    names = {step.on_failure, *([step.next_step] if step.next_step else [])}
    return (names - {ABORT, CONTINUE}) | _jumps(step)


def _jumps(step: Step) -> set[str]:
    """Return the steps that a branch can jump to; whether its inputs are in order is checked elsewhere."""
    if step.action != BRANCH:
        return set()
    choices = step.inputs.get("Choices")
    targets = (
        [choice.get("NextStep") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    )
    return {name for name in [*targets, step.inputs.get("Default")] if isinstance(name, str)}


def _check_loops(document: Document, name: str, path: tuple[str, ...], done: set[str]) -> None:
    """Raise FaultyDocumentError with the trace of a loop that `name` leads into; `done` are steps known to be well."""
    if name in path:
        raise FaultyDocumentError("mainSteps", f"infinite loop: {' -> '.join([*path[path.index(name) :], name])}")
    for successor in sorted(successors(document, document.steps[name]) - done):
        _check_loops(document, successor, (*path, name), done)
    done.add(name)
