"""Accounts and Regions of an organization with the whole healing: stack, ledger, runbooks, function, and remediation."""

import json
import os
from functools import cached_property
from typing import Any

from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.aws import LAMBDA_CONFIG, Aws
from express_path.adapters.ledger import Ledger
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.heal.records import parse_owners, parse_settings
from express_path.domain.verdict.parameters import RuleParameters
from express_path.handlers import plan_heal
from express_path.healing.services import HealServices
from org.expansion import runbook
from tests.support.heals import HEAL, RULE, UNDO, Vpc, configure_remediation
from tests.support.ledgers import LEDGER, LedgerTable
from tests.support.network import Builder
from tests.support.rule import Context
from tests.support.stack_sets import deploy


class HealingPlace:
    """One account and Region with the rule and its healing, which a StackSet deployed."""

    def __init__(
        self, sandbox: Sandbox, automation: Automation, account_id: str, region: str, *, is_rolled_out: bool = True
    ) -> None:
        """Deploy everything, without a network; the stack only if a StackSet is to deploy it."""
        self.sandbox, self.automation = sandbox, automation
        self.account_id, self.region = account_id, region
        self.seen = sandbox.seen_from(account_id, region)
        self.credentials = sandbox.credentials(account_id)
        self.vpcs: list[Vpc] = []
        with acting_in(account_id):
            self.builder, self.ledger = Builder(self.seen), LedgerTable(self.seen)
        automation.functions.register(f"plan-{account_id}-{region}", self._plan)
        for name in (HEAL, UNDO):
            content = json.dumps(runbook(name))
            self.client("ssm").create_document(Name=name, Content=content, DocumentType="Automation")
        roles = f"arn:aws:iam::{account_id}:role/express-path/automation"
        self.stop_role_arn = f"{roles}/stop-{region}"
        self.given = {
            "AutomationAssumeRole": f"{roles}/automation-{region}",
            "PlanFunctionName": f"arn:aws:lambda:{region}:{account_id}:function:plan-{account_id}-{region}",
        }
        if is_rolled_out:
            deploy(sandbox, account_id, region)

    @property
    def name(self) -> str:
        """The account, as messages name it."""
        found = self.sandbox.client("organizations").describe_account(AccountId=self.account_id)
        return f"account {self.account_id} ({found['Account']['Name']})"

    def client(self, service: str) -> Client:
        """Return a client of the account in the Region."""
        return self.sandbox.client(service, self.region, self.credentials)

    @cached_property
    def services(self) -> HealServices:
        """The services of the plan function."""
        aws = Aws.connect(self.region, client_config=LAMBDA_CONFIG)
        aws = Aws(aws.session, LAMBDA_CONFIG, self.region, self.credentials)
        for name in ("dynamodb", "ec2", "s3", "ssm"):
            getattr(aws, name)  # threads share them
        return HealServices(
            self.account_id,
            aws,
            SnapshotReader(aws, ""),
            Ledger(aws.dynamodb, LEDGER),
            RuleParameters(),
            lambda: parse_settings(os.environ, self.account_id),
            lambda: parse_owners(os.environ),
        )

    def _plan(self, event: dict[str, Any]) -> dict[str, Any]:
        return plan_heal.handler(event, Context(), self.services)

    def add_vpc(self, tables: int = 1) -> Vpc:
        """Create a VPC with private route tables behind a NAT gateway."""
        with acting_in(self.account_id):
            self.vpcs.append(Vpc(self.builder, tables))
        return self.vpcs[-1]

    def start_heals(self) -> list[str]:
        """Start a heal of each subnet, and return the ids of the runs."""
        return [self.start_heal(subnet_id) for vpc in self.vpcs for subnet_id in vpc.subnets]

    def start_heal(self, subnet_id: str) -> str:
        """Start the heal of a subnet, and return the id of the run."""
        given = {name: [value] for name, value in {"SubnetId": subnet_id, **self.given}.items()}
        started = self.client("ssm").start_automation_execution(DocumentName=HEAL, Parameters=given)
        return str(started["AutomationExecutionId"])

    def endpoints(self) -> dict[str, list[str]]:
        """Return the route tables of each S3 Express endpoint."""
        with acting_in(self.account_id):
            found = self.builder.ec2.describe_vpc_endpoints()["VpcEndpoints"]
        return {
            endpoint["VpcEndpointId"]: endpoint["RouteTableIds"]
            for endpoint in found
            if endpoint["ServiceName"].endswith(".s3express") and endpoint["State"] not in ("deleting", "deleted")
        }

    def routes(self) -> dict[str, set[str]]:
        """Return the targets of the routes of each route table."""
        with acting_in(self.account_id):
            tables = self.builder.ec2.describe_route_tables()["RouteTables"]
        return {
            table["RouteTableId"]: {
                str(route.get("GatewayId") or route.get("NatGatewayId") or route.get("DestinationCidrBlock"))
                for route in table["Routes"]
            }
            for table in tables
        }

    def stop_item(self) -> dict[str, Any]:
        """Return the item that stops all heals; empty if they are not stopped."""
        with acting_in(self.account_id):
            return self.ledger.item("STOP")

    def configure_remediation(self) -> None:
        """Create the rule, and let AWS Config start the heal of what it flags."""
        configure_remediation(self.client("config"), self.given)

    def flag(self, *subnet_ids: str) -> None:
        """Store results of the rule that these subnets are NON_COMPLIANT."""
        for subnet_id in subnet_ids:
            flagged = Result(RULE, ("AWS::EC2::Subnet", subnet_id), "NON_COMPLIANT", 0, 0, 0, "-")
            results_of(self.account_id, self.region).store(flagged)

    def remediate(self, *subnet_ids: str) -> None:
        """Let AWS Config remediate these subnets, and wait for the runs."""
        self.flag(*subnet_ids)
        Remediation(self.seen, self.automation).remediate(RULE)

    def exceptions(self) -> set[str]:
        """Return the subnets that AWS Config no longer remediates."""
        found = self.client("config").describe_remediation_exceptions(ConfigRuleName=RULE)
        return {row["ResourceId"] for row in found["RemediationExceptions"]}
