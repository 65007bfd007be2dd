"""Every question of a check-up, in the order of the output."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from express_path_cli.doctor import access_questions, heal_questions, recorder_questions, rule_questions
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.permission_probes import OPTIONAL, REQUIRED
from express_path_cli.installation.answers import Answer

WHO, READS, CONFIG, RULE, HEALING = "Who and where", "What a scan reads", "AWS Config", "The rule", "Healing"


@dataclass(frozen=True, slots=True)
class Question:
    """A named check. `ask` returns None if the question does not apply. The rule works without an optional one."""

    group: str
    name: str
    ask: Callable[[CheckContext], Answer | None]
    required: bool = True


QUESTIONS = (
    Question(WHO, "identity", access_questions.identity),
    Question(WHO, "service", access_questions.service),
    *(Question(READS, probe.action, partial(access_questions.permission, probe)) for probe in REQUIRED),
    *(Question(READS, probe.action, partial(access_questions.permission, probe), required=False) for probe in OPTIONAL),
    Question(READS, "network-role", access_questions.network_role, required=False),
    Question(CONFIG, "recorder", recorder_questions.recorder),
    Question(CONFIG, "last-recording", recorder_questions.last_recording),
    Question(CONFIG, "recorded-types", recorder_questions.recorded_types),
    Question(CONFIG, "frequency", recorder_questions.frequency),
    Question(CONFIG, "delivery", recorder_questions.delivery),
    Question(RULE, "stack", rule_questions.stack),
    Question(RULE, "rule", rule_questions.rule),
    Question(RULE, "last-run", rule_questions.last_run),
    Question(RULE, "last-error", rule_questions.last_error),
    Question(RULE, "function", rule_questions.function),
    Question(RULE, "errors", rule_questions.errors, required=False),
    Question(RULE, "failed-events", rule_questions.failed_events, required=False),
    Question(RULE, "verdicts", rule_questions.verdicts, required=False),
    Question(HEALING, "mode", heal_questions.mode),
    Question(HEALING, "remediation", heal_questions.remediation),
    Question(HEALING, "heal-runbook", partial(heal_questions.runbook, "HealDocumentName")),
    Question(HEALING, "approval-runbook", partial(heal_questions.runbook, "ApprovalDocumentName")),
    Question(HEALING, "undo-runbook", partial(heal_questions.runbook, "UndoDocumentName")),
    Question(HEALING, "role", heal_questions.role),
    Question(HEALING, "plan-function", heal_questions.plan_function),
    Question(HEALING, "ledger", heal_questions.ledger),
    Question(HEALING, "approval", heal_questions.approval),
    Question(HEALING, "exceptions", heal_questions.exceptions, required=False),
    Question(HEALING, "endpoint-service", heal_questions.endpoint_service),
    Question(HEALING, "endpoint-quota", heal_questions.endpoint_quota, required=False),
    Question(HEALING, "automations", heal_questions.automations, required=False),
    Question(HEALING, "calendar", heal_questions.calendar, required=False),
)
