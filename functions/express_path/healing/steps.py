"""Answer any step of a runbook."""

from typing import Any

from express_path.adapters.heal_reader import failed_steps
from express_path.adapters.heal_requests import ApprovalRequest, FailureRequest, HealStepRequest, UndoRequest
from express_path.adapters.step_failures import failure_answer
from express_path.healing.approval import answer_approval
from express_path.healing.heal import HealSteps
from express_path.healing.planning import Planner
from express_path.healing.services import HealServices
from express_path.healing.undo import UndoSteps

StepRequest = HealStepRequest | ApprovalRequest | UndoRequest | FailureRequest


def answer_step(services: HealServices, request: StepRequest) -> dict[str, Any]:
    """Return the answer to one step of a runbook, as JSON. An exception fails the step; its message says why."""
    if isinstance(request, FailureRequest):
        return failure_answer(request.run_id, failed_steps(services.aws.ssm, request.run_id))
    if isinstance(request, UndoRequest):
        return UndoSteps(services).answer(request)
    planner = Planner(services)
    if isinstance(request, ApprovalRequest):
        return answer_approval(services, planner, request)
    return HealSteps(services, planner).answer(request)
