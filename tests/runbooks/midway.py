"""What somebody does right before a step of a run, and the steps where that matters.

Each act is a context: it begins right before the step, and is taken back after the run has ended, if that is possible.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from functools import partial

from express_path.adapters import heal_reader, heal_requests
from express_path.adapters.heal_requests import CONTRACT
from express_path.handlers import plan_heal
from express_path.healing import services
from org.expansion import runbook
from tests.runbooks.bench import Bench
from tests.support.heals import APPROVED, FUNCTION, HEAL, UNDO
from tests.support.ledgers import LEDGER, LedgerTable

CHANGES = ("CreateVpcEndpoint", "ModifyVpcEndpoint", "DeleteVpcEndpoints")
"""The changes that runbooks make in EC2."""

OWNER = {"Key": "aws:cloudformation:stack-name", "Value": "network"}
ONE_BUCKET = "arn:aws:s3express:us-east-1:123456789012:bucket/data--use1-az4--x-s3"
OTHER_POLICY = {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": ONE_BUCKET}]}
OTHER_LEDGER = "other-ledger"
OTHER_CONTRACT = f"{CONTRACT}0"


@contextmanager
def cancel(bench: Bench, document: str) -> Iterator[None]:
    """Cancel the run."""
    running = [{"Key": "ExecutionStatus", "Values": ["InProgress"]}]
    found = bench.deployment.ssm.describe_automation_executions(Filters=running)["AutomationExecutionMetadataList"]
    [run_id] = [run["AutomationExecutionId"] for run in found if run["DocumentName"] == document]
    bench.deployment.ssm.stop_automation_execution(AutomationExecutionId=run_id, Type="Cancel")
    yield


@contextmanager
def tag_endpoint(bench: Bench, _document: str) -> Iterator[None]:
    """Adopt the endpoint in a stack."""
    [endpoint_id] = bench.endpoints
    bench.builder.tag(endpoint_id, OWNER["Key"], OWNER["Value"])
    yield
    if bench.endpoints:
        bench.builder.ec2.delete_tags(Resources=[endpoint_id], Tags=[OWNER])


@contextmanager
def change_policy(bench: Bench, _document: str) -> Iterator[None]:
    """Replace the endpoint's policy by one that allows only one bucket."""
    [endpoint] = bench.deployment.endpoints(bench.vpc.id)
    change = partial(bench.builder.ec2.modify_vpc_endpoint, VpcEndpointId=endpoint["VpcEndpointId"])
    change(PolicyDocument=json.dumps(OTHER_POLICY))
    yield
    if bench.endpoints:
        change(PolicyDocument=endpoint["PolicyDocument"])


@contextmanager
def tag_table(bench: Bench, _document: str) -> Iterator[None]:
    """Adopt the route table in a stack."""
    bench.builder.tag(bench.vpc.table, OWNER["Key"], OWNER["Value"])
    yield
    bench.builder.ec2.delete_tags(Resources=[bench.vpc.table], Tags=[OWNER])


@contextmanager
def move_subnet(bench: Bench, _document: str) -> Iterator[None]:
    """Give the subnet another route table, which leads to the NAT gateway, too."""
    table_id = bench.builder.table(bench.vpc.id, NatGatewayId=bench.vpc.nat)
    _associate(bench, table_id)
    yield
    _associate(bench, bench.vpc.table)


@contextmanager
def delete_table(bench: Bench, _document: str) -> Iterator[None]:
    """Replace the route table by another one, which is the table to heal from then on."""
    deleted, bench.vpc.tables[0] = bench.vpc.table, bench.builder.table(bench.vpc.id, NatGatewayId=bench.vpc.nat)
    _associate(bench, bench.vpc.table)
    bench.builder.ec2.delete_route_table(RouteTableId=deleted)
    bench.before, bench.foreign = bench.described_table(), bench.described_foreign()
    yield


def _associate(bench: Bench, table_id: str) -> None:
    [association_id] = [
        association["RouteTableAssociationId"]
        for table in bench.deployment.tables(bench.vpc.id)
        for association in table["Associations"]
        if association.get("SubnetId") == bench.vpc.subnet
    ]
    bench.builder.ec2.replace_route_table_association(AssociationId=association_id, RouteTableId=table_id)


@contextmanager
def throttle(bench: Bench, _document: str, number: int) -> Iterator[None]:
    """Throttle every write, from one of the writes of the step on."""
    faults = bench.deployment.sandbox.faults
    faults.throttle("dynamodb", "UpdateItem", served=number - 1)
    for operation in CHANGES:
        faults.throttle("ec2", operation, served=number - 1)
    yield
    faults.clear()


@contextmanager
def use_up_endpoints(bench: Bench, _document: str) -> Iterator[None]:
    """Create as many gateway endpoints as the Region may have."""
    existing = bench.builder.ec2.describe_vpc_endpoints()["VpcEndpoints"]
    quota = bench.deployment.sandbox.ec2.knobs.gateway_endpoints
    other = bench.builder.vpc()
    made = [bench.builder.endpoint(other, service="dynamodb") for _ in range(quota - len(existing))]
    yield
    bench.builder.ec2.delete_vpc_endpoints(VpcEndpointIds=made)


@contextmanager
def use_up_routes(bench: Bench, _document: str) -> Iterator[None]:
    """Add as many routes as the table may have, so that EC2 accepts no association.

    The sandbox does not count routes.
    """
    bench.deployment.sandbox.faults.fail("ec2", "ModifyVpcEndpoint", "RouteLimitExceeded", 400)
    yield
    bench.deployment.sandbox.faults.clear()


@contextmanager
def require_approval(bench: Bench, _document: str) -> Iterator[None]:
    """Update the stack to mode APPROVAL, with new default versions of the runbooks."""
    if not bench.approval:
        bench.require_approval()
    _update_runbooks(bench, CONTRACT)
    yield


@contextmanager
def release(bench: Bench, _document: str) -> Iterator[None]:
    """Update the stack to a release whose plan function does not understand the runbooks of this one."""
    bench.patches.setattr(heal_requests, "CONTRACT", OTHER_CONTRACT)
    _update_runbooks(bench, OTHER_CONTRACT)
    yield


def _update_runbooks(bench: Bench, contract: str) -> None:
    """Let each runbook have a new default version, whose steps name a contract with the plan function."""
    ssm = bench.deployment.ssm
    for name in _runbooks(bench):
        content = json.dumps({**runbook(name), "description": "Updated."}).replace(
            f'"contract": "{CONTRACT}"', f'"contract": "{contract}"'
        )
        made = ssm.update_document(Name=name, Content=content, DocumentVersion="$LATEST", DocumentFormat="JSON")
        ssm.update_document_default_version(Name=name, DocumentVersion=made["DocumentDescription"]["DocumentVersion"])


def _runbooks(bench: Bench) -> tuple[str, ...]:
    """Return the names of the stack's runbooks."""
    return (HEAL, UNDO, APPROVED) if bench.approval else (HEAL, UNDO)


@contextmanager
def change_ledger(bench: Bench, _document: str) -> Iterator[None]:
    """Update the stack to another ledger, which is empty, and back."""
    bench.ledgers.append(LedgerTable(bench.deployment.sandbox, OTHER_LEDGER))
    _use_ledger(bench, OTHER_LEDGER)
    yield
    _use_ledger(bench, LEDGER)


def _use_ledger(bench: Bench, name: str) -> None:
    bench.patches.setenv("LEDGER_TABLE_NAME", name)
    deployment = bench.deployment
    deployment.services = plan_heal.compose_services(os.environ, deployment.sandbox.account_id)


@contextmanager
def delete_function(bench: Bench, _document: str) -> Iterator[None]:
    """Begin to delete the stack: the runbooks and the function first. Afterward, deploy it again with the same ledger."""
    deployment = bench.deployment
    deployment.automation.functions.clear()
    for name in _runbooks(bench):
        deployment.ssm.delete_document(Name=name)
    yield
    deployment.automation.functions.register(FUNCTION, deployment.plan)
    for name in _runbooks(bench):
        deployment.publish(name)


@contextmanager
def delete_role(bench: Bench, _document: str) -> Iterator[None]:
    """Begin to delete the stack: the runbooks' role first. Afterward, deploy it again with the same ledger."""
    faults = bench.deployment.sandbox.faults
    faults.deny("dynamodb", "UpdateItem")
    faults.deny("lambda", "Invoke")
    for operation in CHANGES:
        faults.deny("ec2", operation)
    yield
    faults.clear()


APART = timedelta(hours=2)


class _Ahead(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + APART


class _Behind(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) - APART


@contextmanager
def overtake(bench: Bench, document: str) -> Iterator[None]:
    """Heal in another run, for whose invocations of the plan function the claim of this run has expired."""
    with set_clock(bench, document, _Ahead):
        bench.heal()
    yield


@contextmanager
def set_clock(bench: Bench, _document: str, clock: type[datetime]) -> Iterator[None]:
    """Let the plan function's clock differ from Systems Manager's, and from its own at the steps before."""
    for module in (services, heal_reader):
        bench.patches.setattr(module, "datetime", clock)
    yield
    for module in (services, heal_reader):
        bench.patches.setattr(module, "datetime", datetime)


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody does, given the name of the run's runbook, and the steps before which it happens, by runbook.

    `last`: the run must change nothing in the VPC after it. `late`: the run may have made its last check before, so it may
    still make its change.
    """

    begin: Callable[[Bench, str], AbstractContextManager[None]]
    last: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    late: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def steps(self, document: str) -> tuple[str, ...]:
        """Return the steps of a runbook before which it happens."""
        return (*self.last.get(document, ()), *self.late.get(document, ()))


THROTTLED_STEPS: Mapping[int, Mapping[str, tuple[str, ...]]] = {
    1: {
        HEAL: ("claim", "create", "recordCreated", "associate", "recordAssociated", "verify"),
        UNDO: ("disassociate", "rest", "deleteEndpoint", "recordDeleted"),
        APPROVED: ("recordApproved", "recordAnswer"),
    },
    2: {HEAL: ("elect", "recordIntent", "verify"), UNDO: ("confirm", "recordDeleted")},
    3: {UNDO: ("confirm", "recordDeleted")},
    4: {UNDO: ("confirm", "recordDeleted")},
}
"""The steps whose first, second, third, or fourth write is the first one that is throttled."""

ACTS: dict[str, Act] = {
    "canceled": Act(
        cancel,
        last={
            HEAL: ("confirmPlan", "create", "recordCreated", "associate", "recordAssociated", "verify"),
            UNDO: ("disassociate", "rest", "deleteEndpoint", "recordDeleted"),
            APPROVED: ("recordApproved", "heal"),
        },
    ),
    "endpoint tagged": Act(
        tag_endpoint,
        last={HEAL: ("findTarget",), UNDO: ("checkClaim", "lookAgain")},
        late={HEAL: ("associate", "recordAssociated"), UNDO: ("disassociate", "deleteEndpoint")},
    ),
    "policy changed": Act(
        change_policy,
        last={HEAL: ("findTarget",), UNDO: ("checkClaim", "findRest")},
        late={HEAL: ("associate", "verifyPath"), UNDO: ("disassociate",)},
    ),
    "table tagged": Act(
        tag_table,
        last={UNDO: ("checkClaim",)},
        late={HEAL: ("findTarget", "associate"), UNDO: ("disassociate",)},  # a heal may use a table of a stack
    ),
    "subnet moved": Act(
        move_subnet,
        last={HEAL: ("confirmPlan", "findElected", "findTarget", "verifyPath")},
        late={HEAL: ("associate",), UNDO: ("checkClaim",)},
    ),
    "table deleted": Act(
        delete_table,
        last={HEAL: ("confirmPlan", "findTarget", "associate", "recordAssociated", "verifyPath")},
        late={UNDO: ("checkClaim", "disassociate", "findRest")},
    ),
    **{
        f"throttled ({number})": Act(partial(throttle, number=number), late=steps)
        for number, steps in THROTTLED_STEPS.items()
    },
    "no endpoint left": Act(use_up_endpoints, last={HEAL: ("confirmPlan", "create")}),
    "no route left": Act(use_up_routes, last={HEAL: ("associate",)}),
    "mode changed": Act(
        require_approval,
        last={HEAL: ("confirmPlan",)},
        late={HEAL: ("findElected", "findTarget"), UNDO: ("checkClaim", "lookAgain"), APPROVED: ("approve", "heal")},
    ),
    "release changed": Act(
        release,
        last={HEAL: ("confirmPlan", "findTarget", "seeAssociation"), UNDO: ("checkClaim", "findRest")},
        late={APPROVED: ("seeApproval",)},
    ),
    "ledger changed": Act(
        change_ledger,
        last={HEAL: ("confirmPlan", "findTarget", "seeAssociation", "verifyPath"), UNDO: ("checkClaim", "findRest")},
    ),
    "function deleted": Act(
        delete_function,
        last={HEAL: ("confirmPlan", "findTarget", "seeAssociation"), UNDO: ("checkClaim", "lookAgain")},
        late={HEAL: ("create",), UNDO: ("deleteEndpoint",), APPROVED: ("heal",)},
    ),
    "role deleted": Act(
        delete_role,
        last={
            HEAL: ("create", "associate", "recordAssociated"),
            UNDO: ("disassociate", "deleteEndpoint", "recordDeleted"),
        },
    ),
    "clock ahead": Act(
        partial(set_clock, clock=_Ahead),
        late={
            HEAL: ("makePlan", "confirmPlan", "findTarget", "verifyPath"),
            UNDO: ("makePlan", "findRest"),
            APPROVED: ("makePlan", "heal"),
        },
    ),
    "clock behind": Act(
        partial(set_clock, clock=_Behind),
        late={
            HEAL: ("makePlan", "confirmPlan", "findTarget", "verifyPath"),
            UNDO: ("makePlan", "findRest"),
            APPROVED: ("makePlan", "heal"),
        },
    ),
    "overtaken": Act(
        overtake,
        late={
            HEAL: ("confirmPlan", "create", "findTarget", "associate", "recordAssociated", "verify"),
            UNDO: ("checkClaim", "rest", "deleteEndpoint"),
        },
    ),
}
"""The acts by the name of their column. The number of a throttled column is that of the step's first throttled write."""
