"""A customer's account in a local AWS: the stack from the template, a VPC whose private subnet uses a NAT, and the operator's command."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.stacks import Stack, create_stack, update_stack
from config_rule_sandbox.config.remediation.memory import RUNNING, Remediations, Run, remediations_of
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.ec2.block_public_access import block_public_access_of
from config_rule_sandbox.http.in_process import in_process
from config_rule_sandbox.iam.people import create_user
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.local_aws import LocalAws
from config_rule_sandbox.ssm.execution import Execution
from config_rule_sandbox.ssm.registry import registry
from demo.local_aws import local_aws
from demo.situations import remove_default_vpc
from express_path.domain.heal.ledger_records import STOP_ID
from express_path.healing import rereading
from express_path_cli.installation.rule import CHECKED
from org.expansion import expand
from tests.support import processes
from tests.support.heals import APPROVED, RULE, Vpc
from tests.support.network import Builder
from tests.support.template import MAIN, ROOT

SUBNET = "AWS::EC2::Subnet"
NOT_APPLICABLE = "NOT_APPLICABLE"
STACK_NAME = "express-path"
DAY = timedelta(days=1)
CHANGING = ("heal", "undo")
"""The commands that print what they could not do, and why."""
DEPLOYMENT, RUN = "deployment", "run"
HEALS = ("waiting", "heals", "exceptions")
"""The checks of `doctor` and the component in the alarm that are about subnets which AWS Config does not heal."""
SWEEP = "sweep"
"""The check of `doctor` that is about the last sweep and the check after it."""
FAILURE = re.compile(r"^express-path: (\S+: run \S+ ended with .*)$|^(\S.*: not undone\n  .*)$", re.MULTILINE)
"""How a command says which run failed, or which heal it did not undo, and why."""
ARTIFACTS, CODE = "artifacts", "code.zip"
"""The bucket and the key of the functions' code. It is not run: the handlers of this checkout are."""


class Outcome(StrEnum):
    """What becomes of a part of the story under an answer of AWS."""

    WORKS = "works"
    NEXT_SWEEP = "works by the next sweep"
    SAID = "is said"
    """It does not work, and an operator is told of it: `doctor`, the check after a sweep, which raises the alarm, or a
    deployment or command that fails gives a reason that names the IDs concerned."""
    SILENT = "WRONG IN SILENCE"


class Reason(NamedTuple):
    """What an operator is told about something that does not work: a deployment, a run, a check, or a component."""

    about: str
    text: str


class Customer:
    """An account. `vpc` is a VPC whose private subnet uses a NAT gateway. `stack` is the stack, once it is deployed."""

    def __init__(self, aws: LocalAws) -> None:
        """Make the VPC. Nothing is deployed yet."""
        self.aws, self.sandbox = aws, aws.sandbox
        aws.automation.knobs.time_scale, aws.automation.knobs.limit_scale = 0.001, 10
        remove_default_vpc(self.sandbox)
        self.builder = Builder(self.sandbox)
        self.vpc = Vpc(self.builder)
        self.config: Any = aws.client("config")
        self.stack: Stack | None = None
        self.failure = ""
        self._failed: list[Reason] = []

    # --- what happens --------------------------------------------------------------------------------------------------

    def deploy(self, **parameters: str) -> None:
        """Create or update the stack, by default in mode ON. `failure` says why that failed, if it did."""
        given = {"ArtifactBucketPrefix": ARTIFACTS, "RemediationMode": "ON", **parameters}
        template = expand(ROOT / MAIN, CODE)
        if self.stack:
            self.failure = str(update_stack(self.stack, template, given) or "")
            return
        s3, bucket = self.aws.client("s3"), f"{ARTIFACTS}-{self.sandbox.region}"
        s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket=bucket, Key=CODE, Body=b"PK\5\6" + bytes(18))  # an empty archive
        account = Account(self.sandbox, self.sandbox.account_id, self.sandbox.region)
        self.stack = create_stack(account, STACK_NAME, template, given)
        self.failure = str(self.stack.failure or "")

    def deploy_beside(self, name: str, template: dict[str, Any], **parameters: str) -> None:
        """Create another stack in the account."""
        account = Account(self.sandbox, self.sandbox.account_id, self.sandbox.region)
        made = create_stack(account, name, template, parameters)
        assert not made.failure, made.failure

    def settle(self) -> None:
        """Wait until AWS Config has told the rule of all changes, and all heals have ended, whoever started them."""
        self.aws.settle()
        while running := [run.execution for run in self._memory.of_rule(RULE) if run.state in RUNNING]:
            for execution in running:
                if execution:
                    self.aws.automation.wait(execution.id)
            self.aws.settle()

    def sweep(self) -> None:
        """Let the time of the next sweep come, and wait until everything that follows from it has happened."""
        self.aws.send_scheduled()
        self.settle()

    def let_a_day_pass(self) -> None:
        """Let everything that was recorded, run, or set be a day older, and sweep."""
        place = self.sandbox.account_id, self.sandbox.region
        for memory in (
            results_of(*place),
            remediations_of(*place),
            block_public_access_of(*place),
            *registry(*place).executions.values(),
        ):
            memory.grow_older(DAY)
        self.sweep()

    def run(self, *command_line: str) -> subprocess.CompletedProcess[str]:
        """Run the command as an operator."""
        environment = dict(os.environ)
        line = [*processes.command(environment), *command_line]
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        if done.returncode and command_line[0] in CHANGING:
            self._failed += [Reason(RUN, found[0]) for found in FAILURE.finditer(done.stdout + done.stderr)]
        return done

    def stop_heals(self) -> None:
        """Stop heals as `express-path stop` does, in the ledger."""
        assert self.stack
        item = {"id": {"S": STOP_ID}, "stoppedAt": {"S": "now"}, "by": {"S": "ann"}}
        table = self.stack.resources["LedgerTable"].physical_id
        self.aws.client("dynamodb").put_item(TableName=table, Item=item)

    def report(self, subnet_id: str, compliance: str, read: datetime) -> None:
        """Report a result of the rule that was read at a time, as an invocation that took long does."""
        result = {
            "ComplianceResourceType": SUBNET,
            "ComplianceResourceId": subnet_id,
            "ComplianceType": compliance,
            "OrderingTimestamp": read,
        }
        token = results_of(self.sandbox.account_id, self.sandbox.region).issue_token(RULE)
        self.config.put_evaluations(Evaluations=[result], ResultToken=token)

    def flag_by_another_rule(self, subnet_id: str) -> None:
        """Let AWS Config have a NON_COMPLIANT result of another rule."""
        now = time.time()
        result = Result(f"{RULE}-2", (SUBNET, subnet_id), "NON_COMPLIANT", now, now, now)
        results_of(self.sandbox.account_id, self.sandbox.region).store(result)

    def start_remediation(self, subnet_id: str) -> None:
        """Ask AWS Config to heal a subnet."""
        keys = [{"resourceType": SUBNET, "resourceId": subnet_id}]
        self.config.start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=keys)

    @contextmanager
    def permissions(self) -> Iterator[dict[str, str]]:
        """Require a permission for every request, and let the operator be an administrator, whose credentials are given."""
        everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        administrator = create_user(self.sandbox, "admin", [{"Version": "2012-10-17", "Statement": [everything]}])
        names = {name.upper(): value for name, value in administrator.items()}
        with enforced(self.sandbox), pytest.MonkeyPatch.context() as patch:
            patch.delenv("AWS_SESSION_TOKEN", raising=False)
            for name, value in names.items():
                patch.setenv(name, value)
            yield administrator

    def may_put_events(self) -> bool:
        """Return whether the role of the rule's function may put events on the stack's bus."""
        assert self.stack
        role = self.aws.client("iam").get_role(RoleName=self.stack.resources["EvaluateRole"].physical_id)["Role"]
        session = self.sandbox.assume(role["Arn"])
        entry = {"EventBusName": f"express-path-{RULE}", "Source": "answers", "DetailType": "answers", "Detail": "{}"}
        with enforced(self.sandbox):
            try:
                self.sandbox.client("events", credentials=session).put_events(Entries=[entry])
            except ClientError:
                return False
        return True

    def ask(self, **parameters: str) -> Execution:
        """Deploy the stack in mode APPROVAL, and return the run of AWS Config that asks this account's caller."""
        topic = self.aws.client("sns").create_topic(Name="AutomationApprovals")["TopicArn"]
        approver = self.aws.client("sts").get_caller_identity()["Arn"]
        self.deploy(RemediationMode="APPROVAL", ApprovalTopicArn=topic, Approvers=approver, **parameters)
        until = time.monotonic() + 60
        while not (waiting := [run for run in self.executions(APPROVED) if run.status == "Waiting"]):
            assert time.monotonic() < until, self.failure
            self.aws.look()
            time.sleep(0.05)
        return waiting[-1]

    def answer(self, request: Execution, signal: str) -> None:
        """Approve or reject a request, and wait for the end of its run. Nobody answers later ones, whose time is soon over."""
        knobs = self.aws.automation.knobs
        knobs.time_scale = 0.01  # a heal that is approved has two hours
        self.aws.client("ssm").send_automation_signal(AutomationExecutionId=request.id, SignalType=signal)
        self.aws.automation.wait(request.id, 120)
        knobs.time_scale = 0.00001

    @property
    def _memory(self) -> Remediations:
        return remediations_of(self.sandbox.account_id, self.sandbox.region)

    # --- what can be seen ----------------------------------------------------------------------------------------------

    def compliance(self, subnet_id: str) -> str:
        """Return the result of a subnet that AWS Config has; empty if it has none."""
        results = results_of(self.sandbox.account_id, self.sandbox.region).results
        found = results.get((RULE, (SUBNET, subnet_id)))
        return found.compliance if found else ""

    def scanned(self, *options: str) -> dict[str, tuple[str, str]]:
        """Return compliance and annotation of the subnets to which the command says that the rule applies."""
        shown = self.run("scan", "--format", "json", *options).stdout
        rows = json.loads(shown)["subnets"] if shown else []
        verdicts = {row["subnetId"]: (row["compliance"], row["annotation"]) for row in rows}
        return {subnet_id: verdict for subnet_id, verdict in verdicts.items() if verdict[0] != NOT_APPLICABLE}

    def has_every_verdict(self) -> bool:
        """Return whether AWS Config has the verdict of each subnet that the command sees in the network."""
        results = results_of(self.sandbox.account_id, self.sandbox.region).of_rule(RULE)
        stored = {result.resource[1]: (result.compliance, result.annotation) for result in results}
        return {key: verdict for key, verdict in stored.items() if verdict[0] != NOT_APPLICABLE} == self.scanned()

    def is_associated(self, vpc: Vpc) -> bool:
        """Return whether the private route table of a VPC has a route to a gateway endpoint."""
        [table] = self.builder.ec2.describe_route_tables(RouteTableIds=[vpc.table])["RouteTables"]
        return any(route.get("GatewayId", "").startswith("vpce-") for route in table["Routes"])

    def has_endpoint(self, vpc: Vpc) -> bool:
        """Return whether the private route table of a VPC has a route to a gateway endpoint, and AWS Config knows."""
        return self.is_associated(vpc) and self.compliance(vpc.subnet) == "COMPLIANT"

    def addresses(self) -> list[str]:
        """Return the blocks of S3 Express."""
        lists = self.builder.ec2.describe_prefix_lists()["PrefixLists"]
        [blocks] = [found["Cidrs"] for found in lists if found["PrefixListName"].endswith(".s3express")]
        return list(blocks)

    @property
    def public_subnet(self) -> str:
        """The subnet of the VPC that leads to the internet gateway, in which its NAT gateway is."""
        [nat] = self.builder.ec2.describe_nat_gateways(NatGatewayIds=[self.vpc.nat])["NatGateways"]
        return str(nat["SubnetId"])

    def remediations(self, subnet_id: str) -> list[Run]:
        """Return the remediations of a subnet, the oldest first."""
        return self._memory.runs.get((RULE, (SUBNET, subnet_id)), [])

    def executions(self, document: str) -> list[Execution]:
        """Return the executions of a runbook, the oldest first."""
        known = registry(self.sandbox.account_id, self.sandbox.region).executions.values()
        return [execution for execution in known if execution.document_name == document]

    def requests(self) -> list[Execution]:
        """Return the runs that have asked for an approval."""
        return [run for run in self.executions(APPROVED) if run.steps["approve"].started]

    def endpoints(self) -> list[str]:
        """Return the endpoints that are not deleted."""
        found = self.builder.ec2.describe_vpc_endpoints()["VpcEndpoints"]
        return [endpoint["VpcEndpointId"] for endpoint in found if not endpoint["State"].startswith("delet")]

    def ledger(self) -> str:
        """Return the name of the stack's ledger."""
        assert self.stack
        return str(self.stack.resources["LedgerTable"].physical_id)

    def outcome(self, is_right: Callable[[], bool], about: Collection[str] = (), *named: str) -> Outcome:
        """Return whether something is right: at once, after a sweep, or else whether an operator is told.

        That is so if one reason is about one of these things, and names everything that is to be `named`.
        """
        self.settle()
        if is_right():
            return Outcome.WORKS
        self.sweep()
        if is_right():
            return Outcome.NEXT_SWEEP
        self.let_a_day_pass()
        if is_right():
            return Outcome.NEXT_SWEEP
        told = [reason.text for reason in self.told() if reason.about in about]
        is_said = any(all(name in text for name in named) for text in told)
        return Outcome.SAID if is_said else Outcome.SILENT

    def told(self) -> Iterator[Reason]:
        """Yield what an operator is told: by a deployment or a run that failed, by `doctor`, and by the alarm.

        Of a deployment that failed, nothing else is there to say anything.
        """
        if self.failure:
            yield Reason(DEPLOYMENT, self.failure)
            return
        yield from self._failed
        checks = json.loads(self.run("doctor", "--format", "json").stdout)["checks"]
        yield from (Reason(check["name"], check["finding"]) for check in checks if check["state"] != "OK")
        yield from self._alarm()

    def _alarm(self) -> Iterator[Reason]:
        """Yield what the last check after a sweep found: it fails for that, and the alarm is about its errors."""
        assert self.stack
        function = self.stack.resources["HealthFunction"].physical_id
        settings = self.aws.client("lambda").get_function_configuration(FunctionName=function)
        written = self.aws.client("logs").filter_log_events(logGroupName=settings["LoggingConfig"]["LogGroup"])[
            "events"
        ]
        lines = [json.loads(event["message"]) for event in written if event["message"].startswith("{")]
        checks = [line["faults"] for line in lines if line["message"] == CHECKED]
        yield from (Reason(fault["component"], fault["problem"]) for fault in (checks[-1] if checks else ()))


@contextmanager
def customer(patches: pytest.MonkeyPatch, answers: Sequence[tuple[str, str]]) -> Iterator[Customer]:
    """Give a customer's account in an AWS that gives these answers."""
    patches.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    patches.setattr(rereading, "SECONDS_APART", 0)
    patches.delenv("AWS_PROFILE", raising=False)
    with local_aws() as aws, in_process(aws.sandbox):
        for switch, answer in answers:
            aws.sandbox.answers.set(switch, answer)
        yield Customer(aws)
