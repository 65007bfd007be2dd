"""The switches for what AWS does not document."""

import re

import pytest

from config_rule_sandbox.answers import Answers, others, switches
from config_rule_sandbox.server import Sandbox


def test_every_other_answer_can_be_given(sandbox: Sandbox) -> None:
    """Every switch has at least one other answer, a reset gives the sandbox's own again, and each says what it means."""
    assert {switch for switch, _ in others()} == switches().keys() == vars(Answers()).keys()
    assert list(vars(Answers()).values()) == [next(iter(kind)) for kind in switches().values()]
    for switch, answer in others():
        before = getattr(sandbox.answers, switch)
        sandbox.answers.set(switch, answer)
        assert getattr(sandbox.answers, switch) == answer != before
        sandbox.reset()
        assert getattr(sandbox.answers, switch) == before
        assert re.match("(What|How) ", type(before).__doc__ or "")


def test_unknown_switches_and_answers_are_errors() -> None:
    """They are named, with what is allowed for a switch."""
    with pytest.raises(ValueError, match="'weather' is none of the switches remediation_trigger, "):
        Answers().set("weather", "fine")
    with pytest.raises(ValueError, match="'never' is not a valid LaterSteps"):
        Answers().set("later_steps", "never")
