"""A deployment for heal tests: the real runbooks, their role, their function, and an approver."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.tracing import traced
from express_path.handlers import plan_heal
from org.expansion import runbook
from tests.support.ledgers import LedgerTable
from tests.support.network import Builder
from tests.support.rule import Context

HEAL, UNDO, APPROVED = (
    "AddS3ExpressGatewayEndpoint",
    "RemoveS3ExpressGatewayEndpoint",
    "AddS3ExpressGatewayEndpointWithApproval",
)
FUNCTION = "express-path-plan"
RULE = "s3express-no-nat-path"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ssm.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
Run = dict[str, Any]


def all_steps(name: str) -> dict[str, dict[str, Any]]:
    """Return the steps of a runbook by name, those inside of a loop after the loop."""
    steps = runbook(name)["mainSteps"]
    return {inner["name"]: inner for step in steps for inner in (step, *step["inputs"].get("Steps", []))}


def called(step: dict[str, Any]) -> Iterator[str]:
    """Yield the calls that a step makes, such as ec2:CreateVpcEndpoint, by itself or in its script."""
    inputs = step["inputs"]
    if "Api" in inputs:
        yield f"{inputs['Service']}:{inputs['Api']}"
    script = inputs.get("Script", "")
    for name, service in re.findall(r'(\w+) = boto3\.client\("(\w+)"\)\n', script):
        script = re.sub(rf"\b{name}\.", f'boto3.client("{service}").', script)
    assert not re.search(r'boto3\.(?!client\("\w+"\))', script), "a client is made in another way"
    for service, method in re.findall(r'boto3\.client\("(\w+)"\)\.(\w+)\(', script):
        yield f"{service}:{method.title().replace('_', '')}"


def configure_remediation(config: Any, given: Mapping[str, str], document: str = HEAL) -> None:
    """Create a recorder and the rule, and let AWS Config start a runbook for what it flags, once for each subnet."""
    role = "arn:aws:iam::123456789012:role/config"
    config.put_configuration_recorder(ConfigurationRecorder={"name": "default", "roleARN": role})
    source = {"Owner": "AWS", "SourceIdentifier": "S3_BUCKET_VERSIONING_ENABLED"}
    config.put_config_rule(ConfigRule={"ConfigRuleName": RULE, "Source": source})
    values = {name: {"StaticValue": {"Values": [value]}} for name, value in given.items()}
    config.put_remediation_configurations(
        RemediationConfigurations=[
            {
                "ConfigRuleName": RULE,
                "TargetType": "SSM_DOCUMENT",
                "TargetId": document,
                "Automatic": True,
                "MaximumAutomaticAttempts": 1,
                "Parameters": {"SubnetId": {"ResourceValue": {"Value": "RESOURCE_ID"}}, **values},
            }
        ]
    )


class Deployment:
    """The runbooks in a sandbox, and the results of their runs."""

    def __init__(self, sandbox: Sandbox, automation: Automation) -> None:
        """Create the ledger and register the plan function."""
        self.sandbox = sandbox
        self.automation = automation
        self.ec2: Any = sandbox.client("ec2")
        self.ssm: Any = sandbox.client("ssm")
        role = sandbox.client("iam").create_role(
            RoleName="automation", Path="/express-path/automation/", AssumeRolePolicyDocument=json.dumps(TRUST)
        )
        function = f"arn:aws:lambda:{sandbox.region}:{sandbox.account_id}:function:{FUNCTION}"
        self.given = {"AutomationAssumeRole": str(role["Role"]["Arn"]), "PlanFunctionName": function}
        self.ledger = LedgerTable(sandbox)
        self.services = plan_heal.compose_services(os.environ, sandbox.account_id)
        # In Lambda, requests do not run concurrently. Here they do, so create the clients before threads share them.
        for name in ("dynamodb", "ec2", "s3", "ssm"):
            getattr(self.services.aws, name)
        automation.functions.register(FUNCTION, traced(self.plan))

    def plan(self, event: dict[str, Any]) -> dict[str, Any]:
        """Invoke the plan function."""
        return plan_heal.handler(event, Context(), self.services)

    def publish(self, name: str) -> None:
        """Create a runbook's document, as the stack does."""
        self.ssm.create_document(
            Name=name, Content=json.dumps(runbook(name)), DocumentFormat="JSON", DocumentType="Automation"
        )

    def after(self, action: str, change: Callable[[], object]) -> None:
        """Make a change right after the plan function's first answer to an action."""
        pending = [change]

        def answer(event: dict[str, Any]) -> dict[str, Any]:
            answered = self.plan(event)
            if event["action"] == action and pending:
                pending.pop()()
            return answered

        self.automation.functions.register(FUNCTION, answer)

    def heal(self, subnet_id: str, **more: str) -> Run:
        """Run the heal of a subnet until it ends."""
        return self.automation.execute(HEAL, {"SubnetId": subnet_id, **self.given, **more})

    def start(self, subnet_id: str, name: str = HEAL, **more: str) -> str:
        """Start the heal of a subnet and return the execution's id."""
        given = {"SubnetId": subnet_id, **self.given, **more}
        answer = self.ssm.start_automation_execution(
            DocumentName=name, Parameters={key: [value] for key, value in given.items()}
        )
        return str(answer["AutomationExecutionId"])

    def undo(self, run_id: str) -> Run:
        """Run the undo of a heal until it ends."""
        return self.automation.execute(UNDO, {"RunId": run_id, **self.given})

    def tables(self, vpc_id: str) -> list[dict[str, Any]]:
        """Return the route tables of a VPC, as EC2 describes them."""
        of_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
        found: list[dict[str, Any]] = self.ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
        return found

    def described(self, vpc_id: str) -> str:
        """Return everything that EC2 describes of a VPC's route tables and S3 Express endpoints."""
        return json.dumps([self.tables(vpc_id), self.endpoints(vpc_id)], default=str)

    def endpoints(self, vpc_id: str) -> list[dict[str, Any]]:
        """Return the S3 Express endpoints of a VPC that are not deleted."""
        of_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
        found = self.ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"]
        return [
            endpoint
            for endpoint in found
            if endpoint["ServiceName"].endswith(".s3express") and endpoint["State"] not in ("deleting", "deleted")
        ]

    def associations(self, vpc_id: str) -> dict[str, list[str]]:
        """Return the route tables that have a route to each S3 Express endpoint."""
        return {
            endpoint["VpcEndpointId"]: sorted(
                table["RouteTableId"]
                for table in self.tables(vpc_id)
                if any(route.get("GatewayId") == endpoint["VpcEndpointId"] for route in table["Routes"])
            )
            for endpoint in self.endpoints(vpc_id)
        }

    def changes(self) -> list[str]:
        """Return the EC2 operations that could have changed something, in order."""
        return [call.operation for call in self.sandbox.calls.mutating() if call.service == "ec2"]


class Approval:
    """The approval runbook in mode APPROVAL, and an approver named ann."""

    def __init__(self, deployment: Deployment, setenv: Callable[[str, str], None]) -> None:
        """Create the runbook, the topic, and ann, and put the stack in mode APPROVAL."""
        deployment.publish(APPROVED)
        self.deployment = deployment
        self._waiting: set[str] = set()
        sandbox = deployment.sandbox
        topic = str(sandbox.client("sns").create_topic(Name="AutomationApprovals")["TopicArn"])
        iam = sandbox.client("iam")
        iam.create_user(UserName="ann")
        key = iam.create_access_key(UserName="ann")["AccessKey"]
        own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        self.ann: Any = sandbox.client("ssm", credentials=own)
        settings = {"REMEDIATION_MODE": "APPROVAL", "APPROVERS": "ann", "APPROVAL_TOPIC_ARN": topic}
        settings |= {
            "HEAL_DOCUMENT_NAME": HEAL,
            "APPROVAL_DOCUMENT_NAME": APPROVED,
            "AWS_LAMBDA_FUNCTION_NAME": FUNCTION,
        }
        for name, value in settings.items():
            setenv(name, value)

    def start(self, subnet_id: str, **more: str) -> str:
        """Start a run and return its id once it has notified the approvers, or has ended."""
        run_id = self.deployment.start(subnet_id, APPROVED, **more)
        self.settled(run_id)
        return run_id

    def settled(self, run_id: str) -> str:
        """Return the status of a run once it has notified the approvers, or has ended."""
        while True:
            found = self.deployment.ssm.get_automation_execution(AutomationExecutionId=run_id)
            status = str(found["AutomationExecution"]["AutomationExecutionStatus"])
            if status == "Waiting":  # from right before it notifies the approvers
                self._waiting.add(run_id)
            is_notified = len(self.messages()) >= len(self._waiting)
            if status not in ("Pending", "InProgress") and (status != "Waiting" or is_notified):
                return status
            time.sleep(0.05)

    def run(self, subnet_id: str, **more: str) -> Run:
        """Start a run that gets no answer and wait until it ends."""
        return self.deployment.automation.wait(self.deployment.start(subnet_id, APPROVED, **more))

    def approve(self, subnet_id: str) -> str:
        """Approve the current plan for a subnet in a run that ends before it heals, and return the run's id."""
        with self.deployment.automation.killing(before="heal"):
            run_id = self.start(subnet_id)
            self.answer(run_id)
        return run_id

    def answer(self, run_id: str, kind: str = "Approve") -> Run:
        """Approve or reject as ann, unless the run has ended, and wait until it ends."""
        if self.settled(run_id) == "Waiting":
            self.ann.send_automation_signal(AutomationExecutionId=run_id, SignalType=kind, Payload={"Comment": ["-"]})
        return self.deployment.automation.wait(run_id)

    def messages(self) -> list[str]:
        """Return the messages to the approvers, in order."""
        published = self.deployment.sandbox.calls.of("sns", "Publish")
        return [json.loads(call.parameters["Message"])["message"] for call in published]


class Vpc:
    """A VPC whose private route tables lead to a NAT gateway, with the given number of subnets each."""

    def __init__(self, builder: Builder, tables: int = 1, subnets: int = 1) -> None:
        """Create the VPC without anything that blocks a heal."""
        self.id = builder.vpc()
        builder.ec2.modify_vpc_attribute(VpcId=self.id, EnableDnsHostnames={"Value": True})
        public = builder.table(self.id, GatewayId=builder.internet_gateway(self.id))
        self.nat = builder.nat_gateway(builder.subnet(self.id, public))
        self.tables = [builder.table(self.id, NatGatewayId=self.nat) for _ in range(tables)]
        self.subnets = [builder.subnet(self.id, table) for table in self.tables for _ in range(subnets)]

    def add_ipv6(self, builder: Builder, subnet_id: str) -> None:
        """Make a subnet dual-stack and let the default network ACL allow IPv6, as it does on AWS.

        https://docs.aws.amazon.com/vpc/latest/userguide/default-network-acl.html
        """
        answer = builder.ec2.associate_vpc_cidr_block(VpcId=self.id, AmazonProvidedIpv6CidrBlock=True)
        block = answer["Ipv6CidrBlockAssociation"]["Ipv6CidrBlock"].replace("/56", "/64")
        builder.ec2.associate_subnet_cidr_block(SubnetId=subnet_id, Ipv6CidrBlock=block)
        of_vpc = [{"Name": "vpc-id", "Values": [self.id]}]
        [acl] = builder.ec2.describe_network_acls(Filters=of_vpc)["NetworkAcls"]
        for egress in (True, False):
            entry = {"RuleNumber": 101, "Egress": egress, "RuleAction": "allow", "Protocol": "-1"}
            builder.ec2.create_network_acl_entry(NetworkAclId=acl["NetworkAclId"], Ipv6CidrBlock="::/0", **entry)

    @property
    def table(self) -> str:
        """Return the first private route table."""
        return self.tables[0]

    @property
    def subnet(self) -> str:
        """Return the first private subnet."""
        return self.subnets[0]


def run_id_of(run: Run) -> str:
    """Return the id of a run."""
    return str(run["AutomationExecutionId"])


def status(run: Run) -> str:
    """Return the status of a run."""
    return str(run["AutomationExecutionStatus"])


def steps(run: Run) -> list[str]:
    """Return the names of the steps that a run executed, in the order in which they started."""
    taken = [execution for execution in run["StepExecutions"] if execution["StepStatus"] != "Pending"]
    return [
        str(execution["StepName"]) for execution in sorted(taken, key=lambda execution: execution["ExecutionStartTime"])
    ]


def step(run: Run, name: str) -> dict[str, Any]:
    """Return one step of a run."""
    [found] = [execution for execution in run["StepExecutions"] if execution["StepName"] == name]
    return dict(found)
