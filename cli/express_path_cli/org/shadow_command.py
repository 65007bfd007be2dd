"""express-path org shadow: what this version would judge otherwise than the deployed one.

It judges every subnet as a sweep of this version would, and compares with what AWS Config has. Nothing is reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import typer

from express_path import evaluation
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.adapters.config_rule.stored_results import StoredResult
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.verdict.annotations import read_annotation
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RULE_NAME
from express_path.errors import ApiError
from express_path_cli.automation.deployments import Deployment, find_deployments
from express_path_cli.aws import options
from express_path_cli.aws.account_options import MemberAccounts, taking
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.installation.rule import find_rules
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, Failure, show_failures_and_notes
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.texts import count_text

EXAMPLES = """
express-path org shadow --role-name express-path/Audit --all-regions  # every account and Region
express-path org shadow --role-name express-path/Audit --ou ou-ab12-c3d4e5f6 --region eu-north-1  # the canary
"""


@taking(members=MemberAccounts)
def org_shadow(
    *,
    members: MemberAccounts,
    quiet: options.Quiet = False,
) -> None:
    """Before a release, show the subnets whose verdicts change.

    It does what a sweep of this version would do in each account and Region, with the parameters of the deployed rule,
    but reports and publishes nothing. It compares its verdicts with the results that AWS Config has stored, which the
    deployed version made: compliance, reason, and path. What changed in a network in the last minutes may not be
    evaluated yet: run it again.

    Exit status: 0 every verdict is the same, 1 at least one differs, 2 something could not be read, or no stack was
    found. Standard error names what could not be read, and the rest is still compared.
    """
    live = members.live
    with watching(quiet=quiet) as watch, TaskPool(live.workers, watch) as task_pool:
        found = find_deployments(live, task_pool)
        judged = [place for _, place in task_pool.run(found.found, lambda row: _judge(row, task_pool.failures))]
    failures = sorted(task_pool.failures, key=lambda failure: failure.where)
    show_failures_and_notes(failures, found.notes, quiet=quiet)
    differences = [difference for place in judged for difference in place.differences]
    for row in sorted(differences, key=lambda row: (*row.deployment.key, row.verdict.subnet_id)):
        stored = f"{row.stored.compliance} {row.stored.annotation}" if row.stored else "no result"
        echo(f"{row.deployment}: {row.verdict.subnet_id} would change")
        echo(f"  from {stored}")
        echo(f"  to   {row.verdict.compliance} {row.verdict.annotation}")
    subnets = count_text(sum(place.subnets for place in judged), "subnet")
    where = f"{subnets} of {count_text(len(judged), 'deployment')}"
    echo(f"{where}: {count_text(len(differences), 'verdict')} would change")
    raise typer.Exit(UNDETERMINED if failures or not judged else int(bool(differences)))


@dataclass(frozen=True, slots=True)
class Difference:
    """A subnet on which this version judges otherwise than the deployed one. stored: None if AWS Config has no result."""

    deployment: Deployment
    verdict: Verdict
    stored: StoredResult | None


@dataclass(frozen=True, slots=True)
class PlaceShadow:
    """What this version decided in one deployment: how many subnets, and those on which it differs."""

    subnets: int
    differences: Sequence[Difference]


def _judge(deployment: Deployment, failures: list[Failure]) -> PlaceShadow:
    """Evaluate a scheduled event of the deployed rule, with its parameters, and report nothing. Raise ApiError.

    A path that could not be followed is a failure, as it is for the function.
    """
    aws = deployment.new_clients()
    deployed = next((row for row in find_rules(aws.config, RULE_NAME) if row.name == RULE_NAME), None)
    if deployed is None:
        raise ApiError("config:DescribeConfigRules", "NoSuchConfigRuleException", RULE_NAME)
    account_id, now = deployment.place.account_id, datetime.now(UTC)
    event = ConfigEvent(account_id, RULE_NAME, "", deployed.parameters, now, left_scope=False)
    reader = SnapshotReader(aws, deployment.parameters.get("NetworkRoleExternalId", ""))
    judged = evaluation.evaluate(evaluation.RuleServices(aws, reader), event)
    if judged.lost:
        failures.append(Failure(str(deployment), judged.lost))
    stored = judged.stored or {}
    rows = [Difference(deployment, verdict, stored.get(verdict.subnet_id)) for verdict in judged.verdicts]
    return PlaceShadow(len(judged.everything), [row for row in rows if _is_difference(row)])


def _is_difference(row: Difference) -> bool:
    """Return whether the compliance, the reason, or the path differs, and not only the words of the annotation."""
    if row.stored is None:
        return True
    stored, verdict = row.stored, row.verdict
    is_same_path = read_annotation(stored.annotation) == read_annotation(verdict.annotation)
    return stored.compliance != verdict.compliance or not is_same_path
