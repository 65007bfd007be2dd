"""express-path scan: a verdict on every subnet."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from express_path.adapters.memory import gc_paused
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli import options
from express_path_cli.formats.registry import Format, format_of
from express_path_cli.output import show_failures_and_notes, write_result
from express_path_cli.problems import UNDETERMINED, OptionError
from express_path_cli.progress import watching
from express_path_cli.resource_labels import notes_on_tags
from express_path_cli.result import NetworkViews, Result
from express_path_cli.selection import NEVER, WORDS, Selection, evaluate_all, matches, parse_words
from express_path_cli.sources.live import LiveOptions
from express_path_cli.sources.source import Source

EXAMPLES = """
express-path scan  # this account, in the Region of your AWS settings
express-path scan --all-regions --verdict NON_COMPLIANT  # every Region, only what should change
express-path scan --organization --role-name Audit  # every account
express-path scan --from-dump dump --format json  # without AWS
express-path scan --format sarif --output paths.sarif  # for code scanning
"""


def _complete_word(incomplete: str) -> list[str]:
    """Return what a shell completes a compliance or a reason to, in the case of what was typed."""
    return [word.lower() if incomplete.islower() else word for word in WORDS]


def _complete_word_or_never(incomplete: str) -> list[str]:
    return [*_complete_word(incomplete), NEVER]


VpcIds = Annotated[
    list[str] | None,
    typer.Option("--vpc", metavar="VPC-ID", help="Only subnets of this VPC; repeatable.", rich_help_panel=options.WHAT),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="KEY[=VALUE]",
        help="Only subnets with this tag; if repeated, with all of them.",
        rich_help_panel=options.WHAT,
    ),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD",
        autocompletion=_complete_word_or_never,
        help="Exit with status 1 if a subnet has this compliance or reason; repeatable. Default: NON_COMPLIANT. "
        "Use `never` to always exit 0, unless a read failed.",
        rich_help_panel=options.WHAT,
    ),
]
Shown = Annotated[
    list[str] | None,
    typer.Option(
        "--verdict",
        metavar="WORD",
        autocompletion=_complete_word,
        help="Show only subnets with this compliance or reason; repeatable. The exit status still counts all.",
        rich_help_panel=options.HOW,
    ),
]
OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        help="The output format. Default: that of the suffix of --output (json, csv, md, html, xml, junit, sarif), "
        "else a table.",
        rich_help_panel=options.HOW,
    ),
]


@dataclass(frozen=True, slots=True)
class _Request:
    """What to scan, which words for verdicts make the scan fail and which are shown, and the tags to show."""

    source: Source
    parameters: RuleParameters
    selection: Selection
    failing: frozenset[str]
    shown: frozenset[str]
    tag_keys: tuple[str, ...]


def scan(
    *,
    from_dump: options.FromDump = None,
    aggregator: options.AggregatorName = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    organization: options.AllAccounts = False,
    role_name: options.RoleName = None,
    external_id: options.ExternalId = "",
    workers: options.Workers = 8,
    parameter: options.Parameters = None,
    vpc: VpcIds = None,
    tag: Tags = None,
    fail_on: FailOn = None,
    verdict: Shown = None,
    tags: options.TagKeys = None,
    output_format: OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Show which path each subnet takes to reach S3 Express.

    Exit status: 0 nothing is NON_COMPLIANT, 1 something is, 2 something could not be determined. What could not be read
    is named on standard error, and the rest is still reported.
    """
    live = LiveOptions(options.unique(region), all_regions, profile, organization, role_name, external_id, workers)
    source, parameters = Source(from_dump, aggregator, live), options.rule_parameters(parameter)
    shown = parse_words("--verdict", verdict or WORDS)
    request = _Request(source, parameters, _selection(vpc, tag), _failing(fail_on), shown, options.tag_keys(tags))
    raise typer.Exit(_scan(request, output_format or format_of(output), output, quiet=quiet))


def _scan(request: _Request, output_format: Format, output: Path | None, *, quiet: bool) -> int:
    """Read, evaluate and write, and return the exit status."""
    network, verdicts = _read(request, quiet=quiet)
    if network.views or not network.failures:
        result = Result(
            made_at=datetime.now(UTC),
            failures=network.failures,
            views=network.views,
            notes=network.notes,
            parameters=request.parameters,
            verdicts=[verdict for verdict in verdicts if matches(verdict, request.shown)],
            unlisted=[verdict for verdict in verdicts if not matches(verdict, request.shown)],
            tag_keys=request.tag_keys,
            filters=request.selection.options,
        )
        write_result(result, output_format, output, quiet=quiet)
    return UNDETERMINED if network.failures else any(matches(verdict, request.failing) for verdict in verdicts)


def _read(request: _Request, *, quiet: bool) -> tuple[NetworkViews, list[Verdict]]:
    """Read the network, evaluate the selected subnets, and report what could not be read or found."""
    source, selection = request.source, request.selection
    with gc_paused(), watching(quiet=quiet) as watch:
        network = source.read(request.parameters, watch)
        missing = (*selection.missing_vpcs(network.views, source.elsewhere), *selection.missing_tags(network.views))
        network = replace(network, failures=[*network.failures, *missing])
        verdicts = evaluate_all(network.views, request.parameters, selection)
    network = replace(network, notes=[*network.notes, *notes_on_tags(network.views, request.tag_keys)])
    show_failures_and_notes(network.failures, network.notes, quiet=quiet)
    return network, verdicts


def _selection(vpc_ids: list[str] | None, tags: list[str] | None) -> Selection:
    for tag in tags or ():
        if tag.startswith("="):
            raise OptionError(f"--tag {tag} has no key", "use KEY or KEY=VALUE, such as team=data")
    return Selection(frozenset(vpc_ids or ()), tuple(tags or ()))


def _failing(given: list[str] | None) -> frozenset[str]:
    words = parse_words("--fail-on", given or ["NON_COMPLIANT"], NEVER)
    if NEVER in words and len(words) > 1:
        raise OptionError("--fail-on never and another --fail-on cannot be used together", "leave one of them out")
    return words
