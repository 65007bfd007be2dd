"""Each switch for what AWS does not document is played, and belongs to a line of what we rely on."""

from config_rule_sandbox.answers import others, switches
from tests.answers.customer import Outcome
from tests.answers.page import DOCUMENT, documented
from tests.answers.parts import PARTS, rows
from tests.docs.generated import GROUPS, switches_of

LINES = [line for lines in GROUPS.values() for line in lines]


def test_every_other_answer_is_played() -> None:
    """Each switch has a part of the story that its answers can touch, and each part is played under the sandbox's own, too."""
    assert PARTS.keys() == switches().keys()
    assert all(PARTS.values())
    played = [row.answers for row in rows()]
    assert {answers[0] for answers in played if len(answers) == 1} == set(others())
    parts = {part for parts in PARTS.values() for part in parts}
    assert {row.part for row in rows() if not row.answers} == parts
    assert all(part.__doc__ for part in parts)


def test_page_names_rows_that_are_played() -> None:
    """It says of no row that it is wrong in silence. `make answers` compares the outcomes."""
    found = documented(DOCUMENT.read_text(encoding="utf-8"))
    assert found
    assert found.keys() <= {str(row) for row in rows()}
    assert set(found.values()) == {Outcome.NEXT_SWEEP, Outcome.SAID}


def test_every_switch_belongs_to_a_line() -> None:
    """A line that only a probe shows names the switches for it. No switch is unknown, or without a line."""
    named = [switch for line in LINES for switch in switches_of(line)]
    assert set(named) == switches().keys()
    assert [line["probe"] for line in LINES if "probe" in line and not switches_of(line)] == []
