"""Answer the steps of the runbooks that heal, ask for approval, and undo. Only the runbooks change anything."""

from typing import Any

from express_path.adapters.heal_reader import failed_steps
from express_path.adapters.heal_steps import ApprovalRequest, FailureRequest, HealRequest, UndoRequest
from express_path.domain.heal.failures import explain_failure
from express_path.errors import StepsFailedError
from express_path.heal_steps.approval import ApprovalSteps
from express_path.heal_steps.heal import HealSteps
from express_path.heal_steps.planning import Planner
from express_path.heal_steps.services import Services
from express_path.heal_steps.undo import UndoSteps

Request = HealRequest | ApprovalRequest | UndoRequest | FailureRequest


def answer_step(services: Services, request: Request) -> dict[str, Any]:
    """Return the answer to one step of a runbook, as JSON. An exception fails the step; its message says why."""
    if isinstance(request, FailureRequest):
        steps = failed_steps(services.aws.ssm, request.run_id)
        raise StepsFailedError(request.run_id, explain_failure(request.run_id, steps))
    if isinstance(request, UndoRequest):
        return UndoSteps(services).answer(request)
    planner = Planner(services)
    if isinstance(request, ApprovalRequest):
        return ApprovalSteps(services, planner).answer(request)
    return HealSteps(services, planner).answer(request)
