"""The parts of the story that an answer of AWS can touch, and which switch can touch which.

To add a row for a switch, name the parts that it can touch in PARTS. If none shows what the answers change, write another one:
a function that lets something real happen in a customer's account and returns `customer.outcome(...)`, which looks at the
network, the stored results, and, if these are not right, at what an operator is told: the part says what that must be about, and
what it must name. Its docstring says in one sentence what must be true. Under the sandbox's own answers, each part must work.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from threading import Event

from botocore.exceptions import ClientError

from config_rule_sandbox.answers import RemediationTrigger, others, switches
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.security_hub.new_hub import SUPPRESSED
from tests.answers.customer import DEPLOYMENT, HEALS, NOT_APPLICABLE, RUN, SUBNET, SWEEP, Customer, Outcome
from tests.support.heals import HEAL, RULE, Vpc
from tests.support.template import ROOT

Part = Callable[[Customer], Outcome]
NEWER_TYPE = "AWS::EC2::PrefixList"
"""The first of the newer types in the rule's scope, which AWS Config may refuse."""


# --- verdicts ----------------------------------------------------------------------------------------------------------


def each_subnet_has_its_verdict(customer: Customer) -> Outcome:
    """Soon after the deployment, AWS Config has the verdict of every subnet."""
    customer.deploy(RemediationMode="OFF")
    return customer.outcome(customer.has_every_verdict, [DEPLOYMENT], NEWER_TYPE)


def verdicts_follow_changes(customer: Customer) -> Outcome:
    """They follow new subnets, other routes, other tables, endpoints that come and go, and subnets that are deleted."""
    builder, vpc = customer.builder, customer.vpc
    customer.deploy(RemediationMode="OFF")
    doomed, moved = builder.subnet(vpc.id, vpc.table), builder.subnet(vpc.id, vpc.table)
    customer.settle()
    later = Vpc(builder)
    endpoint_id = builder.endpoint(vpc.id, vpc.table)
    builder.associate(builder.table(vpc.id), builder.subnet(vpc.id))
    builder.make_main(vpc.id, vpc.table)
    builder.ec2.delete_subnet(SubnetId=doomed)
    outcome = customer.outcome(customer.has_every_verdict)
    builder.ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])
    builder.ec2.delete_route(RouteTableId=later.table, DestinationCidrBlock="0.0.0.0/0")
    builder.tag(moved, "express-path:exclude")
    return max(outcome, customer.outcome(customer.has_every_verdict), key=list(Outcome).index)


def verdicts_follow_newer_types(customer: Customer) -> Outcome:
    """They follow entries of prefix lists, Block Public Access, its exclusions, and firewalls."""
    builder, vpc, closed = customer.builder, customer.vpc, customer.public_subnet
    prefix_list = builder.prefix_list("192.0.2.0/24")
    builder.endpoint(vpc.id, vpc.table)
    builder.route(vpc.table, prefix_list, NatGatewayId=vpc.nat)
    customer.deploy(RemediationMode="OFF")
    if customer.failure:
        return customer.outcome(customer.has_every_verdict, [DEPLOYMENT], NEWER_TYPE)
    customer.settle()
    [block, *_] = customer.addresses()
    builder.ec2.modify_managed_prefix_list(
        PrefixListId=prefix_list, CurrentVersion=1, AddEntries=[{"Cidr": f"{block.partition('/')[0]}/32"}]
    )
    outcomes = [customer.outcome(customer.has_every_verdict)]
    builder.ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
    outcomes.append(customer.outcome(customer.has_every_verdict))
    builder.ec2.create_vpc_block_public_access_exclusion(
        SubnetId=closed, InternetGatewayExclusionMode="allow-bidirectional"
    )
    outcomes.append(customer.outcome(customer.has_every_verdict))
    return max(outcomes, key=list(Outcome).index)


def verdicts_follow_block_public_access(customer: Customer) -> Outcome:
    """If it closes the internet gateway, nothing leaves through a NAT gateway; with an exclusion, everything is as before."""
    ec2, subnet_id, closed = customer.builder.ec2, customer.vpc.subnet, customer.public_subnet
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    assert customer.compliance(subnet_id) == "NON_COMPLIANT"
    ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
    outcome = customer.outcome(lambda: customer.compliance(subnet_id) == NOT_APPLICABLE)
    ec2.create_vpc_block_public_access_exclusion(SubnetId=closed, InternetGatewayExclusionMode="allow-bidirectional")
    back = customer.outcome(lambda: customer.compliance(subnet_id) == "NON_COMPLIANT")
    return max(outcome, back, key=list(Outcome).index)


def scan_reads_an_aggregator(customer: Customer) -> Outcome:
    """From the items of an aggregator, `scan` has the verdicts that it reads from EC2, also after a change."""
    sources = [{"AccountIds": [customer.sandbox.account_id], "AwsRegions": [customer.sandbox.region]}]
    customer.config.put_configuration_aggregator(ConfigurationAggregatorName="all", AccountAggregationSources=sources)
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    customer.builder.endpoint(customer.vpc.id, customer.vpc.table)
    customer.settle()
    return customer.outcome(lambda: customer.scanned("--aggregator", "all") == customer.scanned())


def new_parameters_count(customer: Customer) -> Outcome:
    """After an update of the stack with another parameter of the rule, the verdicts are those of the new parameter."""
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    customer.deploy(RemediationMode="OFF", PublicSubnets="NON_COMPLIANT")
    subnet_id = customer.public_subnet
    return customer.outcome(lambda: customer.compliance(subnet_id) == "NON_COMPLIANT")


def what_was_read_last_stays(customer: Customer) -> Outcome:
    """A result that was read before a change, and is reported after the one that was read later, is not what stays."""
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    before = datetime.now(UTC)
    customer.builder.endpoint(customer.vpc.id, customer.vpc.table)
    customer.settle()
    customer.report(customer.vpc.subnet, "NON_COMPLIANT", before)
    return customer.outcome(customer.has_every_verdict)


# --- heals that AWS Config starts --------------------------------------------------------------------------------------


def what_is_found_is_healed(customer: Customer) -> Outcome:
    """In mode ON, a subnet that is there when the stack is deployed is healed, and one that comes later, too."""
    customer.deploy()
    customer.settle()
    later = Vpc(customer.builder)
    vpcs = customer.vpc, later
    return customer.outcome(lambda: all(map(customer.has_endpoint, vpcs)), HEALS, *(vpc.subnet for vpc in vpcs))


def heals_go_on_after_a_stop(customer: Customer) -> Outcome:
    """After `stop` and `start`, a subnet is healed whose heal ended without a change meanwhile."""
    customer.deploy()
    assert customer.run("stop").returncode == 0
    customer.settle()
    customer.sweep()
    assert not customer.has_endpoint(customer.vpc)
    customer.run("start", "--yes")
    return customer.outcome(lambda: customer.has_endpoint(customer.vpc), HEALS, customer.vpc.subnet)


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
    return customer.outcome(lambda: customer.has_endpoint(customer.vpc), HEALS, customer.vpc.subnet)


def what_was_undone_stays_undone(customer: Customer) -> Outcome:
    """After an undo, AWS Config adds the endpoint to the route table no more."""
    customer.deploy()
    customer.settle()
    customer.run("start", "--yes")
    customer.settle()
    assert customer.has_endpoint(customer.vpc)
    assert customer.run("undo", customer.vpc.subnet, "--yes").returncode == 0
    customer.settle()
    customer.let_a_day_pass()
    customer.run("start", "--yes")
    return customer.outcome(lambda: not customer.is_associated(customer.vpc))


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
    return customer.outcome(lambda: all(map(customer.has_endpoint, vpcs)), HEALS, *(vpc.subnet for vpc in vpcs))


# --- runs --------------------------------------------------------------------------------------------------------------


def a_heal_that_is_not_verified_fails(customer: Customer) -> Outcome:
    """A heal whose verification cannot read EC2 fails, for AWS Config and for the command, and the next one succeeds."""
    faults, subnet_id = customer.sandbox.faults, customer.vpc.subnet
    faults.before("ec2", "ModifyVpcEndpoint", lambda: faults.deny("ec2", "DescribeNatGateways"), times=1)
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    healed = customer.run("heal", subnet_id, "--yes")
    customer.start_remediation(subnet_id)
    [run] = customer.remediations(subnet_id)
    assert run.execution
    customer.aws.automation.wait(run.execution.id)
    faults.clear()
    again = customer.run("heal", subnet_id, "--yes")
    ends = (healed.returncode, run.state, again.returncode)
    return customer.outcome(lambda: ends == (2, "FAILED", 0) and customer.has_endpoint(customer.vpc))


def progress_names_what_has_begun(customer: Customer) -> Outcome:
    """While a heal runs, and after somebody stopped it, the command names only steps that have begun."""
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    table_id, calls = customer.vpc.table, customer.sandbox.calls

    def stop_while_somebody_looks() -> None:
        customer.stop_heals()
        seen, end = len(calls.of("ssm", "GetAutomationExecution")), time.monotonic() + 60
        while len(calls.of("ssm", "GetAutomationExecution")) < seen + 2 and time.monotonic() < end:
            time.sleep(0.1)

    customer.sandbox.faults.before("ec2", "CreateVpcEndpoint", stop_while_somebody_looks, times=1)
    shown = customer.run("heal", customer.vpc.subnet, "--yes", "--verbose").stdout
    named = set(re.findall(rf"^  {table_id}: \w+: (\w+)$", shown, re.MULTILINE))
    begun = {name for run in customer.executions(HEAL) for name, step in run.steps.items() if step.started}
    return customer.outcome(lambda: "create" in named and named <= begun and "associate" not in begun)


def a_run_that_gets_no_turn_fails(customer: Customer) -> Outcome:
    """A heal that cannot claim its route table fails, for AWS Config and for the command, and the next one succeeds."""
    subnet_id = customer.vpc.subnet
    customer.deploy(RemediationMode="OFF")
    if customer.failure:
        return customer.outcome(lambda: False, [DEPLOYMENT], "HealDocument", "mainSteps.takeTurn")
    customer.settle()
    customer.sandbox.faults.deny("dynamodb", "UpdateItem")
    healed = customer.run("heal", subnet_id, "--yes")
    customer.start_remediation(subnet_id)
    customer.settle()
    [run] = customer.remediations(subnet_id)
    customer.sandbox.faults.clear()
    again = customer.run("heal", subnet_id, "--yes")
    ends = (healed.returncode, run.state, again.returncode)
    is_named = "AccessDeniedException" in healed.stdout + healed.stderr
    return customer.outcome(lambda: ends == (2, "FAILED", 0) and is_named and customer.has_endpoint(customer.vpc))


def a_heal_is_undone_and_made_again(customer: Customer) -> Outcome:
    """With the permissions of its role alone, a heal is made, undone by the command, and made again."""
    subnet_id = customer.vpc.subnet
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    with customer.permissions():
        ends = [customer.run("heal", subnet_id, "--yes").returncode]
        runs = [run.id for run in customer.executions(HEAL)]
        ends.append(customer.run("undo", runs[-1], "--yes").returncode)
        is_undone = not customer.endpoints()
        ends.append(customer.run("heal", subnet_id, "--yes").returncode)
    return customer.outcome(
        lambda: ends == [0, 0, 0] and is_undone and customer.has_endpoint(customer.vpc), [RUN], customer.vpc.table
    )


def somebody_else_associates_the_table_meanwhile(customer: Customer) -> Outcome:
    """A heal whose change somebody else has just made succeeds."""
    customer.deploy(RemediationMode="OFF")
    customer.settle()

    def associate() -> None:
        [endpoint_id] = customer.endpoints()
        customer.builder.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[customer.vpc.table])

    customer.sandbox.faults.before("ec2", "ModifyVpcEndpoint", associate, times=1)
    healed = customer.run("heal", customer.vpc.subnet, "--yes")
    return customer.outcome(
        lambda: healed.returncode == 0 and customer.has_endpoint(customer.vpc), [RUN], customer.vpc.table
    )


# --- approvals ---------------------------------------------------------------------------------------------------------


def a_rejection_is_final(customer: Customer) -> Outcome:
    """After an approver rejected a heal, AWS Config sends no other request, also not after a sweep."""
    request = customer.ask()
    customer.answer(request, "Reject")
    return customer.outcome(
        lambda: len(customer.requests()) == 1 and not customer.endpoints(), HEALS, customer.vpc.subnet
    )


def an_approved_heal_is_made(customer: Customer) -> Outcome:
    """After an approver approved a heal, it is made."""
    request = customer.ask()
    customer.answer(request, "Approve")
    return customer.outcome(lambda: customer.has_endpoint(customer.vpc), HEALS, customer.vpc.subnet)


def a_forged_approval_heals_nothing(customer: Customer) -> Outcome:
    """An approval that an administrator writes into the ledger starts no heal."""
    request = customer.ask(DeployingRoleArn="arn:aws:iam::123456789012:role/deploy")
    customer.answer(request, "Reject")
    approved = {":approved": {"S": "APPROVED"}, ":expires": {"N": str(10**10)}}
    with customer.permissions() as administrator:
        dynamodb = customer.sandbox.client("dynamodb", credentials=administrator)
        with suppress(ClientError):
            dynamodb.update_item(
                TableName=customer.ledger(),
                Key={"id": {"S": f"TABLE#{customer.vpc.table}"}},
                UpdateExpression="SET approvalState = :approved, approvalExpiresAt = :expires",
                ExpressionAttributeValues=approved,
            )
    names = ("SubnetId", "AutomationAssumeRole", "PlanFunctionName")
    healed = customer.aws.automation.execute(HEAL, {name: request.parameters[name] for name in names})
    is_refused = healed["AutomationExecutionStatus"] == "Failed"
    return customer.outcome(lambda: is_refused and not customer.endpoints())


# --- what EC2 shows, and what is published -----------------------------------------------------------------------------


def a_dual_stack_subnet_is_healed(customer: Customer) -> Outcome:
    """A heal of a subnet with IPv4 and IPv6 leads both to the endpoint."""
    ec2, vpc = customer.builder.ec2, customer.vpc
    vpc.add_ipv6(customer.builder, vpc.subnet)
    gateway = ec2.create_egress_only_internet_gateway(VpcId=vpc.id)["EgressOnlyInternetGateway"]
    route = {"DestinationIpv6CidrBlock": "::/0", "EgressOnlyInternetGatewayId": gateway["EgressOnlyInternetGatewayId"]}
    ec2.create_route(RouteTableId=vpc.table, **route)
    customer.deploy()

    def is_healed() -> bool:
        found = ec2.describe_managed_prefix_lists()["PrefixLists"]
        lists = {row["PrefixListId"] for row in found if "s3express" in row["PrefixListName"]}
        [table] = ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"]
        to_endpoint = [route for route in table["Routes"] if route.get("GatewayId", "").startswith("vpce-")]
        return customer.has_endpoint(vpc) and {route["DestinationPrefixListId"] for route in to_endpoint} == lists

    return customer.outcome(is_healed, HEALS, vpc.subnet)


def a_subnet_behind_a_regional_nat_gateway_is_healed(customer: Customer) -> Outcome:
    """The subnet is found, and its heal changes its own route table alone."""
    ec2, vpc = customer.builder.ec2, customer.vpc
    nat = ec2.create_nat_gateway(VpcId=vpc.id, AvailabilityMode="regional")["NatGateway"]
    ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat["NatGatewayId"])
    customer.deploy()

    def is_healed() -> bool:
        tables = [
            table for endpoint in ec2.describe_vpc_endpoints()["VpcEndpoints"] for table in endpoint["RouteTableIds"]
        ]
        return customer.has_endpoint(vpc) and tables == [vpc.table]

    return customer.outcome(is_healed, HEALS, vpc.subnet)


def a_sweep_is_announced(customer: Customer) -> Outcome:
    """A sweep reaches the bus, if the policies of the function's role and of the bus let it."""
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    if not customer.may_put_events():
        customer.sandbox.faults.deny("events", "PutEvents")
    known = len(customer.sandbox.calls.of("events", "PutEvents"))
    customer.sweep()
    errors = [call.error for call in customer.sandbox.calls.of("events", "PutEvents")[known:]]
    return customer.outcome(
        lambda: errors != [] and set(errors) == {None}, [SWEEP], "none has followed the last sweep yet"
    )


def the_new_security_hub_hides_nothing_else(customer: Customer) -> Outcome:
    """Its automation rule suppresses the findings with the rule's name as the title, and no other one that somebody must see."""
    customer.deploy(RemediationMode="OFF")
    customer.settle()
    template = read((ROOT / "org" / "security-hub-admin.yaml").read_text(encoding="utf-8"))
    del template["Resources"]["NativeFindings"], template["Outputs"]  # of Security Hub CSPM
    customer.deploy_beside("security-hub-admin", template, CreateRuleV2="true")
    customer.flag_by_another_rule(customer.vpc.subnet)

    def is_right() -> bool:
        found = customer.aws.client("securityhub").get_findings_v2()["Findings"]
        seen = {
            (finding["finding_info"]["title"], finding["metadata"]["product"]["name"], finding["status_id"])
            for finding in found
        }
        return all((status == SUPPRESSED) == ((title, product) == (RULE, "Config")) for title, product, status in seen)

    return customer.outcome(is_right)


PARTS: dict[str, tuple[Part, ...]] = {
    "remediation_trigger": (
        what_is_found_is_healed,
        heals_go_on_after_a_stop,
        heals_go_on_after_an_exception,
        what_was_undone_stays_undone,
    ),
    "remediation_snapshot": (
        what_is_found_is_healed,
        heals_go_on_after_a_stop,
        heals_go_on_after_an_exception,
        what_was_undone_stays_undone,
    ),
    "first_sweep": (each_subnet_has_its_verdict, verdicts_follow_changes, new_parameters_count),
    "updated_rule": (new_parameters_count,),
    "repeated_item": (each_subnet_has_its_verdict, new_parameters_count),
    "item_order": (each_subnet_has_its_verdict, verdicts_follow_changes, verdicts_follow_newer_types),
    "newer_types": (each_subnet_has_its_verdict, verdicts_follow_newer_types),
    "newer_items": (each_subnet_has_its_verdict, verdicts_follow_newer_types),
    "older_result": (what_was_read_last_stays,),
    "stored_results": (
        each_subnet_has_its_verdict,
        verdicts_follow_changes,
        new_parameters_count,
        what_was_read_last_stays,
        what_is_found_is_healed,
        heals_go_on_after_a_stop,
    ),
    "item_state": (scan_reads_an_aggregator, verdicts_follow_changes),
    "aggregator_items": (scan_reads_an_aggregator,),
    "remediation_on_demand": (heals_go_on_after_a_stop, heals_go_on_after_an_exception),
    "busy_resource": (start_leaves_alone_what_runs,),
    "raised_error": (a_heal_that_is_not_verified_fails,),
    "later_steps": (progress_names_what_has_begun, start_leaves_alone_what_runs),
    "loop_failure": (a_run_that_gets_no_turn_fails,),
    "loop_steps": (a_run_that_gets_no_turn_fails,),
    "missing_output": (a_heal_is_undone_and_made_again, a_run_that_gets_no_turn_fails),
    "step_inputs": (an_approved_heal_is_made,),
    "unapproved_step": (a_rejection_is_final,),
    "rejected_status": (a_rejection_is_final,),
    "ipv6_list": (a_dual_stack_subnet_is_healed,),
    "regional_nat_table": (a_subnet_behind_a_regional_nat_gateway_is_healed,),
    "shown_block_mode": (verdicts_follow_block_public_access,),
    "used_token": (a_heal_is_undone_and_made_again,),
    "table_added_again": (somebody_else_associates_the_table_meanwhile,),
    "endpoint_keys": (a_heal_is_undone_and_made_again,),
    "attribute_keys": (a_heal_is_undone_and_made_again,),
    "table_deny": (a_forged_approval_heals_nothing,),
    "denying_bus_policy": (a_sweep_is_announced,),
    "new_hub_findings": (the_new_security_hub_hides_nothing_else,),
}
"""The parts that the answers of each switch can touch."""
AVOIDED = {"used_token"}
"""The switches whose answers never count, because express-path does not do what AWS leaves open: no client token is used again."""
TOGETHER = [("remediation_trigger", "remediation_on_demand"), ("first_sweep", "updated_rule")]
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
