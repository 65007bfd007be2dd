"""The plans of several route tables, from the runbook's dry runs, and the text that shows them as one plan."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from express_path.domain.heal.records import Action
from express_path_cli.automation.runs import Run
from express_path_cli.heal.table_targets import TableTarget
from express_path_cli.terminal.errors import OptionError

NAMED_SUBNETS = 20
"""How many moved subnets a line names; the others are counted."""
_CHANGES = (Action.CREATE_AND_ASSOCIATE, Action.ASSOCIATE)


@dataclass(frozen=True, slots=True)
class SubnetPlan:
    """The plan of one dry run.

    findings: the blockers and the warnings, each with its evidence and its fix. endpoint: the endpoint to associate, or
    the kind of endpoint to create.
    """

    subnet_id: str
    action: Action
    verdict: str
    findings: tuple[str, ...]
    endpoint: str


@dataclass(frozen=True, slots=True)
class TablePlan:
    """The plans of a route table's subnets. One run heals the table, but it may not heal every subnet."""

    table: TableTarget
    plans: tuple[SubnetPlan, ...]

    @property
    def change(self) -> SubnetPlan | None:
        """The plan that changes the route table, None if nothing can be done."""
        return next((plan for plan in self.plans if plan.action in _CHANGES), None)

    @property
    def blocked(self) -> tuple[SubnetPlan, ...]:
        """The plans that are blocked, without those that say the same of another subnet."""
        blocked = [plan for plan in self.plans if plan.action is Action.BLOCKED]
        return tuple({plan.findings: plan for plan in reversed(blocked)}.values())[::-1]


def subnet_plan(table: TableTarget, subnet_id: str, run: Run) -> SubnetPlan:
    """Return the plan of a dry run. Raise OptionError if another route table governs the subnet by now."""
    table_id = run.outputs.get("plan.RouteTableId", "")
    if table_id and table_id != table.id:
        raise OptionError(f"{subnet_id} moved from {table.id} to {table_id} during the planning", "run heal again")
    verdict, *findings = run.outputs.get("plan.Summary", "").split(" | ")
    action = Action(run.outputs.get("plan.Action", Action.BLOCKED))
    service, family = (run.outputs.get(f"plan.{name}", "") for name in ("ServiceName", "IpAddressType"))
    new = f"gateway endpoint {service} ({family})"
    endpoint = new if action is Action.CREATE_AND_ASSOCIATE else run.outputs.get("plan.EndpointId", "")
    return SubnetPlan(subnet_id, action, verdict.partition(": ")[2], tuple(findings), endpoint)


def plan_lines(plans: Iterable[TablePlan]) -> Iterator[str]:
    """Yield the combined plan, by VPC: an endpoint that several route tables share is created once."""
    for vpc_id, in_vpc in groupby(plans, key=lambda plan: plan.table.vpc_id):
        of_vpc = list(in_vpc)
        yield f"{vpc_id}:"
        changes = [plan.change for plan in of_vpc if plan.change]
        created = (change.endpoint for change in changes if change.action is Action.CREATE_AND_ASSOCIATE)
        yield from (f"  create {endpoint}" for endpoint in dict.fromkeys(created))
        for plan in of_vpc:
            yield from (f"  {plan.table.id}: {line}" for line in _table_lines(plan))


def _table_lines(plan: TablePlan) -> Iterator[str]:
    change = plan.change
    if change:
        endpoint = "the new endpoint" if change.action is Action.CREATE_AND_ASSOCIATE else change.endpoint
        yield f"associate with {endpoint}; {_moved(plan.table.moved_subnet_ids)}"
        yield from change.findings
    for blocked in plan.blocked:
        yield f"BLOCKED for {blocked.subnet_id}: {blocked.verdict}"
        yield from blocked.findings
    if not change and not plan.blocked:
        yield f"nothing to do: {plan.plans[0].verdict}" if plan.plans else "nothing to do: no subnet uses it"


def _moved(subnet_ids: Sequence[str]) -> str:
    named = ", ".join(subnet_ids[:NAMED_SUBNETS])
    rest = f", and {len(subnet_ids) - NAMED_SUBNETS} more" if len(subnet_ids) > NAMED_SUBNETS else ""
    return f"{'1 subnet moves' if len(subnet_ids) == 1 else f'{len(subnet_ids)} subnets move'}: {named}{rest}"
