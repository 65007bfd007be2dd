"""`express-path scan`. What it does is in other modules, for which --help does not wait."""

import typer

from express_path_cli.aws.account_options import ManyAccounts, taking
from express_path_cli.scan.options import ChangeOptions, OutputOptions, SourceOptions, VerdictOptions

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


@taking(source=SourceOptions, change=ChangeOptions, accounts=ManyAccounts, verdicts=VerdictOptions, shown=OutputOptions)
def scan(
    *,
    source: SourceOptions,
    change: ChangeOptions,
    accounts: ManyAccounts,
    verdicts: VerdictOptions,
    shown: OutputOptions,
) -> None:
    """Find subnets that reach S3 Express through a NAT.

    The table shows the totals, the route tables to fix (worst first), how to fix them, and the next command to run. In a
    pipe or a file, its lines are not wrapped. The other formats contain every subnet.

    Exit status: 0 no subnet is NON_COMPLIANT, 1 at least one is, 2 something could not be read. Standard error names what
    could not be read, and the rest is still reported.
    """
    from express_path_cli.scan.scanning import run_scan

    raise typer.Exit(run_scan(source, change, accounts, verdicts, shown))
