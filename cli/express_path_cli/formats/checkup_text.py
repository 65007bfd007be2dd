"""A check-up for a person: what was asked, by group, with the fix below what is not well."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.text import Text

from express_path_cli.doctor.answers import State
from express_path_cli.doctor.checkup import Check, Checkup

_STYLES = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red", State.UNKNOWN: "magenta"}
_INDENT = 11
"""Where findings begin: the longest state, with two blanks on either side."""
_ENDS = {
    0: "Nothing is in the way.",
    1: "Something fails: fix what says FAIL, from the top.",
    2: "Something that is needed could not be determined: fix what says UNKNOWN or FAIL, from the top.",
}


def print_checkup(console: Console, found: Checkup) -> None:
    """Print it; sentences are wrapped, commands never, so that they can be copied."""
    whose = f" of account {found.account}" if found.account else ""
    console.print(Text(f"Check-up{whose} in {found.region}", style="bold"))
    told: dict[str, str] = {}
    for group, checks in groupby(found.checks, key=lambda each: each.question.group):
        console.print()
        console.print(Text(group, style="bold"))
        _print_group(console, checks, told)
    console.print()
    for line in Text(summary(found)).wrap(console, console.width):
        _print_line(console, line)


def _print_group(console: Console, checks: Iterable[Check], told: dict[str, str]) -> None:
    """Print the checks of a group; a cause that several checks share is printed once, and told names where.

    The cause is known by its fix: expired credentials fail many calls, a denied call many checks.
    """
    likewise: dict[str, list[str]] = defaultdict(list)
    for each in checks:
        name, fix = each.question.name, each.answer.fix
        if each.answer.state is not State.UNKNOWN:
            _print_check(console, each)
        elif fix in told:
            likewise[told[fix]].append(name)
        else:
            told[fix] = name
            _print_check(console, each)
    for first, names in likewise.items():
        word = Text(State.UNKNOWN, style=_STYLES[State.UNKNOWN])
        _print_beside(console, word, Text.assemble((", ".join(names), "bold"), f": for the same reason as {first}"))


def _print_check(console: Console, check: Check) -> None:
    question, answer = check
    optional = " (optional)" if answer.state is State.UNKNOWN and not question.required else ""
    told = Text.assemble((f"{question.name}{optional}", "bold"), ": ", answer.finding)
    _print_beside(console, Text(answer.state, style=_STYLES[answer.state]), told)
    if answer.fix:
        _print_beside(console, Text(), Text(f"fix: {answer.fix}"))
    if answer.command:
        _print_line(console, Text(" " * _INDENT), Text(answer.command, style="cyan"))


def _print_beside(console: Console, word: Text, told: Text) -> None:
    """Print a sentence beside a word, its further lines below its first."""
    for line in told.wrap(console, console.width - _INDENT):
        _print_line(console, Text.assemble("  ", word, " " * (_INDENT - 2 - len(word))), line)
        word = Text()


def _print_line(console: Console, *parts: Text) -> None:
    line = Text.assemble(*parts)
    line.rstrip()
    console.print(line, soft_wrap=True)


def summary(found: Checkup) -> str:
    """How many checks have each state, and what that comes to."""
    counts = Counter(each.answer.state for each in found.checks)
    listed = ", ".join(f"{counts[state]} {state}" for state in State)
    return f"{len(found.checks)} checks: {listed}. {_ENDS[found.exit_status]}"
