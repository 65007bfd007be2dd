"""Judge every subnet as a sweep of this version would, and compare with what AWS Config has. Nothing is reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from express_path import evaluation
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.adapters.config_rule.stored_results import StoredResult
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.findings.texts import RULE_NAME
from express_path.domain.verdict.annotations import read_annotation
from express_path.domain.verdict.evaluator import Verdict
from express_path.errors import ApiError
from express_path_cli.automation.deployments import Deployment, find_deployments
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.installation.rule import find_rules
from express_path_cli.terminal.errors import UNDETERMINED, Failure
from express_path_cli.terminal.progress import Watch


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


@dataclass(frozen=True, slots=True)
class Shadow:
    """The differences, sorted, in how many subnets and deployments they were looked for, and what could not be read."""

    differences: Sequence[Difference]
    subnets: int
    deployments: int
    failures: Sequence[Failure]

    @property
    def exit_status(self) -> int:
        """Return 2 if something could not be judged, or nothing was; 1 if a verdict differs; else 0."""
        return UNDETERMINED if self.failures or not self.deployments else int(bool(self.differences))


def read_shadow(live: LiveOptions, watch: Watch) -> Shadow:
    """Judge the subnets of each deployment. What fails is kept with the rest. Raise OptionError, ApiError."""
    with TaskPool(live.workers, watch) as task_pool:
        found = find_deployments(live, task_pool).found
        judged = [place for _, place in task_pool.run(found, lambda row: _judge(row, task_pool.failures))]
    differences = [difference for place in judged for difference in place.differences]
    return Shadow(
        sorted(differences, key=lambda row: (*row.deployment.key, row.verdict.subnet_id)),
        sum(place.subnets for place in judged),
        len(judged),
        sorted(task_pool.failures, key=lambda failure: failure.where),
    )


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
