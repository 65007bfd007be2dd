"""What shows later whether the owners or the policy of what a heal left have changed."""

from express_path.domain.heal.ownership import marks_of
from express_path.domain.heal.records import HealSettings
from tests.support.make import endpoint, table


def test_owners_and_the_policy_are_marked() -> None:
    """An undo finds whether one of them changed."""
    stack = {"aws:cloudformation:stack-name": "network"}
    marks = marks_of(endpoint(tags=stack), "{}", table("rtb-1"), HealSettings())
    assert (marks.endpoint_owner, marks.table_owner) == ("aws:cloudformation:stack-name=network", "")
    assert marks != marks_of(endpoint(tags=stack), '{"Statement": []}', table("rtb-1"), HealSettings())
