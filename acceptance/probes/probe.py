"""A probe's outcome: an answer of AWS, or why there is none. Neither fails the run."""

from collections.abc import Callable
from functools import wraps

import pytest

from acceptance.interruptions import is_interruption
from acceptance.run import Run

Probe = Callable[[Run], None]
PROBES: dict[str, Probe] = {}
"""The probe of each fact, of the modules that are imported."""


def probe(service: str, *facts: str) -> Callable[[Probe], Probe]:
    """Mark a function that adds facts about a service. What it cannot add becomes a fact without an answer.

    That may be a stack that could not be made, a call that is denied, or an answer that looks different.
    """

    def decorated(function: Probe) -> Probe:
        @wraps(function)
        def ask(run: Run) -> None:
            for fact in facts:
                run.state.facts.pop(fact, None)
            run.begin()
            try:
                function(run)
            # Whatever AWS does is an outcome. A mistake of the probe's shows in the sandbox, whose facts are compared.
            except Exception as error:
                if is_interruption(error):
                    raise
                why = f"no answer: {type(error).__name__}: {error}"
                missing = [fact for fact in facts if fact not in run.state.facts]
                for fact in missing:
                    run.add(fact, service, function.__doc__ or "", why)
                pytest.skip(f"{', '.join(missing)}: {why}")

        PROBES.update(dict.fromkeys(facts, ask))
        return ask

    return decorated
