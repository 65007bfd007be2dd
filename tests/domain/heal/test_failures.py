"""Which failures explain why a run failed, and what to do about them."""

from express_path.domain.heal.failures import StepFailure, causes

LOST = StepFailure("release", "ConditionalCheckFailedException", "", "lost")
DENIED = StepFailure("associate", "UnauthorizedOperation", "", "denied")


def test_a_lost_race_explains_nothing_unless_nothing_else_failed() -> None:
    """A run that no longer has a request does not release it."""
    assert [failure.step for failure in causes([DENIED, LOST])] == ["associate"]
    assert causes([LOST]) == [LOST]


def test_what_to_do_depends_on_the_code() -> None:
    """The plan function may say it. A request that nobody answered is no rejection."""
    assert "AutomationRoleArn" in causes([DENIED])[0].fix
    assert causes([StepFailure("verifyPath", "NOT_CURED", "subnet-1", "NAT", "start again")])[0].fix == "start again"
    assert causes([StepFailure("associate", "", "", "unknown")])[0].fix == ""
    assert causes([StepFailure("approve", "", "", "Step timed out.")])[0].fix.startswith(
        "Systems Manager shows no rejection"
    )
