"""Start the heals for which AWS Config has no run, as AWS Config would, with the permissions of the operator.

What makes AWS Config start one by itself is not documented (express_path/adapters/unhealed.py).
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, calling, filtered, unless_denied
from express_path.adapters.ledger import Ledger
from express_path.adapters.records import route_table, subnet
from express_path.adapters.unhealed import (
    SUBNET,
    LastRun,
    batches,
    flagged_since,
    last_runs,
    needs_person,
    waiting_subnets,
    without_decided,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.errors import ApiError
from express_path_cli.automation.deployments import Deployment
from express_path_cli.automation.past_heals import read_history
from express_path_cli.automation.release import version_to_start
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

POLL_SECONDS = 2.0
LONGEST_WAIT = 30.0
"""How long to wait until AWS Config shows the runs that it accepted, in seconds. How soon it does is not documented."""


@dataclass(frozen=True, slots=True)
class Heals:
    """The NON_COMPLIANT subnets of a rule without a remediation exception, by what is to be done about them.

    due: their heals are to be started. running: AWS Config has a run. decided: a person decides, because the last heal of the
    route table was undone, or an approver rejected it. runs: the last runs, by subnet.
    """

    due: Sequence[str] = ()
    running: Sequence[str] = ()
    decided: Sequence[str] = ()
    runs: Mapping[str, LastRun] = field(default_factory=dict, repr=False)


def find_heals(aws: Aws, deployment: Deployment, excepted: Collection[str]) -> Heals:
    """Find out which heals are to be started: none in mode OFF, or without a remediation.

    excepted: the subnets with a remediation exception. Raise ApiError, RecordError, and OptionError if the remediation is not
    the one of the stack: then nothing is started.
    """
    if deployment.mode not in ("ON", "APPROVAL") or not _has_remediation(aws, deployment):
        return Heals()
    flagged = sorted(set(flagged_since(aws.config, deployment.rule)) - set(excepted))
    runs = last_runs(aws.config, deployment.rule, flagged) or {}
    running = [subnet_id for subnet_id in flagged if subnet_id in runs and runs[subnet_id].is_running]
    rest = [subnet_id for subnet_id in flagged if subnet_id not in set(running)]
    tables = route_tables_of(aws, rest)
    # Who may not read the ledger starts these, too, and their plans are blocked.
    history = unless_denied(lambda: read_history(aws.dynamodb, deployment.ledger)) if tables else None
    records = history.tables if history else {}
    decided = [row for row in rest if tables.get(row) in records and needs_person(records[tables[row]])]
    return Heals([row for row in rest if row not in set(decided)], running, decided, runs)


def _has_remediation(aws: Aws, deployment: Deployment) -> bool:
    """Return whether the rule has a remediation. Raise ApiError, and OptionError if it does not start the stack's runbook.

    Whoever may change the rule's remediation could let the operator start another runbook, with a role of the stack.
    """
    with calling("config:DescribeRemediationConfigurations"):
        found: Sequence[Any] = aws.config.describe_remediation_configurations(ConfigRuleNames=[deployment.rule])[
            "RemediationConfigurations"
        ]
    if not found:
        return False
    runbook = deployment.runbooks.approval if deployment.mode == "APPROVAL" else deployment.runbooks.heal
    expected = {"TargetId": runbook, **deployment.common}
    values = {
        name: value.get("StaticValue", {}).get("Values") for name, value in found[0].get("Parameters", {}).items()
    }
    actual = {"TargetId": found[0]["TargetId"], **{name: "".join(values.get(name) or ()) for name in deployment.common}}
    # AWS Config starts this version, or the default one, which is the one that is compared below.
    expected["TargetVersion"], actual["TargetVersion"] = "", found[0].get("TargetVersion", "")
    for name, value in expected.items():
        if actual[name] != value:
            raise OptionError(
                f"the remediation of rule {deployment.rule} has {name} {actual[name] or '(none)'}, not {value or '(none)'}",
                "no heal was started: find out who changed it, and deploy the stack again",
            )
    version_to_start(deployment, runbook)
    return True


def route_tables_of(aws: Aws, subnet_ids: Sequence[str]) -> Mapping[str, str]:
    """Read the route table of each subnet, as far as it is known; of none if reading them is not allowed. Raise ApiError."""
    if not subnet_ids:
        return {}
    rows = unless_denied(lambda: filtered(aws.ec2, "describe_subnets", "Subnets", "subnet-id", subnet_ids))
    subnets = [subnet(row) for row in rows or ()]
    vpc_ids = sorted({found.vpc_id for found in subnets})
    rows = unless_denied(lambda: filtered(aws.ec2, "describe_route_tables", "RouteTables", "vpc-id", vpc_ids))
    tables = {table.id: table for table in map(route_table, rows or ())}
    tracer = Tracer(Snapshot("", aws.region, subnets={found.id: found for found in subnets}, route_tables=tables))
    governing = {found.id: tracer.governing_table(found) for found in subnets}
    return {subnet_id: table.id for subnet_id, table in governing.items() if table}


@dataclass(frozen=True, slots=True)
class Started:
    """What came of the start of heals: the subnets that AWS Config accepted, and those of them without a run so far.

    refused: the others, with AWS's message.
    """

    accepted: Sequence[str] = ()
    unseen: Sequence[str] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def start_remediations(config: "ConfigServiceClient", rule_name: str, heals: Heals) -> Started:
    """Start the heals that are due, and wait until AWS Config shows their runs. Raise ApiError.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html
    """
    refused: dict[str, str] = {}
    for subnet_ids in batches(heals.due):
        refused |= _start(config, rule_name, subnet_ids, heals.runs)
    if refused:
        left = set(_still_due(config, rule_name, sorted(refused), heals.runs))
        refused = {subnet_id: message for subnet_id, message in refused.items() if subnet_id in left}
    accepted = [subnet_id for subnet_id in heals.due if subnet_id not in refused]
    return Started(accepted, _without_run(config, rule_name, accepted, heals.runs), refused)


def _start(
    config: "ConfigServiceClient", rule_name: str, subnet_ids: Sequence[str], runs: Mapping[str, LastRun]
) -> dict[str, str]:
    """Start heals, at most as many as one request takes, and return AWS's message for those that were refused."""
    keys: list[Any] = [{"resourceType": SUBNET, "resourceId": subnet_id} for subnet_id in subnet_ids]
    try:
        with calling("config:StartRemediationExecution"):
            answer: Mapping[str, Any] = config.start_remediation_execution(ConfigRuleName=rule_name, ResourceKeys=keys)
    except ApiError as error:
        # AWS does not document whether a resource whose remediation has begun in the meantime refuses the whole request.
        left = subnet_ids if error.is_denied else _still_due(config, rule_name, subnet_ids, runs)
        if len(left) == len(subnet_ids):
            raise
        return _start(config, rule_name, left, runs) if left else {}
    message = str(answer.get("FailureMessage") or "AWS Config gives no reason")
    return {str(item["resourceId"]): message for item in answer.get("FailedItems", [])}


def _still_due(
    config: "ConfigServiceClient", rule_name: str, subnet_ids: Sequence[str], runs: Mapping[str, LastRun]
) -> list[str]:
    """Return the subnets that are still NON_COMPLIANT and have had no run since. Raise ApiError."""
    flagged = flagged_since(config, rule_name)
    return [row for row in _not_begun(config, rule_name, subnet_ids, runs) if row in flagged]


def _not_begun(
    config: "ConfigServiceClient", rule_name: str, subnet_ids: Sequence[str], runs: Mapping[str, LastRun]
) -> list[str]:
    """Return the subnets that have no other run than before. Raise ApiError."""
    now = last_runs(config, rule_name, subnet_ids) or {}
    return [row for row in subnet_ids if row not in now or (row in runs and runs[row].started == now[row].started)]


def _without_run(
    config: "ConfigServiceClient", rule_name: str, subnet_ids: Sequence[str], runs: Mapping[str, LastRun]
) -> list[str]:
    """Wait until AWS Config shows a new run of each subnet, and return those without one after LONGEST_WAIT seconds."""
    end = time.monotonic() + LONGEST_WAIT
    while (left := _not_begun(config, rule_name, subnet_ids, runs)) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    return left


def find_waiting(aws: Aws, deployment: Deployment, now: datetime) -> list[str]:
    """Return the subnets that AWS Config should have healed and has not started for a day; none while heals are stopped.

    Raise ApiError, RecordError.
    """
    if deployment.mode not in ("ON", "APPROVAL"):
        return []
    return waiting_for_heals(aws, deployment.rule, deployment.ledger, now)


def waiting_for_heals(aws: Aws, rule_name: str, ledger_table: str, now: datetime) -> list[str]:
    """Return the subnets of a rule whose mode is ON or APPROVAL that wait, unless heals are stopped. Raise ApiError, RecordError."""
    flagged = flagged_since(aws.config, rule_name)
    ledger = Ledger(aws.dynamodb, ledger_table)
    if not flagged or ledger.current_stop():
        return []

    def undecided(subnet_ids: Sequence[str]) -> Sequence[str]:
        return without_decided(ledger, subnet_ids, route_tables_of(aws, subnet_ids)) if subnet_ids else ()

    return waiting_subnets(aws.config, rule_name, flagged, now, undecided)
