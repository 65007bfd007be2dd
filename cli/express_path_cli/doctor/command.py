"""express-path doctor: check whether AWS Config, the rule, your permissions and healing work."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from express_path_cli.automation.stack import DEFAULT_STACK, StackName
from express_path_cli.aws import options
from express_path_cli.aws.account_options import OneAccount, taking
from express_path_cli.aws.options import TextFormat
from express_path_cli.aws.sessions import DOCTOR_CONFIG, connect
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.checkup import Check, Checkup, examine
from express_path_cli.installation.checks import CheckState
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.files import json_document
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Terminal
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path doctor  # this account, in the Region of your AWS settings
express-path doctor --region eu-west-1 --stack network-express-path  # another Region, another stack
express-path doctor --all  # also the checks that pass
express-path doctor --format json  # for other tools
"""


ShowAll = Annotated[
    bool,
    options.how("--all", help="Show the checks that pass, too. JSON has them always."),
]


@taking(account=OneAccount)
def doctor(
    *,
    show_all: ShowAll = False,
    stack: StackName = DEFAULT_STACK,
    account: OneAccount,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Check the recorder, the rule, your permissions, and healing.

    Prints what is not OK. Changes nothing. If a read is denied, its check says so, and all other checks still run. Exit status: 0 all checks
    are OK or WARN, 1 a check is FAIL, 2 a required check could not be completed.
    """
    aws = connect(account.region, account.profile, DOCTOR_CONFIG)
    context = CheckContext(aws, stack or DEFAULT_STACK, account.command_line())
    with watching(quiet=quiet) as watch:
        checkup = examine(context, watch)
    if form is TextFormat.JSON:
        echo(as_checkup_json(checkup), nl=False)
    else:
        print_checkup(Terminal(), checkup, show_all=show_all)
    raise typer.Exit(checkup.exit_status)


SCHEMA_VERSION = 1


def as_checkup_json(found: Checkup) -> str:
    """Return every check with its state, finding and fix; accountId is null if it could not be determined."""
    checks = [
        {
            "group": check.question.group,
            "name": check.question.name,
            "required": check.question.required,
            **asdict(check.result),
        }
        for check in found.checks
    ]
    document = {
        "accountId": found.account,
        "region": found.region,
        "exitStatus": found.exit_status,
        "checks": checks,
    }
    return json_document(SCHEMA_VERSION, document)


_STYLES = {
    CheckState.OK: "green",
    CheckState.WARN: "yellow",
    CheckState.FAIL: "bold red",
    CheckState.UNKNOWN: "magenta",
}
_INDENT = 11
"""The column where findings begin: the longest state, with two spaces on either side."""
_CONCLUSIONS = {
    0: "No required check failed.",
    1: "Some checks failed: fix those marked FAIL, from the top.",
    2: "Some required checks could not be completed: fix those marked UNKNOWN or FAIL, from the top.",
}


def print_checkup(console: Console, found: Checkup, *, show_all: bool) -> None:
    """Print what is not OK, or all checks. Sentences are wrapped; commands are not, so that they can be copied."""
    account = f" of account {found.account}" if found.account else ""
    console.print(Text(f"Check-up{account} in {found.region}", style="bold"))
    printed: dict[str, str] = {}
    shown = [check for check in found.checks if show_all or check.result.state is not CheckState.OK]
    for group, checks in groupby(shown, key=lambda check: check.question.group):
        console.print()
        console.print(Text(group, style="bold"))
        _print_group(console, checks, printed)
    console.print()
    for line in Text(summary(found, show_all=show_all)).wrap(console, console.width):
        _print_line(console, line)


def _print_group(console: Console, checks: Iterable[Check], printed: dict[str, str]) -> None:
    """Print the checks of a group. Checks with the same cause share one line; printed has the causes so far.

    Checks have the same cause if they have the same fix: for example, expired credentials fail many calls.
    """
    same_cause: dict[str, list[str]] = defaultdict(list)
    for check in checks:
        name, fix = check.question.name, check.result.fix
        if check.result.state is not CheckState.UNKNOWN:
            _print_check(console, check)
        elif fix in printed:
            same_cause[printed[fix]].append(name)
        else:
            printed[fix] = name
            _print_check(console, check)
    for first, names in same_cause.items():
        state = Text(CheckState.UNKNOWN, style=_STYLES[CheckState.UNKNOWN])
        _print_beside(console, state, Text.assemble((", ".join(names), "bold"), f": for the same reason as {first}"))


def _print_check(console: Console, check: Check) -> None:
    question, answer = check.question, check.result
    optional = " (optional)" if answer.state is CheckState.UNKNOWN and not question.required else ""
    finding = Text.assemble((f"{question.name}{optional}", "bold"), ": ", answer.finding)
    _print_beside(console, Text(answer.state, style=_STYLES[answer.state]), finding)
    if answer.fix:
        _print_beside(console, Text(), Text(f"fix: {answer.fix}"))
    if answer.command:
        _print_line(console, Text(" " * _INDENT), Text(answer.command, style="cyan"))


def _print_beside(console: Console, label: Text, sentence: Text) -> None:
    """Print a sentence to the right of a label, wrapped and indented."""
    for line in sentence.wrap(console, console.width - _INDENT):
        _print_line(console, Text.assemble("  ", label, " " * (_INDENT - 2 - len(label))), line)
        label = Text()


def _print_line(console: Console, *parts: Text) -> None:
    line = Text.assemble(*parts)
    line.rstrip()
    console.print(line, soft_wrap=True)


def summary(found: Checkup, *, show_all: bool) -> str:
    """Return the number of checks that passed, and a conclusion."""
    passed = sum(check.result.state is CheckState.OK for check in found.checks)
    hint = "" if show_all else "; --all lists them"
    return f"{count_text(passed, 'check')} passed{hint}. {_CONCLUSIONS[found.exit_status]}"
