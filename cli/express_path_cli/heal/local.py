"""Plan heals without a deployed stack, and print the changes for people to make."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from express_path.adapters.heal_answers import plan_fields
from express_path.domain.heal.endpoints import endpoint_to_create
from express_path.domain.heal.patches import associate_patches, create_patches
from express_path.domain.heal.records import Plan, PlanAction
from express_path_cli.automation.answers import PlanAnswer
from express_path_cli.automation.planning import LocalPlan
from express_path_cli.heal.tables import (
    BLOCKED,
    LiveNetwork,
    TablePlan,
    TableTarget,
    breaks,
    plan_lines,
    sums,
    table_plans,
)
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import UNDETERMINED, one_line, say
from express_path_cli.terminal.texts import count_text

_TOOLS = {"cli": "AWS CLI", "cloudFormation": "CloudFormation", "terraform": "Terraform"}


def plan_locally(network: LiveNetwork, targets: Sequence[TableTarget], *, dry_run: bool) -> int:
    """Plan the heal of every route table with the permissions of the caller. Return the exit status.

    The plans are those of the runbook with default settings. Nothing is recorded, and nothing is changed.
    """
    local_plans = {}
    for table in targets:
        for subnet_id in table.planned_subnet_ids:
            local_plans[subnet_id] = network.plan_heal(subnet_id)
    answers = {subnet_id: _answer(local_plan.plan) for subnet_id, local_plan in local_plans.items()}
    tables = table_plans(targets, answers)
    echo(f"no stack of express-path was found in {network.account_region}")
    echo(f"plan for {count_text(len(targets), 'route table')}:")
    for line in plan_lines(tables):
        echo(line)
    for unchecked in sorted({name for local_plan in local_plans.values() for name in local_plan.unchecked}):
        echo(f"not checked: {unchecked}")
    for line in (*breaks(tables), sums(tables)):
        echo(line)
    patches = list(_patches(network, tables, local_plans))
    if patches:
        echo("nothing was changed; to make these changes:")
        for patch in patches:
            echo(patch)
    else:
        echo("nothing was changed")
    failures = dict.fromkeys(one_line(local_plan.failure) for local_plan in local_plans.values() if local_plan.failure)
    for failure in failures:
        say(failure)
    is_unhealed = not dry_run and any(table.heal for table in tables)
    if failures or is_unhealed:
        return UNDETERMINED
    return BLOCKED if any(plan.blocked for plan in tables) else 0


def _answer(plan: Plan) -> PlanAnswer:
    """Return a plan as a dry run answers it."""
    return msgspec.convert(plan_fields(plan), PlanAnswer)


def _patches(network: LiveNetwork, plans: Iterable[TablePlan], local_plans: Mapping[str, LocalPlan]) -> Iterator[str]:
    """Yield the changes for each tool. Route tables that need the same endpoint are changed together."""
    same_endpoint: defaultdict[tuple[str, str, str], list[LocalPlan]] = defaultdict(list)
    for plan in plans:
        if plan.heal:
            local_plan = local_plans[plan.heal.subnet_id]
            same_endpoint[plan.table.vpc_id, local_plan.plan.endpoint_id or "", local_plan.plan.ip_address_type].append(
                local_plan
            )
    patches = [_patch(network, together) for together in same_endpoint.values()]
    for tool, title in _TOOLS.items():
        for patch in patches:
            yield f"\n{title}:\n{patch[tool]}".rstrip("\n")


def _patch(network: LiveNetwork, local_plans: Sequence[LocalPlan]) -> dict[str, str]:
    snapshot, plan = network.evaluator.snapshot, local_plans[0].plan
    verdicts = [local_plan.plan.verdict for local_plan in local_plans]
    tables = [verdict.route_table_id for verdict in verdicts if verdict.route_table_id]
    if plan.action is PlanAction.ASSOCIATE and plan.endpoint_id:
        return associate_patches(snapshot.vpc_endpoints[plan.endpoint_id], tables, local_plans[0].evidence.policies)
    new = endpoint_to_create(network.evaluator.tracer, snapshot.route_tables[tables[0]])
    return create_patches(new, tables, plan.policy)
