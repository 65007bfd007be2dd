"""A check-up: every question in the order in which it is shown, and the answers."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from express_path.errors import ExpressPathError
from express_path_cli.doctor import healing, integrations, permissions, rule
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.permissions import OPTIONAL, REQUIRED, remedy
from express_path_cli.installation.checks import CheckResult, CheckState, unknown
from express_path_cli.terminal.errors import UNDETERMINED
from express_path_cli.terminal.progress import Watch

WHO, READS, CONFIG, RULE, HEALING = "Who and where", "What a scan reads", "AWS Config", "The rule", "Healing"


@dataclass(frozen=True, slots=True)
class Question:
    """A named check. `ask` returns None if the question does not apply. The rule works without an optional one."""

    group: str
    name: str
    ask: Callable[[CheckContext], CheckResult | None]
    required: bool = True


QUESTIONS = (
    Question(WHO, "identity", permissions.identity),
    Question(WHO, "service", permissions.service),
    *(Question(READS, probe.action, partial(permissions.permission, probe)) for probe in REQUIRED),
    *(Question(READS, probe.action, partial(permissions.permission, probe), required=False) for probe in OPTIONAL),
    Question(READS, "network-role", permissions.network_role, required=False),
    Question(CONFIG, "recorder", rule.recorder),
    Question(CONFIG, "last-recording", rule.last_recording),
    Question(CONFIG, "recorded-types", rule.recorded_types),
    Question(CONFIG, "frequency", rule.frequency),
    Question(CONFIG, "delivery", rule.delivery),
    Question(RULE, "stack", rule.stack),
    Question(RULE, "rule", rule.rule),
    Question(RULE, "last-run", rule.last_run),
    Question(RULE, "last-error", rule.last_error),
    Question(RULE, "function", rule.function),
    Question(RULE, "errors", rule.errors, required=False),
    Question(RULE, "sweep", rule.sweep, required=False),
    Question(RULE, "alarm-topic", rule.alarm_topic, required=False),
    Question(RULE, "alarm", rule.alarm, required=False),
    Question(RULE, "notices", rule.notices, required=False),
    Question(RULE, "verdicts", rule.verdicts, required=False),
    Question(RULE, "security-hub", integrations.security_hub, required=False),
    Question(HEALING, "mode", healing.mode),
    Question(HEALING, "stop", healing.stop, required=False),
    Question(HEALING, "stop-role", healing.stop_role),
    Question(HEALING, "remediation", healing.remediation),
    Question(HEALING, "heal-runbook", partial(healing.runbook, "HealDocumentName")),
    Question(HEALING, "approval-runbook", partial(healing.runbook, "ApprovalDocumentName")),
    Question(HEALING, "undo-runbook", partial(healing.runbook, "UndoDocumentName")),
    Question(HEALING, "role", healing.role),
    Question(HEALING, "plan-function", healing.plan_function),
    Question(HEALING, "plan-role", healing.plan_role),
    Question(HEALING, "ledger", healing.ledger),
    Question(HEALING, "approval", healing.approval),
    Question(HEALING, "exceptions", healing.exceptions, required=False),
    Question(HEALING, "endpoint-service", healing.endpoint_service),
    Question(HEALING, "endpoint-quota", healing.endpoint_quota, required=False),
    Question(HEALING, "automations", healing.automations, required=False),
    Question(HEALING, "calendar", healing.calendar, required=False),
)

WORKERS = 8
"""How many questions are answered at the same time."""
FAILED = 1
"""The exit status if a check fails."""


@dataclass(frozen=True, slots=True)
class Check:
    """A question, and the result of asking it."""

    question: Question
    result: CheckResult


@dataclass(frozen=True, slots=True)
class Checkup:
    """All checks of an account and Region. The account is None if the caller's identity could not be read."""

    account: str | None
    region: str
    checks: Sequence[Check]

    @property
    def exit_status(self) -> int:
        """Return 0 if all are OK or WARN, 1 if a check fails, 2 if a required one could not be determined."""
        if any(check.result.state is CheckState.UNKNOWN and check.question.required for check in self.checks):
            return UNDETERMINED
        return FAILED if any(check.result.state is CheckState.FAIL for check in self.checks) else 0


def examine(context: CheckContext, watch: Watch) -> Checkup:
    """Ask all questions, and return the answers in their order."""
    watch.expect(len(QUESTIONS))
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(partial(_answer, context, watch), QUESTIONS))
    checks = [Check(question, answer) for question, answer in zip(QUESTIONS, answers, strict=True) if answer]
    return Checkup(_account(context), context.aws.region, checks)


def _answer(context: CheckContext, watch: Watch, question: Question) -> CheckResult | None:
    """Return the answer to one question, UNKNOWN if it cannot be answered."""
    try:
        return _with_aws_options(question.ask(context), context.aws_options)
    except ExpressPathError as error:
        return unknown(str(error), remedy(error))
    finally:
        watch.done(question.name)


def _with_aws_options(answer: CheckResult | None, aws_options: str) -> CheckResult | None:
    """Return the answer with these options added to its command, if that is one of the AWS CLI."""
    if answer is None or not answer.command.startswith("aws "):
        return answer
    return replace(answer, command=answer.command + aws_options)


def _account(context: CheckContext) -> str | None:
    try:
        return context.caller().account_id
    except ExpressPathError:
        return None
