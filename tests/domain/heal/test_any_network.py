"""A plan and a remedy of every subnet of any random network, also where accounts disagree: none of them raises an error."""

from random import Random

import pytest
from hypothesis import event, given, settings

from express_path.domain.heal.plan import PlanContext, is_healable, make_plan
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import CHANGING, HealSettings, PlanAction
from express_path.domain.heal.transit import cut_off
from express_path.domain.network.merging import merged
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import Remedies, needs_remedy
from express_path.domain.verdict.evaluator import Evaluator
from tests.support.drawing import SEEDS
from tests.support.heal_situation import NOW
from tests.support.random_networks import SUBNETS, parameters, partly, snapshots

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@settings(max_examples=250)
@given(seed=SEEDS)
def test_one_strange_subnet_hides_no_plan_and_no_remedy(seed: int) -> None:
    """A heal that changes something starts from a route table that is certain; everything else is blocked and said."""
    random = Random(seed)
    snapshot, rule = snapshots()(random), parameters()(random)
    network = merged([snapshot, partly(snapshot, snapshots()(random), random)])
    evaluator = Evaluator(Tracer(network), rule)
    remedies = Remedies([evaluator])
    for vpc_id in network.vpcs:
        list(cut_off(evaluator.tracer, vpc_id))
    for subnet_id in SUBNETS:
        verdict = evaluator.verdict(subnet_id)
        plan = make_plan(evaluator, subnet_id, PlanContext(Evidence(), HealSettings(), NOW))
        tables = evaluator.tracer.possible_tables(network.subnets[subnet_id])
        event(f"{plan.action} {None in tables}")
        assert (remedies.of(verdict) is not None) == needs_remedy(verdict)
        if verdict.is_flagged and is_healable(verdict) and None in tables:
            assert plan.action is PlanAction.BLOCKED
        assert bool(plan.blockers) == (plan.action is PlanAction.BLOCKED)
        assert plan.action not in CHANGING or plan.verdict.is_flagged
