"""A check-up: every question in the order in which it is shown, and the answers."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from express_path.adapters.health import HEALS_FAIL, NO_STOP
from express_path.errors import ExpressPathError
from express_path_cli.doctor import healing, integrations, permissions, rule
from express_path_cli.doctor.check_context import CheckContext, DoesNotApplyError, needed
from express_path_cli.doctor.permissions import OPTIONAL, REQUIRED, Probe, remedy
from express_path_cli.installation.checks import CheckResult, CheckState, unknown
from express_path_cli.terminal.errors import UNDETERMINED
from express_path_cli.terminal.progress import Watch

WHO, READS, CONFIG, RULE, HEALING = "Who and where", "What a scan reads", "AWS Config", "The rule", "Healing"


Ask = Callable[[CheckContext], CheckResult | None]


@dataclass(frozen=True, slots=True)
class Question:
    """A named check. `ask` returns None or raises DoesNotApplyError if the question does not apply.

    The rule works without an optional one.
    """

    group: str
    name: str
    ask: Ask
    required: bool = True


def _questions(group: str, *asked: Ask, required: bool = True) -> list[Question]:
    """Return questions that are named as their functions, with hyphens."""
    return [Question(group, ask.__name__.replace("_", "-"), ask, required) for ask in asked]


def _permissions(probes: Sequence[Probe], *, required: bool) -> list[Question]:
    """Return a question for each permission."""
    return [Question(READS, probe.action, partial(permissions.permission, probe), required) for probe in probes]


QUESTIONS = (
    *_questions(WHO, permissions.identity, permissions.service),
    *_permissions(REQUIRED, required=True),
    *_permissions(OPTIONAL, required=False),
    *_questions(READS, permissions.network_role, required=False),
    *_questions(CONFIG, rule.recorder, rule.last_recording, rule.recorded_types, rule.frequency, rule.delivery),
    *_questions(RULE, rule.stack, rule.rule, rule.last_run, rule.last_error, rule.function),
    *_questions(RULE, rule.decoys, rule.errors, rule.sweep, rule.health, required=False),
    *_questions(RULE, rule.alarm_topic, rule.alarm, rule.notices, required=False),
    *_questions(RULE, rule.verdicts, integrations.security_hub, required=False),
    *_questions(HEALING, healing.mode),
    *_questions(HEALING, healing.stop, required=False),
    Question(HEALING, "stop-role", partial(healing.role, "StopRole", NO_STOP)),
    *_questions(HEALING, healing.remediation),
    Question(HEALING, "heal-runbook", partial(healing.runbook, "HealDocument")),
    Question(HEALING, "approval-runbook", partial(healing.runbook, "ApprovalDocument")),
    Question(HEALING, "undo-runbook", partial(healing.runbook, "UndoDocument")),
    Question(HEALING, "role", partial(healing.role, "AutomationRole", HEALS_FAIL)),
    *_questions(HEALING, healing.plan_function),
    Question(HEALING, "plan-role", partial(healing.role, "PlanRole", HEALS_FAIL)),
    *_questions(HEALING, healing.ledger, healing.approval),
    *_questions(HEALING, healing.exceptions, healing.waiting, healing.endpoint_policy, required=False),
    *_questions(HEALING, healing.endpoint_service),
    *_questions(HEALING, healing.endpoint_quota, healing.automations, healing.calendar, required=False),
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
        checks = list(filter(None, pool.map(partial(_check, context, watch), QUESTIONS)))
    try:
        account_id = context.caller().account_id
    except ExpressPathError:
        account_id = None
    return Checkup(account_id, context.aws.region, checks)


def _check(context: CheckContext, watch: Watch, question: Question) -> Check | None:
    """Return the answer to one question, UNKNOWN if it cannot be answered. A command of the AWS CLI gets the options."""
    try:
        answer = needed(question.ask(context))
    except DoesNotApplyError:
        return None
    except ExpressPathError as error:
        answer = unknown(str(error), remedy(error))
    finally:
        watch.done(question.name)
    if answer.command.startswith("aws "):
        answer = replace(answer, command=answer.command + context.aws_options)
    return Check(question, answer)
