"""express-path scan: a verdict on every subnet."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from express_path.adapters.memory import gc_paused
from express_path_cli import options
from express_path_cli.formats.registry import Format
from express_path_cli.groups import Made
from express_path_cli.output import tell_about, write_result
from express_path_cli.problems import COULD_NOT_TELL, OptionError, say
from express_path_cli.progress import watching
from express_path_cli.result import Result
from express_path_cli.selection import NEVER, WORDS, Selection, judge_all, matches, parse_words

_WHAT = "What to decide"
EXAMPLES = """
express-path scan  # this account, in the Region of your AWS settings
express-path scan --all-regions --verdict NON_COMPLIANT  # every Region, only what should change
express-path scan --organization --role-name Audit  # every account
express-path scan --from-dump dump --format json  # without AWS
express-path scan --format sarif --output paths.sarif  # for code scanning
"""


def _words(incomplete: str) -> list[str]:
    """The words that a shell completes, in the case that was begun with."""
    return [each.lower() if incomplete.islower() else each for each in WORDS]


def _words_or_never(incomplete: str) -> list[str]:
    return [*_words(incomplete), NEVER]


def _subnets(
    *,
    vpc: Annotated[
        list[str] | None,
        typer.Option(metavar="VPC-ID", help="Only subnets of this VPC; repeatable.", rich_help_panel=_WHAT),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY[=VALUE]", help="Only subnets with this tag; several: with all of them.", rich_help_panel=_WHAT
        ),
    ] = None,
) -> Selection:
    for each in tag or ():
        if each.startswith("="):
            raise OptionError(f"--tag {each} has no key", "KEY or KEY=VALUE, such as team=data")
    return Selection(frozenset(vpc or ()), tuple(tag or ()))


def _failing(
    *,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            autocompletion=_words_or_never,
            help="End with status 1 if a subnet has this compliance or reason; repeatable. Default: NON_COMPLIANT. "
            "Use `never` to always exit 0, unless a read failed.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
) -> frozenset[str]:
    words = parse_words("--fail-on", fail_on or ["NON_COMPLIANT"], NEVER)
    if NEVER in words and len(words) > 1:
        raise OptionError("--fail-on never and another --fail-on cannot be used together", "leave one of them out")
    return words


def _shown(
    *,
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD",
            autocompletion=_words,
            help="Show only subnets of this compliance or reason; repeatable. The exit status still counts all.",
            rich_help_panel=options.HOW,
        ),
    ] = None,
) -> frozenset[str]:
    return parse_words("--verdict", verdict or WORDS)


def scan(
    *,
    source: options.Where,
    parameters: options.Asked,
    subnets: Annotated[Selection, Made(_subnets)],
    failing: Annotated[frozenset[str], Made(_failing)],
    shown: Annotated[frozenset[str], Made(_shown)],
    output_format: Annotated[
        Format, typer.Option("--format", "-f", help="How verdicts are written.", rich_help_panel=options.HOW)
    ] = Format.TABLE,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Show which path each subnet takes to reach S3 Express.

    Exit status: 0 nothing is NON_COMPLIANT, 1 something is, 2 something could not be determined. What could not be read
    is named on standard error, and the rest is still reported.
    """
    with gc_paused(), watching(quiet=quiet) as watch:
        seen = source.read(parameters, watch)
        seen = replace(seen, failures=[*seen.failures, *subnets.absent(seen.views, source.elsewhere)])
        verdicts = judge_all(seen.views, parameters, subnets)
    tell_about(seen, quiet=quiet)
    for each in subnets.unused_tags(seen.views) if seen.views else ():
        say(f"no subnet has the tag {each}")
    if seen.views or not seen.failures:
        listed = [each for each in verdicts if matches(each, shown)]
        result = Result(listed, datetime.now(UTC), seen.failures, seen.views, seen.notes, parameters)
        write_result(result, output_format, output, quiet=quiet)
    raise typer.Exit(COULD_NOT_TELL if seen.failures else any(matches(each, failing) for each in verdicts))
