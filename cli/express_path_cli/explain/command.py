"""express-path explain: one subnet's path, route by route, and its heal."""

from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.aws.options import TextFormat
from express_path_cli.explain.explanation import Subject
from express_path_cli.explain.rendering import as_explanation, as_explanation_json, as_patches
from express_path_cli.terminal.console import Terminal, echo
from express_path_cli.terminal.errors import UNDETERMINED, one_line, print_trace, say

EXAMPLES = """
express-path explain subnet-0a1b2c3d4e5f60718  # live, in the Region of your AWS settings
express-path explain subnet-0a1b2c3d4e5f60718 --from-dump dump  # without AWS
"""

UNWRAPPED = 10_000
"""The width of the text in a pipe or a file, in columns: more than the longest line, so that none wraps."""


SubnetId = Annotated[str, typer.Argument(metavar="SUBNET", help="The subnet ID.")]


def explain(
    *,
    subnet: SubnetId,
    from_dump: options.FromDump = None,
    region: options.Region = None,
    profile: options.Profile = None,
    external_id: options.ExternalId = "",
    parameter: options.Parameters = None,
    form: options.TextOrJson = TextFormat.TEXT,
) -> None:
    """Show one subnet's path hop by hop, why each route won or lost, and what a heal would change.

    For each route table on the path, every route that matches S3 Express addresses is listed with the reason. The
    change that a heal would make is shown for CloudFormation, Terraform and the AWS CLI, with everything that blocks
    it; nothing is changed. Exit status: 0 explained, 2 something could not be determined; it is named on standard
    error, and the rest is still explained.
    """
    subject = Subject(subnet, from_dump, region, profile, external_id)
    explanation = subject.explain(options.rule_parameters(parameter))
    if form is TextFormat.JSON:
        echo(as_explanation_json(explanation), nl=False)
    else:
        console = _console()
        console.print(as_explanation(explanation))
        console.print(as_patches(explanation), soft_wrap=True)
    if explanation.proposal.failure:
        print_trace(explanation.proposal.failure)
        say(one_line(explanation.proposal.failure))
        raise typer.Exit(UNDETERMINED)


def _console() -> Terminal:
    """Return a console in the width of the terminal, or without wrapping for a pipe or a file."""
    console = Terminal()
    if not console.is_terminal:
        console.width = UNWRAPPED
    return console
