"""What `express-path scan` does: read, evaluate, compare, write, and return the exit status."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from express_path.domain.path.reasons import Reason
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.baseline import (
    Baseline,
    comparison_text,
    notes_on_scope,
    parameter_words,
    read_baseline,
)
from express_path_cli.findings.grouping import ACCOUNT, TAG, Grouping, parse_grouping
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.output import WITH_IGNORED, Format, format_of, write_result
from express_path_cli.findings.reading import Scan, read_earlier, read_now
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import combined
from express_path_cli.findings.selection import NEVER, NEW, WORDS, Selection, matches, parse_words
from express_path_cli.findings.settings import Settings, read_settings
from express_path_cli.findings.split import INDEX, check_folder, write_split
from express_path_cli.sources.proposal.proposal import Proposal, TerraformOptions
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import UNDETERMINED, OptionError, say, show_failures_and_notes
from express_path_cli.terminal.files import STDOUT, check_output


@dataclass(frozen=True, slots=True)
class ScanOutput:
    """What a scan is compared with, which compliances and reasons make it fail and are shown, and how it is shown.

    lists_subnets: the subnets are shown, not the worklist.
    split_by: what the output is split by into a folder with files for each group, if it is.
    """

    baseline: Baseline | None
    failing: frozenset[str]
    shown: frozenset[str]
    lists_subnets: bool
    split_by: Grouping | None
    settings: Settings


def write_scan(scan: Scan, asked: ScanOutput, output_format: Format, output: Path | None, *, quiet: bool) -> int:
    """Compare and write a scan, and return the exit status."""
    applied = asked.settings.applied(scan.result.rows)
    show_failures_and_notes((), applied.notes[1:], quiet=quiet)
    result = replace(scan.result, rows=applied.rows, settings=applied.notes)
    names = {**result.account_names, **asked.settings.account_names}
    result = replace(result, account_names=names)
    # The network without a plan is what the plan is compared with.
    baseline = asked.baseline or (result.plan.before if result.plan else None)
    if baseline:
        result = _compared(result, baseline, quiet=quiet)
    has_all = output_format in WITH_IGNORED
    kept = [row for row in result.rows if has_all or not row.ignored]
    kept = kept if len(kept) == len(result.rows) else combined(kept)  # a shared change is only for those left
    shown = [row for row in kept if matches(row, asked.shown) or row.baseline in asked.shown]
    listed = {row.key for row in shown}
    unlisted = [row for row in result.rows if row.key not in listed]
    result = replace(result, rows=shown, unlisted=unlisted)
    if asked.split_by and output and not scan.is_empty:
        write_split(result, asked.split_by, output)
        if not quiet:
            say(f"wrote {output / INDEX}: {result.summary}")
    elif not scan.is_empty:
        rendering = RenderOptions(asked.lists_subnets, scan.options)
        write_result(result, output_format, output, rendering, quiet=quiet)
    fails = any(
        not row.ignored and (matches(row, asked.failing) or row.baseline in asked.failing)  # one of the words is "new"
        for row in (*result.rows, *result.unlisted)
    )
    is_undecided = result.plan and result.plan.undecided and Reason.UNRESOLVED_EGRESS in asked.failing
    return UNDETERMINED if result.failures else int(fails or bool(is_undecided))


def _compared(result: Result, baseline: Baseline, *, quiet: bool) -> Result:
    """Return a result with its comparison, and report how the baseline's scan covered something else.

    The notes of the result also contain the numbers of the comparison, because the HTML page shows them.
    """
    compared, notes = result.compared_with(baseline), notes_on_scope(baseline, result.coverage)
    show_failures_and_notes((), notes, quiet=quiet)
    counts = [comparison_text(compared.comparison)] if compared.comparison else []
    return replace(compared, notes=[*result.notes, *notes, *counts])


EXAMPLES = """
express-path scan --example  # a sample network, without AWS
express-path scan  # this account, in the Region of your AWS settings
express-path scan --all-regions --output paths.html  # every Region, as a page to read and share
express-path scan --show NON_COMPLIANT  # the subnets, one per line
express-path scan --organization --role-name Audit  # every account
express-path scan --from-dump dump --format json --output scan.json  # without AWS
express-path scan --from scan.json --format sarif --output scan.sarif  # the same scan in another format
express-path scan --from scan.json --split-by tag:owner --output owners  # a page and patches for each owner
express-path scan --baseline last.json --fail-on new  # for a pipeline: only new findings fail it
express-path scan --plan plan.json --fail-on new  # before the deploy: what a Terraform plan would do
"""


def _complete_word(incomplete: str) -> list[str]:
    """Return what a shell completes a compliance or a reason to, in the case of what was typed."""
    return [word.lower() if incomplete.islower() else word for word in WORDS]


def _complete_shown(incomplete: str) -> list[str]:
    return [*_complete_word(incomplete), NEW]


def _complete_failing(incomplete: str) -> list[str]:
    return [*_complete_shown(incomplete), NEVER]


def _complete_split() -> list[str]:
    return [TAG, ACCOUNT]


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
        autocompletion=_complete_failing,
        help="Exit with status 1 if a subnet has this compliance or reason; repeatable. Default: NON_COMPLIANT. "
        "`new`: only if a finding is not in the --baseline. `never`: always exit 0, unless a read failed.",
        rich_help_panel=options.WHAT,
    ),
]
BaselineFile = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="The JSON output of an earlier scan. Findings are marked as new, unchanged, fixed, or unknown.",
        rich_help_panel=options.WHAT,
    ),
]
PlanOption = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="Judge the network as it would be after a plan: the output of `terraform show -json` or `tofu show -json`, a "
        "CloudFormation change set, or a template as a new stack.",
        rich_help_panel=options.WHERE,
    ),
]
PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan-only",
        help="With --plan: judge what the plan contains, and do not read the network.",
        rich_help_panel=options.WHERE,
    ),
]
SourceFolder = Annotated[
    Path | None,
    typer.Option(
        "--source",
        metavar="PATH",
        help="With --plan: the folder in which the plan was made, for the lines of findings, and for Terraform. Default: the "
        "folder of the plan, if it has .tf or .tofu files. For a change set: the template.",
        rich_help_panel=options.WHERE,
    ),
]
TerraformProgram = Annotated[
    str | None,
    typer.Option(
        "--terraform",
        metavar="PATH",
        help="With --plan: the Terraform (1.11 or newer) that plans once more in the --source folder, without credentials, to "
        "fill in ids that a plan does not have. It runs the providers of that folder. Default: terraform on PATH.",
        rich_help_panel=options.WHERE,
    ),
]
NoTerraform = Annotated[
    bool,
    typer.Option(
        "--no-terraform",
        help="With --plan: do not run Terraform; what an id may be follows from the references in the plan.",
        rich_help_panel=options.WHERE,
    ),
]
Shown = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="WORD",
        autocompletion=_complete_shown,
        help="List the subnets with this compliance or reason, one per line, instead of the worklist; repeatable. `new`: "
        "those with a finding that is not in the --baseline. The exit status still depends on all subnets.",
        rich_help_panel=options.HOW,
    ),
]
SplitBy = Annotated[
    str | None,
    typer.Option(
        metavar="WORD",
        autocompletion=_complete_split,
        help="Write a folder for each owner into the folder that --output names: a ticket, the subnets, commands, "
        "and patches. WORD is tag:KEY,... or account.",
        rich_help_panel=options.HOW,
    ),
]
OutputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help=f"The output format: {', '.join(Format)}. Default: that of the suffix of --output (json, csv, md, html, xml, "
        "junit, sarif), else a table.",
        rich_help_panel=options.HOW,
    ),
]


def scan(
    *,
    from_scan: options.FromScan = None,
    from_dump: options.FromDump = None,
    example: options.Example = False,
    plan: PlanOption = None,
    plan_only: PlanOnly = False,
    source: SourceFolder = None,
    terraform: TerraformProgram = None,
    no_terraform: NoTerraform = False,
    aggregator: options.AggregatorName = None,
    region: options.Regions = None,
    all_regions: options.AllRegions = False,
    profile: options.Profile = None,
    organization: options.AllAccounts = False,
    role_name: options.RoleName = None,
    external_id: options.ExternalId = "",
    parameter: options.Parameters = None,
    vpc: VpcIds = None,
    tag: Tags = None,
    baseline: BaselineFile = None,
    fail_on: FailOn = None,
    show: Shown = None,
    split_by: SplitBy = None,
    output_format: OutputFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
) -> None:
    """Find subnets that reach S3 Express through a NAT, and the route tables to change.

    The table shows the totals, the route tables to fix (worst first), how to fix them, and the next command to run. In a
    pipe or a file, its lines are not wrapped. The other formats contain every subnet.

    Exit status: 0 no subnet is NON_COMPLIANT, 1 at least one is, 2 something could not be read. Standard error names what
    could not be read, and the rest is still reported.
    """
    with_plan = {"--plan-only": plan_only, "--source": source, "--terraform": terraform, "--no-terraform": no_terraform}
    _check_plan(with_plan, plan)
    asked_terraform = TerraformOptions(not no_terraform, terraform)
    regions = options.unique(region)
    proposal = Proposal(plan, regions, source, asked_terraform, is_alone=plan_only) if plan else None
    if proposal and not (regions or from_dump or example or aggregator or all_regions):
        regions = proposal.regions
    live = LiveOptions(regions, all_regions, profile, organization, role_name, external_id)
    network, settings = Source(from_dump, aggregator, live, example), read_settings()
    if from_scan:  # its file says how it was judged
        settings = replace(settings, parameters={})
    show_failures_and_notes((), settings.title, quiet=quiet)
    parameters = settings.rule_parameters(parameter)
    shown = parse_words("--show", show or WORDS, NEW)
    grouping = parse_grouping(split_by) if split_by else None
    if grouping:
        _check_split({"--plan": plan, "--format": output_format, "--show": show}, output)
    else:
        check_output(output)
    chosen = Format.MARKDOWN if grouping else output_format or format_of(output)
    given = ScanOptions(network, parameter_words(parameters), _selection(vpc, tag), bool(plan))
    failing = _failing(fail_on)
    if NEW in failing | shown and not (baseline or from_scan or plan):
        raise _no_baseline("--fail-on" if NEW in failing else "--show")
    asked = ScanOutput(
        read_baseline(baseline) if baseline else None,
        failing,
        shown,
        bool(show),
        grouping,
        settings,
    )
    if from_scan:
        scanned = read_earlier(from_scan, given, quiet=quiet)
        _check_earlier(scanned.result, asked)
    else:
        scanned = read_now(given, parameters, proposal, quiet=quiet)
    raise typer.Exit(write_scan(scanned, asked, chosen, output, quiet=quiet))


def _check_plan(given: Mapping[str, object], plan: Path | None) -> None:
    """Raise OptionError for an option that does nothing without a plan."""
    for option, is_given in given.items():
        if is_given and not plan:
            raise OptionError(f"{option} needs a plan", "add --plan FILE")


def _check_split(given: Mapping[str, object], output: Path | None) -> None:
    """Raise OptionError for an option that a split does not have, or if there is no folder to write to."""
    for option, is_given in given.items():
        if is_given:
            raise OptionError(f"--split-by and {option} cannot be used together", f"leave {option} out")
    if output is None or output == STDOUT:
        raise OptionError("--split-by writes several files", "add --output with a new folder")
    check_folder(output)


def _check_earlier(earlier: Result, asked: ScanOutput) -> None:
    """Raise OptionError if an earlier scan has a baseline and gets another one, or has none and needs one."""
    if asked.split_by and earlier.plan:
        raise OptionError("--split-by and the scan of a plan cannot be used together", "leave --split-by out")
    if earlier.comparison and asked.baseline:
        raise OptionError(
            "--from and --baseline: the earlier scan was compared with a baseline already", "leave --baseline out"
        )
    if NEW in asked.failing | asked.shown and not earlier.comparison and not asked.baseline:
        raise _no_baseline("--fail-on" if NEW in asked.failing else "--show")


def _no_baseline(option: str) -> OptionError:
    return OptionError(f"{option} new needs a baseline", "add --baseline FILE, the JSON output of an earlier scan")


def _selection(vpc_ids: list[str] | None, tags: list[str] | None) -> Selection:
    for tag in tags or ():
        if tag.startswith("="):
            raise OptionError(f"--tag {tag} has no key", "use KEY or KEY=VALUE, such as team=data")
    return Selection(frozenset(vpc_ids or ()), tuple(tags or ()))


def _failing(given: list[str] | None) -> frozenset[str]:
    words = parse_words("--fail-on", given or ["NON_COMPLIANT"], NEW, NEVER)
    if NEVER in words and len(words) > 1:
        raise OptionError("--fail-on never and another --fail-on cannot be used together", "leave one of them out")
    return words
