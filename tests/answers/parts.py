"""The parts of the story that an answer of AWS can touch, and which switch can touch which.

To add a row for a switch, name the parts that it can touch in PARTS. If none shows what the answers change, write another one:
a function that lets something real happen in a customer's account and returns `customer.outcome(...)`, which looks at the
network, the stored results, and, if these are not right, at what an operator is told. Its docstring says in one sentence what must
be true. Under the sandbox's own answers, each part must work.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from threading import Event

from config_rule_sandbox.answers import RemediationTrigger, others, switches
from tests.answers.customer import SUBNET, Customer, Outcome
from tests.support.heals import HEAL, RULE, Vpc

Part = Callable[[Customer], Outcome]


# --- heals that AWS Config starts --------------------------------------------------------------------------------------


def what_is_found_is_healed(customer: Customer) -> Outcome:
    """In mode ON, a subnet that is there when the stack is deployed is healed, and one that comes later, too."""
    customer.deploy()
    customer.settle()
    later = Vpc(customer.builder)
    vpcs = customer.vpc, later
    return customer.outcome(lambda: all(map(customer.has_endpoint, vpcs)), *(vpc.subnet for vpc in vpcs))


def heals_go_on_after_a_stop(customer: Customer) -> Outcome:
    """After `stop` and `start`, a subnet is healed whose heal ended without a change meanwhile."""
    customer.deploy()
    assert customer.run("stop").returncode == 0
    customer.settle()
    customer.sweep()
    assert not customer.has_endpoint(customer.vpc)
    customer.run("start", "--yes")
    return customer.outcome(lambda: customer.has_endpoint(customer.vpc), customer.vpc.subnet)


def heals_go_on_after_an_exception(customer: Customer) -> Outcome:
    """A subnet whose heals failed too often is healed after somebody clears its exception and runs `start`."""
    customer.sandbox.faults.deny("ec2", "DescribeNetworkAcls")
    customer.deploy()
    customer.settle()
    customer.sweep()
    name = {"ResourceType": SUBNET, "ResourceId": customer.vpc.subnet}
    if not customer.config.describe_remediation_exceptions(ConfigRuleName=RULE)["RemediationExceptions"]:
        customer.config.put_remediation_exceptions(ConfigRuleName=RULE, ResourceKeys=[name])
    assert customer.vpc.subnet in customer.run("doctor").stdout
    customer.sandbox.faults.clear()
    customer.config.delete_remediation_exceptions(ConfigRuleName=RULE, ResourceKeys=[name])
    customer.run("start", "--yes")
    return customer.outcome(lambda: customer.has_endpoint(customer.vpc), customer.vpc.subnet)


def start_leaves_alone_what_runs(customer: Customer) -> Outcome:
    """If AWS Config begins to heal a subnet while `start` asks it to, that one and all others are healed."""
    customer.sandbox.answers.remediation_trigger = RemediationTrigger.CONFIGURATION_ONLY
    other = Vpc(customer.builder)
    customer.deploy()
    customer.settle()
    started = Event()

    def begin() -> None:
        customer.sandbox.faults.before("ec2", "CreateVpcEndpoint", lambda: started.wait(60), times=1)
        customer.start_remediation(customer.vpc.subnet)

    customer.sandbox.faults.before("config", "StartRemediationExecution", begin, times=1)
    customer.run("start", "--yes")
    started.set()
    vpcs = customer.vpc, other
    return customer.outcome(lambda: all(map(customer.has_endpoint, vpcs)), *(vpc.subnet for vpc in vpcs))


# --- runs --------------------------------------------------------------------------------------------------------------


def a_heal_that_is_not_verified_fails(customer: Customer) -> Outcome:
    """A heal whose verification cannot read EC2 fails, for AWS Config and for the command, and the next one succeeds."""
    faults, subnet_id = customer.sandbox.faults, customer.vpc.subnet
    faults.before("ec2", "ModifyVpcEndpoint", lambda: faults.deny("ec2", "DescribeNatGateways"), times=1)
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    healed = customer.run("heal", subnet_id, "--yes")
    customer.start_remediation(subnet_id)
    customer.settle()
    [run] = customer.remediations(subnet_id)
    faults.clear()
    again = customer.run("heal", subnet_id, "--yes")
    ends = (healed.returncode, run.state, again.returncode)
    return customer.outcome(lambda: ends == (2, "FAILED", 0) and customer.has_endpoint(customer.vpc), subnet_id)


def progress_names_what_has_begun(customer: Customer) -> Outcome:
    """While a heal runs, and after somebody stopped it, the command names only steps that have begun."""
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    table_id, looks = customer.vpc.table, customer.sandbox.calls

    def stop_while_somebody_looks() -> None:
        customer.run("stop")
        seen, end = len(looks.of("ssm", "GetAutomationExecution")), time.monotonic() + 60
        while len(looks.of("ssm", "GetAutomationExecution")) < seen + 2 and time.monotonic() < end:
            time.sleep(0.1)

    customer.sandbox.faults.before("ec2", "CreateVpcEndpoint", stop_while_somebody_looks, times=1)
    shown = customer.run("heal", customer.vpc.subnet, "--yes", "--verbose").stdout
    named = set(re.findall(rf"^  {table_id}: \w+: (\w+)$", shown, re.MULTILINE))
    begun = {name for run in customer.executions(HEAL) for name, step in run.steps.items() if step.started}
    return customer.outcome(lambda: "create" in named and named <= begun and "associate" not in begun, table_id)


PARTS: dict[str, tuple[Part, ...]] = {
    "remediation_trigger": (what_is_found_is_healed, heals_go_on_after_a_stop, heals_go_on_after_an_exception),
    "remediation_on_demand": (heals_go_on_after_a_stop, heals_go_on_after_an_exception),
    "busy_resource": (start_leaves_alone_what_runs,),
    "raised_error": (a_heal_that_is_not_verified_fails,),
    "later_steps": (progress_names_what_has_begun, start_leaves_alone_what_runs),
}
"""The parts that the answers of each switch can touch."""
TOGETHER = [("remediation_trigger", "remediation_on_demand")]
"""Switches whose answers are also played together, in the parts that both can touch."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: the answers that AWS gives, by their switches, and the part that is played."""

    answers: tuple[tuple[str, str], ...]
    part: Part

    @property
    def cells(self) -> tuple[str, str, str]:
        """The switches, their answers, and the part. Without another answer, all are the sandbox's own."""
        played = self.answers or [("none", "the sandbox's own answers")]
        names, answers = zip(*played, strict=True)
        return " + ".join(names), " + ".join(answers), self.part.__name__.replace("_", " ")

    def __str__(self) -> str:
        """Return the name of the row."""
        return ", ".join(self.cells)


def rows() -> Iterator[Row]:
    """Yield each part under the sandbox's own answers, and under each other answer of the switches that can touch it."""
    for part in dict.fromkeys(part for parts in PARTS.values() for part in parts):
        yield Row((), part)
    for switch, answer in others():
        yield from (Row(((switch, answer),), part) for part in PARTS[switch])
    for pair in TOGETHER:
        kinds = [[str(answer) for answer in list(switches()[switch])[1:]] for switch in pair]
        shared = [part for part in PARTS[pair[0]] if part in PARTS[pair[1]]]
        for answers, part in product(product(*kinds), shared):
            yield Row(tuple(zip(pair, answers, strict=True)), part)
