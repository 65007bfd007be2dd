"""What `express-path scan` does: read, evaluate, compare, write, and return the exit status."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from express_path.adapters.memory import gc_paused
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.baseline import Baseline, comparison_text, notes_on_scope, read_baseline
from express_path_cli.findings.grouping import BY_TABLE, GROUPINGS, TAG, parse_grouping
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.output import Format, format_of, write_result
from express_path_cli.findings.planned import PlanFindings, judge
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row, notes_on_tags, rows_of
from express_path_cli.findings.selection import NEVER, NEW, WORDS, Selection, evaluate_all, matches, parse_words
from express_path_cli.sources.network import NetworkViews
from express_path_cli.sources.plan.planned import PlanFile
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import UNDETERMINED, OptionError, show_failures_and_notes
from express_path_cli.terminal.progress import Watch, watching

NO_CREDENTIALS = "there are no AWS credentials, so only what the plan contains is judged"


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What to scan and compare, which compliances and reasons make it fail and are shown, and how it is shown.

    plan: to lay over the network. without_network: not to read a network for it.
    """

    source: Source
    parameters: RuleParameters
    selection: Selection
    baseline: Baseline | None
    failing: frozenset[str]
    shown: frozenset[str]
    rendering: RenderOptions
    plan: PlanFile | None = None
    without_network: bool = False


def scan_and_write(request: ScanRequest, output_format: Format, output: Path | None, *, quiet: bool) -> int:
    """Read, evaluate and write, and return the exit status."""
    network, rows, planned = _read(request, quiet=quiet)
    result = Result(
        made_at=datetime.now(UTC),
        failures=network.failures,
        views=network.views,
        notes=network.notes,
        parameters=request.parameters,
        rows=[row for row in rows if matches(row, request.shown)],
        unlisted=[row for row in rows if not matches(row, request.shown)],
        tag_keys=request.rendering.tag_keys,
        filters=request.selection.options,
        plan=planned,
    )
    baseline = request.baseline or (planned.before if planned else None)
    if baseline:
        result = _compared(result, baseline, quiet=quiet)
    if network.views or not network.failures:
        write_result(result, output_format, output, request.rendering, quiet=quiet)
    has_new = NEW in request.failing and result.comparison is not None and bool(result.comparison.new)
    fails = has_new or any(matches(row, request.failing) for row in rows)
    return UNDETERMINED if network.failures else fails


def _compared(result: Result, baseline: Baseline, *, quiet: bool) -> Result:
    """Return a result with its comparison, and report how the baseline's scan covered something else.

    The notes of the result also contain the numbers of the comparison, because the HTML page shows them.
    """
    compared, notes = result.compared_with(baseline), notes_on_scope(baseline, result.coverage)
    show_failures_and_notes((), notes, quiet=quiet)
    counts = [comparison_text(compared.comparison)] if compared.comparison else []
    return replace(compared, notes=[*result.notes, *notes, *counts])


def _read(request: ScanRequest, *, quiet: bool) -> tuple[NetworkViews, list[Row], PlanFindings | None]:
    """Read the network, evaluate the selected subnets, and report what could not be read or found."""
    source, selection, planned = request.source, request.selection, None
    with gc_paused(), watching(quiet=quiet) as watch:
        network = _read_network(request, watch)
        if request.plan:
            laid = request.plan.lay(network.views if network.views or network.failures else None)
            planned = judge(laid, request.parameters, selection, request.rendering.tag_keys)
            network = replace(network, views=laid.after, notes=[*network.notes, *laid.notes])
        missing = (*selection.missing_vpcs(network.views, source.elsewhere), *selection.missing_tags(network.views))
        network = replace(network, failures=[*network.failures, *missing])
        if planned:
            rows = list(planned.rows)
        else:
            verdicts = evaluate_all(network.views, request.parameters, selection)
            rows = rows_of(verdicts, network.views, request.rendering.tag_keys)
    network = replace(network, notes=[*network.notes, *notes_on_tags(network.views, request.rendering.tag_keys)])
    show_failures_and_notes(network.failures, network.notes, quiet=quiet)
    return network, rows, planned


def _read_network(request: ScanRequest, watch: Watch) -> NetworkViews:
    """Read the network. A plan can be judged without one, such as where a pipeline has no credentials."""
    if request.plan is None:
        return request.source.read(request.parameters, watch)
    if request.without_network:
        return NetworkViews()
    try:
        return request.source.read(request.parameters, watch, for_plan=True)
    except ApiError as error:
        if error.code != "NoCredentialsError":
            raise
        return NetworkViews(notes=[NO_CREDENTIALS])


EXAMPLES = """
express-path scan --example  # a sample network, without AWS
express-path scan  # this account, in the Region of your AWS settings
express-path scan --all-regions --show NON_COMPLIANT  # every Region, only what should change
express-path scan --organization --role-name Audit  # every account
express-path scan --from-dump dump --format json  # without AWS
express-path scan --baseline last.json --fail-on new  # for a pipeline: only new findings fail it
express-path scan --format sarif --output paths.sarif  # for code scanning
express-path scan --plan plan.json --fail-on new  # before the deploy: what a Terraform plan would do
"""


def _complete_word(incomplete: str) -> list[str]:
    """Return what a shell completes a compliance or a reason to, in the case of what was typed."""
    return [word.lower() if incomplete.islower() else word for word in WORDS]


def _complete_failing(incomplete: str) -> list[str]:
    return [*_complete_word(incomplete), NEW, NEVER]


def _complete_grouping() -> list[str]:
    return [*GROUPINGS, TAG]


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
StackParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--stack-parameter",
        metavar="NAME=VALUE",
        help="With --plan: a parameter of the CloudFormation template; repeatable. Others have their default values.",
        rich_help_panel=options.WHERE,
    ),
]
PlanOnly = Annotated[
    bool,
    typer.Option(
        "--plan-only",
        help="With --plan: judge what the plan contains, and do not read the network. Also without credentials.",
        rich_help_panel=options.WHERE,
    ),
]
SourceFolder = Annotated[
    Path | None,
    typer.Option(
        "--source",
        metavar="PATH",
        help="With --plan: the folder with the configuration that the plan was made of, for the lines of findings, and for "
        "values that are not in a plan. Default: the folder of the plan, if it has .tf files. For a change set: the template.",
        rich_help_panel=options.WHERE,
    ),
]
Shown = Annotated[
    list[str] | None,
    typer.Option(
        "--show",
        metavar="WORD",
        autocompletion=_complete_word,
        help="Show only subnets with this compliance or reason; repeatable. The exit status still depends on all subnets.",
        rich_help_panel=options.HOW,
    ),
]
ShownBefore = Annotated[list[str] | None, typer.Option("--verdict", hidden=True, help="The former name of --show.")]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="List one subnet per line instead of the worklist. COMPLIANT ones are listed with --show COMPLIANT.",
        rich_help_panel=options.HOW,
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        metavar="WORD",
        autocompletion=_complete_grouping,
        help="Count the subnets of each table, vpc, account, region, reason, or value of a tag (tag:KEY).",
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
    from_dump: options.FromDump = None,
    example: options.Example = False,
    plan: PlanOption = None,
    plan_only: PlanOnly = False,
    source: SourceFolder = None,
    stack_parameter: StackParameters = None,
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
    baseline: BaselineFile = None,
    fail_on: FailOn = None,
    show: Shown = None,
    verdict: ShownBefore = None,
    details: Details = False,
    group_by: GroupBy = None,
    tags: options.TagKeys = None,
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
    for option, is_given in {
        "--plan-only": plan_only,
        "--source": source,
        "--stack-parameter": stack_parameter,
    }.items():
        if is_given and not plan:
            raise OptionError(f"{option} needs a plan", "add --plan FILE")
    given = dict(_pair(text) for text in stack_parameter or ())
    planned = PlanFile(plan, options.unique(region), source, given) if plan else None
    regions = options.unique(region) or _regions_of(
        planned, is_live=not (from_dump or example or aggregator or all_regions)
    )
    live = LiveOptions(regions, all_regions, profile, organization, role_name, external_id, workers)
    network, parameters = Source(from_dump, aggregator, live, example), options.rule_parameters(parameter)
    selected = [*(show or ()), *(verdict or ())]
    shown = parse_words("--show", selected or WORDS)
    grouping, selection, tag_keys = parse_grouping(group_by or BY_TABLE), _selection(vpc, tag), options.tag_keys(tags)
    chosen = output_format or format_of(output)
    _check_table(chosen, {"--details": details, "--group-by": bool(group_by)})
    scanned = ScanOptions(network, tuple(parameter or ()), selection, tag_keys, bool(plan))
    rendering = RenderOptions(details, grouping, bool(selected), scanned)
    failing = _failing(fail_on, baseline or plan)
    earlier = read_baseline(baseline) if baseline else None
    request = ScanRequest(network, parameters, selection, earlier, failing, shown, rendering, planned, plan_only)
    raise typer.Exit(scan_and_write(request, chosen, output, quiet=quiet))


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise OptionError(f"--stack-parameter {name} has no value", "use NAME=VALUE")
    return name, value


def _regions_of(plan: PlanFile | None, *, is_live: bool) -> tuple[str, ...]:
    """Return the Regions to read for a plan."""
    return plan.regions if plan and is_live else ()


def _check_table(chosen: Format, given: Mapping[str, bool]) -> None:
    """Raise OptionError for an option that only a table has."""
    for option, is_given in given.items():
        if is_given and chosen is not Format.TABLE:
            raise OptionError(
                f"{option} and --format {chosen} cannot be used together", f"leave {option} out: it is for the table"
            )


def _selection(vpc_ids: list[str] | None, tags: list[str] | None) -> Selection:
    for tag in tags or ():
        if tag.startswith("="):
            raise OptionError(f"--tag {tag} has no key", "use KEY or KEY=VALUE, such as team=data")
    return Selection(frozenset(vpc_ids or ()), tuple(tags or ()))


def _failing(given: list[str] | None, baseline: Path | None) -> frozenset[str]:
    words = parse_words("--fail-on", given or ["NON_COMPLIANT"], NEW, NEVER)
    if NEW in words and baseline is None:
        raise OptionError("--fail-on new needs a baseline", "add --baseline FILE, the JSON output of an earlier scan")
    if NEVER in words and len(words) > 1:
        raise OptionError("--fail-on never and another --fail-on cannot be used together", "leave one of them out")
    return words
