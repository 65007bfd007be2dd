"""express-path start: allow the heals of an account and Region again."""

import shlex

from express_path.adapters.network_reader import assuming
from express_path_cli.automation.stack import DEFAULT_STACK, StackName, read_brake
from express_path_cli.automation.stops import allow_heals, read_stop
from express_path_cli.aws import options
from express_path_cli.aws.sessions import AccountRegion, connect
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import locating_errors
from express_path_cli.terminal.questions import Yes, confirm
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path start  # show who stopped the heals of this account and Region, ask, and allow them again
express-path org start --role-name Operations --all-regions  # in the organization
"""


def start(
    *,
    yes: Yes = False,
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
) -> None:
    """Allow the heals of this account and Region again, after express-path stop.

    Also clears remediation exceptions that a service control policy caused since the stop: AWS Config adds one if heals
    of a subnet fail too often, and then leaves the subnet alone. Exceptions that the stop recorded, and those with
    another cause, are listed and stay. Detach the policy first. Exit status: 0 heals are allowed, 1 declined, 2 it
    failed.
    """
    account_region = AccountRegion.of_caller(connect(region, profile))
    aws = account_region.aws
    with locating_errors(account_region):
        brake = read_brake(aws, stack)
        role = assuming(aws, brake.stop_role_arn)
        record = read_stop(role.dynamodb, brake.ledger_table)
    if record is None:
        echo(f"heals in {account_region} are not stopped")
        return
    found = record.stop
    echo(f"stopped since {found.stopped_at} by {found.by}: {found.reason or 'no reason'}")
    confirm(yes=yes, question="Allow heals again?")
    with locating_errors(account_region):
        result = allow_heals(role, brake, record)
    echo(f"heals in {account_region} are allowed again")
    if result.cleared:
        number = count_text(len(result.cleared), "remediation exception")
        echo(f"cleared {number} that a service control policy caused: {', '.join(result.cleared)}")
    if result.left:
        number = count_text(len(result.left), "remediation exception")
        echo(f"left {number} (express-path doctor shows how to clear them): {', '.join(result.left)}")
    selected = options.as_command_line({"--region": aws.region, "--profile": profile})
    echo("AWS Config heals what the next evaluation finds NON_COMPLIANT; to evaluate now:")
    rule = shlex.quote(brake.rule_name)
    echo(f"  aws configservice start-config-rules-evaluation --config-rule-names {rule}{selected}")
