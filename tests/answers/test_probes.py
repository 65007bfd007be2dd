"""Each answer of AWS is an outcome of its probe: the acceptance run, in a sandbox that gives the answer, reports it."""

from contextlib import suppress

import pytest

from acceptance.facts import RECORDED, Json, read
from acceptance.probes import test_without_stack
from acceptance.probes.probe import PROBES
from acceptance.run import LIMIT, Run
from acceptance.state import state_of
from config_rule_sandbox.answers import others
from config_rule_sandbox.local_aws import in_a_process
from tests.docs.generated import GROUPS, switches_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
assert test_without_stack.__doc__  # the probes are those of the modules that are imported

RUN = "answers"
REPORTED: dict[tuple[str, str], tuple[str, Json]] = {
    ("first_sweep", "at creation"): ("first-scheduled-message", [True, False]),
    ("first_sweep", "after a period"): ("first-scheduled-message", [False, False]),
    ("updated_rule", "nothing"): ("updated-rule", False),
    ("repeated_item", "absent"): ("first-evaluation", "absent"),
    ("repeated_item", "unchanged"): ("first-evaluation", "UPDATE"),
    ("repeated_item", "created"): ("first-evaluation", "CREATE"),
    ("newer_types", "refused"): ("items-of-the-other-triggers", "no answer: NotMadeError"),
    ("newer_types", "not recorded"): ("items-of-the-other-triggers", []),
    ("newer_items", "as in EC2"): ("items-of-the-other-triggers", ["ID", "prefixListId"]),
    ("newer_items", "empty"): ("items-of-the-other-triggers", ["ID"]),
    ("newer_items", "named by ARN"): ("items-of-the-other-triggers", ["ARN"]),
    ("older_result", "is replaced"): ("older-result", ["COMPLIANT"]),
    ("stored_results", "later"): ("stored-results-lag", True),
    ("raised_error", "is output"): ("raised-error", "Success"),
    ("later_steps", "absent"): ("later-steps", "None"),
    ("item_state", "object"): ("state-in-an-aggregator", {"value": "available"}),
    ("aggregator_items", "later"): ("items-in-an-aggregator", "no answer: TimeoutError"),
}
"""The fact that shows each answer, and what it says then."""


@pytest.mark.parametrize(("switch", "answer"), REPORTED)
def test_probe_reports_the_answer(monkeypatch: pytest.MonkeyPatch, switch: str, answer: str) -> None:
    """The fact is what the table says, and not what the sandbox answers by itself."""
    fact, expected = REPORTED[switch, answer]
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with in_a_process("demo.local_aws", f"{switch}={answer}") as environment:
        for name, value in {**environment, LIMIT: "20", "RUN": RUN}.items():
            monkeypatch.setenv(name, value)
        run = Run()
        with suppress(pytest.skip.Exception):
            PROBES[fact](run)
    found = run.state.facts[fact]["answer"]
    state_of(RUN).remove()
    state_of.cache_clear()
    if str(expected).startswith("no answer"):
        found = found[: len(expected)]
    assert found == expected
    assert found != read(RECORDED, "facts")[fact]["answer"]


def test_every_answer_is_reported_by_its_probe() -> None:
    """The table has each other answer of the switches of lines that only a probe shows."""
    lines = [line for lines in GROUPS.values() for line in lines if "probe" in line]
    probed = {switch for line in lines for switch in switches_of(line)}
    assert {(switch, answer) for switch, answer in others() if switch in probed} == set(REPORTED)
