"""The table of `make answers`: a row for each other answer of AWS and each part of the story that it can touch.

It fails if a row is wrong in silence, or is not as docs/what-aws-leaves-open.md says. Only `make answers` plays it.
"""

from collections.abc import Callable

import pytest

from config_rule_sandbox.answers import Answers
from tests.answers.customer import HEALS, RUN, SWEEP, Outcome, customer
from tests.answers.page import expected
from tests.answers.parts import AVOIDED, Row, rows


@pytest.mark.parametrize("row", list(rows()), ids=str)
def test_row(row: Row, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]) -> None:
    """Whatever AWS answers, the part works, or an operator is told."""
    record_property("row", row.cells)
    asked: set[str] = set()

    def ask(answers: Answers, name: str) -> object:
        asked.add(name)
        return object.__getattribute__(answers, name)

    with customer(monkeypatch, row.answers) as played:
        monkeypatch.setattr(Answers, "__getattribute__", ask)
        outcome = row.part(played)
    record_property("outcome", str(outcome))
    assert outcome is not Outcome.SILENT
    depends = dict(row.answers).keys() - AVOIDED
    assert asked & dict(row.answers).keys() == depends, (
        "the part must depend on each answer that express-path does not avoid"
    )
    assert row.answers or outcome is Outcome.WORKS, "a part must work under the sandbox's own answers"
    assert outcome == expected(row), (
        "docs/what-aws-leaves-open.md says something else: run python -m tests.answers.page"
    )


def test_what_is_only_listed_is_wrong_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that failed lists its subnet as one that it would have moved, and gives a reason that is about the route table."""
    with customer(monkeypatch, ()) as played:
        played.deploy(RemediationMode="OFF")
        played.sandbox.faults.deny("ec2", "CreateVpcEndpoint")
        failed = played.run("heal", played.vpc.subnet, "--yes")
        assert played.vpc.subnet in failed.stdout
        told = [[RUN], [*HEALS, SWEEP, RUN]]
        assert [played.outcome(lambda: False, about, played.vpc.subnet) for about in told] == [Outcome.SILENT] * 2
        assert played.outcome(lambda: False, [RUN], played.vpc.table) is Outcome.SAID
        assert played.outcome(lambda: False, HEALS, played.vpc.table) is Outcome.SILENT
