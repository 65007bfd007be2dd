"""An explanation as JSON, for other tools."""

import json
from typing import Any

from express_path.adapters.heal_answers import plan_fields
from express_path.adapters.serialization import capacity_answer, verdict_answer
from express_path_cli.explanation.advice import advice
from express_path_cli.explanation.explanation import Explanation
from express_path_cli.explanation.route_selection import Contest

SCHEMA_VERSION = 1


def as_explanation_json(told: Explanation) -> str:
    """Verdict, routes that competed, capacity and plan; the plan as the runbook gets it."""
    verdict, plan = told.verdict, told.proposal.plan
    place = {"accountId": verdict.account_id, "region": verdict.region, "vpcId": verdict.vpc_id}
    document = {
        "schemaVersion": SCHEMA_VERSION,
        **place,
        **verdict_answer(verdict),
        "isMainRouteTable": told.is_main,
        "advice": advice(verdict),
        "contests": [_contest(each) for each in told.contests],
        "capacity": [capacity_answer(each) for each in told.capacities],
        "plan": plan_fields(plan),
        "unchecked": list(told.proposal.unchecked),
    }
    return json.dumps(document, indent=2) + "\n"


def _contest(contest: Contest) -> dict[str, Any]:
    routes = [
        {
            "destination": str(each.route.destination),
            "target": each.route.target_id,
            "state": each.route.state,
            "wins": each.wins,
            "mayWin": each.may_win,
            "why": each.why,
        }
        for each in contest.candidates
    ]
    blocks = [str(each) for each in contest.blocks]
    return {"routeTableId": contest.table.id, "blocks": blocks, "routes": routes, "otherRoutes": contest.others}
