"""An explanation as JSON, for other tools."""

import json
from dataclasses import asdict
from typing import Any

from express_path.adapters.heal_steps import plan_fields
from express_path.adapters.serialization import capacity_answer, verdict_answer
from express_path_cli.explain.explanation import Explanation
from express_path_cli.explain.route_selection import CandidateRoute, RouteSelection

SCHEMA_VERSION = 1


def as_explanation_json(explanation: Explanation) -> str:
    """Return verdict, competing routes, capacity and plan; the plan has the form that the runbook gets."""
    verdict, plan = explanation.verdict, explanation.proposal.plan
    remedy = explanation.remedy
    location = {"accountId": verdict.account_id, "region": verdict.region, "vpcId": verdict.vpc_id}
    document = {
        "schemaVersion": SCHEMA_VERSION,
        **location,
        **verdict_answer(verdict),
        "names": explanation.names.fields(),
        "isMainRouteTable": explanation.is_main,
        "advice": remedy.advice if remedy else "",
        "remedy": asdict(remedy) if remedy else None,
        "contests": [_route_selection(selection) for selection in explanation.route_selections],
        "capacity": [capacity_answer(capacity) for capacity in explanation.capacities],
        "plan": plan_fields(plan),
        "unchecked": list(explanation.proposal.unchecked),
        "notes": list(explanation.notes),
    }
    return json.dumps(document, indent=2) + "\n"


def _route_selection(selection: RouteSelection) -> dict[str, Any]:
    return {
        "routeTableId": selection.table.id,
        "blocks": [str(block) for block in selection.blocks],
        "routes": [_candidate(candidate) for candidate in selection.candidates],
        "otherRoutes": selection.other_routes,
    }


def _candidate(candidate: CandidateRoute) -> dict[str, Any]:
    return {
        "destination": str(candidate.route.destination),
        "target": candidate.route.target_id,
        "state": candidate.route.state,
        "wins": candidate.wins,
        "mayWin": candidate.may_win,
        "why": candidate.why,
    }
