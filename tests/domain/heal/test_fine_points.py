"""Fine points of a plan: which endpoint fits, which policies and lists are asked, what counts."""

import pytest

from express_path.domain.healing import Action
from express_path.domain.network import Route
from tests.domain.heal.situation import TO_NAT, network, planned
from tests.domain.make import endpoint, route

ROUTED = route("pl-express", "vpce-express")
MARKED = {"express-path:run": "run-1", "express-path:endpoint": "vpce-express"}


@pytest.mark.parametrize(
    ("tags", "routes", "unfinished"),
    [
        (MARKED, (TO_NAT, ROUTED), True),
        ({**MARKED, "express-path:healed": "2026-11-21T12:00:00+00:00"}, (TO_NAT, ROUTED), False),
        ({**MARKED, "express-path:endpoint": "vpce-other"}, (TO_NAT, ROUTED), False),
        ({"express-path:run": "run-1"}, (TO_NAT, ROUTED), False),
        ({"express-path:endpoint": "vpce-express"}, (TO_NAT, ROUTED), False),
        ({}, (TO_NAT, ROUTED), False),
        (MARKED, (route("0.0.0.0/0", "igw-1"),), False),
        (MARKED, (TO_NAT,), False),
    ],
    ids=[
        "interrupted",
        "ended",
        "other endpoint",
        "no endpoint",
        "no run",
        "not ours",
        "not associated",
        "to be healed",
    ],
)
def test_interrupted_heal_is_told(tags: dict[str, str], routes: tuple[Route, ...], unfinished: bool) -> None:
    """A table that a run marked and associated, and never came to tag as healed, is to be finished."""
    plan = planned(network(*routes, endpoints=(endpoint(),), tags=tags))
    assert plan.is_unfinished is unfinished


def test_subnet_that_is_gone_has_no_unfinished_heal() -> None:
    """Without a table, there is nothing to finish."""
    plan = planned(network(subnets=()))
    assert (plan.action, plan.is_unfinished) == (Action.NOTHING_TO_DO, False)
