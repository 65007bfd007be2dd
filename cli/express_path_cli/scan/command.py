"""The options of `express-path scan`. What it does is in other modules, for which --help does not wait."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.formats import Format
from express_path_cli.findings.words import NEVER, NEW, WORDS, parse_words
from express_path_cli.terminal.errors import OptionError, show_failures_and_notes

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
    from express_path_cli.findings.grouping import ACCOUNT, TAG

    return [TAG, ACCOUNT]


VpcIds = Annotated[
    list[str] | None,
    options.what("--vpc", metavar="VPC-ID", help="Only subnets of this VPC; repeatable."),
]
Tags = Annotated[
    list[str] | None,
    options.what("--tag", metavar="KEY[=VALUE]", help="Only subnets with this tag; if repeated, with all of them."),
]
FailOn = Annotated[
    list[str] | None,
    options.what(
        metavar="WORD",
        autocompletion=_complete_failing,
        help="Exit with status 1 if a subnet has this compliance or reason; repeatable. Default: NON_COMPLIANT. "
        "`new`: only if a finding is not in the --baseline. `never`: always exit 0, unless a read failed.",
    ),
]
BaselineFile = Annotated[
    Path | None,
    options.what(
        "--baseline",
        metavar="FILE",
        help="The JSON output of an earlier scan. Findings are marked as new, unchanged, fixed, or unknown.",
    ),
]
PlanOption = Annotated[
    Path | None,
    options.where(
        "--plan",
        metavar="FILE",
        help="Judge the network as it would be after a plan: the output of `terraform show -json` or `tofu show -json`, a "
        "CloudFormation change set, or a template as a new stack.",
    ),
]
PlanOnly = Annotated[
    bool,
    options.where("--plan-only", help="With --plan: judge what the plan contains, and do not read the network."),
]
SourceFolder = Annotated[
    Path | None,
    options.where(
        "--source",
        metavar="PATH",
        help="With --plan: the folder in which the plan was made, for the lines of findings, and for Terraform. Default: the "
        "folder of the plan, if it has .tf or .tofu files; Terraform runs there only if it is the current folder. For a change "
        "set: the template.",
    ),
]
TerraformProgram = Annotated[
    str | None,
    options.where(
        "--terraform",
        metavar="PATH",
        help="With --plan: the Terraform (1.11 or newer) that plans once more in the --source folder, without credentials, to "
        "fill in ids that a plan does not have. It runs the providers of that folder, which must be named or be the current "
        "folder. Default: terraform on PATH.",
    ),
]
NoTerraform = Annotated[
    bool,
    options.where(
        "--no-terraform",
        help="With --plan: do not run Terraform; what an id may be follows from the references in the plan.",
    ),
]
Shown = Annotated[
    list[str] | None,
    options.how(
        "--show",
        metavar="WORD",
        autocompletion=_complete_shown,
        help="List the subnets with this compliance or reason, one per line, instead of the worklist; repeatable. `new`: "
        "those with a finding that is not in the --baseline. The exit status still depends on all subnets.",
    ),
]
SplitBy = Annotated[
    str | None,
    options.how(
        metavar="WORD",
        autocompletion=_complete_split,
        help="Write a folder for each owner into the folder that --output names: a ticket, the subnets, commands, "
        "and patches. WORD is tag:KEY,... or account.",
    ),
]
OutputFormat = Annotated[
    Format | None,
    options.how(
        "--format",
        "-f",
        metavar="FORMAT",
        help=f"The output format: {', '.join(Format)}. Default: that of the suffix of --output (json, csv, md, html, xml, "
        "junit, sarif), else a table.",
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
    from express_path_cli.findings.baseline import read_baseline
    from express_path_cli.findings.grouping import parse_grouping
    from express_path_cli.findings.options import ScanOptions
    from express_path_cli.findings.output import format_of
    from express_path_cli.findings.reading import read_earlier, read_now
    from express_path_cli.findings.settings import read_settings
    from express_path_cli.scan.scanning import (
        ScanOutput,
        check_earlier,
        check_new,
        check_split,
        failing_words,
        selected,
        write_scan,
    )
    from express_path_cli.sources.change.change_file import ChangeFile
    from express_path_cli.sources.source import Source
    from express_path_cli.terminal.files import check_output

    with_plan = {"--plan-only": plan_only, "--source": source, "--terraform": terraform, "--no-terraform": no_terraform}
    _check_plan(with_plan, plan)
    program = None if no_terraform else terraform or ""
    regions = options.unique(region)
    change = ChangeFile(plan, regions, source, program, is_alone=plan_only) if plan else None
    if change and not (regions or from_dump or example or aggregator or all_regions):
        regions = change.regions
    live = LiveOptions(regions, all_regions, profile, organization, role_name, external_id)
    network, settings = Source(from_dump, aggregator, live, example), read_settings(parameter)
    if from_scan:  # its file says how it was judged
        settings = replace(settings, parameters=())
    show_failures_and_notes((), settings.title, quiet=quiet)
    grouping = parse_grouping(split_by) if split_by else None
    if grouping:
        check_split({"--plan": plan, "--format": output_format, "--show": show}, output)
    else:
        check_output(output)
    chosen = Format.MARKDOWN if grouping else output_format or format_of(output)
    # A command to run next reads the file itself, so that what the file sets is still counted.
    words = tuple(f"{name}={value}" for name, value in settings.given.items())
    given = ScanOptions(network, words, selected(vpc, tag), bool(plan))
    asked = ScanOutput(
        read_baseline(baseline) if baseline else None,
        failing_words(fail_on),
        parse_words("--show", show or WORDS, NEW),
        bool(show),
        grouping,
        settings,
    )
    check_new(asked, is_compared=bool(baseline or from_scan or plan))
    if from_scan:
        scanned = read_earlier(from_scan, given, quiet=quiet)
        check_earlier(scanned.result, asked)
    else:
        scanned = read_now(given, settings, change, quiet=quiet)
    raise typer.Exit(write_scan(scanned, asked, chosen, output, quiet=quiet))


def _check_plan(given: Mapping[str, object], plan: Path | None) -> None:
    """Raise OptionError for an option that does nothing without a plan."""
    for option, is_given in given.items():
        if is_given and not plan:
            raise OptionError(f"{option} needs a plan", "add --plan FILE")
