"""Every question of a check-up, in the order in which answers are shown."""

from collections.abc import Callable
from typing import NamedTuple

from express_path_cli.doctor import access, healing, recording, rule
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.checks import Answer
from express_path_cli.doctor.permission_probes import OPTIONAL, REQUIRED

WHO, READS, CONFIG, RULE, HEALING = "Who and where", "What a scan reads", "AWS Config", "The rule", "Healing"


class Question(NamedTuple):
    """A named check; ask answers None where there is nothing to ask. Without an optional one all still works."""

    group: str
    name: str
    ask: Callable[[CheckContext], Answer | None]
    required: bool = True


QUESTIONS = (
    Question(WHO, "identity", access.identity),
    Question(WHO, "service", access.service),
    *(Question(READS, each.action, access.read(each)) for each in REQUIRED),
    *(Question(READS, each.action, access.read(each), required=False) for each in OPTIONAL),
    Question(READS, "network-role", access.network_role, required=False),
    Question(CONFIG, "recorder", recording.recorder),
    Question(CONFIG, "last-recording", recording.last_recording),
    Question(CONFIG, "recorded-types", recording.recorded_types),
    Question(CONFIG, "frequency", recording.frequency),
    Question(CONFIG, "delivery", recording.delivery),
    Question(RULE, "stack", rule.stack),
    Question(RULE, "rule", rule.rule),
    Question(RULE, "last-run", rule.last_run),
    Question(RULE, "last-error", rule.last_error),
    Question(RULE, "function", rule.function),
    Question(RULE, "errors", rule.errors, required=False),
    Question(RULE, "failed-events", rule.failed_events, required=False),
    Question(RULE, "verdicts", rule.verdicts, required=False),
    Question(HEALING, "mode", healing.mode),
    Question(HEALING, "remediation", healing.remediation),
    Question(HEALING, "heal-runbook", healing.runbook("HealDocumentName")),
    Question(HEALING, "approval-runbook", healing.runbook("ApprovalDocumentName")),
    Question(HEALING, "undo-runbook", healing.runbook("UndoDocumentName")),
    Question(HEALING, "role", healing.role),
    Question(HEALING, "plan-function", healing.plan_function),
    Question(HEALING, "ledger", healing.ledger),
    Question(HEALING, "approval", healing.approval),
    Question(HEALING, "exceptions", healing.exceptions, required=False),
    Question(HEALING, "endpoint-service", healing.endpoint_service),
    Question(HEALING, "endpoint-quota", healing.endpoint_quota, required=False),
    Question(HEALING, "automations", healing.automations, required=False),
    Question(HEALING, "calendar", healing.calendar, required=False),
)
