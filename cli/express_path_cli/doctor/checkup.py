"""Asking all questions, several at once; one that cannot be answered never hides the others."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from express_path.errors import ExpressPathError
from express_path_cli.doctor.access_questions import remedy
from express_path_cli.doctor.answers import Answer, State, unknown
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.questions import QUESTIONS, Question
from express_path_cli.problems import UNDETERMINED
from express_path_cli.progress import Watch

WORKERS = 8
"""How many questions are asked at once."""
FAILED = 1
"""Exit status where something fails."""


class Check(NamedTuple):
    """A question and its answer."""

    question: Question
    answer: Answer


class Checkup(NamedTuple):
    """All that was asked; account is None where not even that is known."""

    account: str | None
    region: str
    checks: Sequence[Check]

    @property
    def exit_status(self) -> int:
        """0 where all is OK or WARN, 1 where something fails, 2 where something needed could not be determined."""
        if any(each.answer.state is State.UNKNOWN and each.question.required for each in self.checks):
            return UNDETERMINED
        return FAILED if any(each.answer.state is State.FAIL for each in self.checks) else 0


def examine(context: CheckContext, watch: Watch) -> Checkup:
    """Ask everything."""

    def ask(question: Question) -> Answer | None:
        try:
            return _repeatable(question.ask(context), context.again)
        except ExpressPathError as error:
            return unknown(str(error), remedy(error))
        finally:
            watch.done(question.name)

    watch.expect(len(QUESTIONS))
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(ask, QUESTIONS))
    checks = [Check(question, answer) for question, answer in zip(QUESTIONS, answers, strict=True) if answer]
    return Checkup(_account(context), context.aws.region, checks)


def _repeatable(answer: Answer | None, again: str) -> Answer | None:
    """The answer with the options of this call at the end of its command, if that is one of the AWS CLI."""
    if answer is None or not answer.command.startswith("aws "):
        return answer
    return answer._replace(command=answer.command + again)


def _account(context: CheckContext) -> str | None:
    try:
        return context.caller().account_id
    except ExpressPathError:
        return None
