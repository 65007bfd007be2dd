"""The options of `express-path scan`, by theme."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from express_path_cli.aws import options
from express_path_cli.findings.formats import Format
from express_path_cli.findings.words import ALL, NEVER, NEW, WORDS
from express_path_cli.terminal.errors import OptionError


def _complete_word(incomplete: str) -> list[str]:
    """Return what a shell completes a compliance or a reason to, in the case of what was typed."""
    return [word.lower() if incomplete.islower() else word for word in WORDS]


def _complete_shown(incomplete: str) -> list[str]:
    return [*_complete_word(incomplete), NEW, ALL]


def _complete_failing(incomplete: str) -> list[str]:
    return [*_complete_word(incomplete), NEW, NEVER]


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
    options.where("--plan-only", help="With --plan: evaluate what the plan contains, and do not read the network."),
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
        "those with a finding that is not in the --baseline. `all`: with --baseline or --plan, also what is not new. The exit "
        "status still depends on all subnets.",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Where the network or the scan is read from, if not from AWS."""

    from_scan: options.FromScan = None
    from_dump: options.FromDump = None
    example: options.Example = False
    aggregator: options.AggregatorName = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """What Terraform or CloudFormation would do to the network, and how it is read."""

    plan: PlanOption = None
    plan_only: PlanOnly = False
    source: SourceFolder = None
    terraform: TerraformProgram = None
    no_terraform: NoTerraform = False

    def check(self) -> None:
        """Raise OptionError for an option that does nothing without a plan."""
        if self.plan:
            return
        given = {
            "--plan-only": self.plan_only,
            "--source": self.source,
            "--terraform": self.terraform,
            "--no-terraform": self.no_terraform,
        }
        for option, is_given in given.items():
            if is_given:
                raise OptionError(f"{option} needs a plan", "add --plan FILE")


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictOptions:
    """Which subnets are judged, how, and which verdicts make the scan fail."""

    parameter: options.Parameters = None
    vpc: VpcIds = None
    tag: Tags = None
    baseline: BaselineFile = None
    fail_on: FailOn = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """What is shown, and where it is written."""

    show: Shown = None
    split_by: SplitBy = None
    output_format: OutputFormat = None
    output: options.Output = None
    quiet: options.Quiet = False
