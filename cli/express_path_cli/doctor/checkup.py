"""Answer all questions of a check-up in parallel. One that cannot be answered does not hide the others."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from express_path.errors import ExpressPathError
from express_path_cli.doctor.access_questions import remedy
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.questions import QUESTIONS, Question
from express_path_cli.installation.answers import Answer, State, unknown
from express_path_cli.terminal.errors import UNDETERMINED
from express_path_cli.terminal.progress import Watch

WORKERS = 8
"""How many questions are answered at the same time."""
FAILED = 1
"""The exit status if a check fails."""


@dataclass(frozen=True, slots=True)
class Check:
    """A question and its answer."""

    question: Question
    answer: Answer


@dataclass(frozen=True, slots=True)
class Checkup:
    """All checks of an account and Region. The account is None if the caller's identity could not be read."""

    account: str | None
    region: str
    checks: Sequence[Check]

    @property
    def exit_status(self) -> int:
        """Return 0 if all are OK or WARN, 1 if a check fails, 2 if a required one could not be determined."""
        if any(check.answer.state is State.UNKNOWN and check.question.required for check in self.checks):
            return UNDETERMINED
        return FAILED if any(check.answer.state is State.FAIL for check in self.checks) else 0


def examine(context: CheckContext, watch: Watch) -> Checkup:
    """Ask all questions, and return the answers in their order."""
    watch.expect(len(QUESTIONS))
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(partial(_answer, context, watch), QUESTIONS))
    checks = [Check(question, answer) for question, answer in zip(QUESTIONS, answers, strict=True) if answer]
    return Checkup(_account(context), context.aws.region, checks)


def _answer(context: CheckContext, watch: Watch, question: Question) -> Answer | None:
    """Return the answer to one question, UNKNOWN if it cannot be answered."""
    try:
        return _with_aws_options(question.ask(context), context.aws_options)
    except ExpressPathError as error:
        return unknown(str(error), remedy(error))
    finally:
        watch.done(question.name)


def _with_aws_options(answer: Answer | None, aws_options: str) -> Answer | None:
    """Return the answer with these options added to its command, if that is one of the AWS CLI."""
    if answer is None or not answer.command.startswith("aws "):
        return answer
    return replace(answer, command=answer.command + aws_options)


def _account(context: CheckContext) -> str | None:
    try:
        return context.caller().account_id
    except ExpressPathError:
        return None
