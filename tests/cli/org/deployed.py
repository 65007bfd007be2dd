"""An organization in the sandbox to which StackSets deployed the rule: results, sweeps, and what exclusions were."""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from config_rule_sandbox.config.aggregation import Aggregation, aggregation_of
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.server import Sandbox
from express_path.domain.network.resources import Route, RouteTable, target_kind
from express_path.domain.path.outcomes import Hop, Outcome
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.annotations import annotate
from express_path.domain.verdict.parameters import RuleParameters
from express_path.handlers.check_health import CHECKED
from tests.cli.org.organizations import REGIONS, Organization, put_recorder
from tests.support.config_aggregator import Aggregator
from tests.support.stack import listed_stack

RULE = "s3express-no-nat-path"
STACK_SET = "express-path-workloads"
TEMPLATE = json.dumps(
    {
        "Parameters": {name: {"Type": "String", "Default": ""} for name in ("RemediationMode", "CodeKey")},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
    }
)
LOG_GROUP = "/aws/lambda/evaluate"
EMPTY_ARCHIVE = b"PK\x05\x06" + bytes(18)
DETAILS = [{"EventSource": "aws.config", "MessageType": "ScheduledNotification"}]
VERDICTS = {reason: RuleParameters().compliance_of(reason) for reason in Reason}


class DeployedOrganization(Organization):
    """Two member accounts in one organizational unit, with the rule in both Regions, and an aggregator."""

    def __init__(self, sandbox: Sandbox, aggregator: Aggregator) -> None:
        """Deploy without results."""
        super().__init__(sandbox)
        self.items = aggregator
        self.workloads = self.unit("workloads")
        self.cloudformation: Any = sandbox.client("cloudformation")
        self.deploy(STACK_SET, self.workloads, ())
        sandbox.client("config").put_configuration_aggregator(
            ConfigurationAggregatorName=aggregator.name,
            AccountAggregationSources=[{"AccountIds": [sandbox.account_id], "AllAwsRegions": True}],
        )
        for name in ("data", "web"):
            self.add(name, self.workloads)
            for region in REGIONS:
                self.put_rule(name, region)
        self.cloudformation.create_stack_instances(
            StackSetName=STACK_SET,
            DeploymentTargets={"OrganizationalUnitIds": [self.workloads]},
            Regions=list(REGIONS),
        )

    @property
    def aggregation(self) -> Aggregation:
        """What the aggregator has."""
        return aggregation_of(self.sandbox.account_id, self.sandbox.region)

    def deploy(self, name: str, unit: str, regions: Iterable[str], **parameters: str) -> None:
        """Create a StackSet, with instances in these Regions."""
        given = {"RemediationMode": "OFF", "CodeKey": "0123.zip"} | parameters
        self.cloudformation.create_stack_set(
            StackSetName=name,
            TemplateBody=TEMPLATE,
            PermissionModel="SERVICE_MANAGED",
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()],
        )
        for region in regions:
            self.cloudformation.create_stack_instances(
                StackSetName=name, DeploymentTargets={"OrganizationalUnitIds": [unit]}, Regions=[region]
            )

    def exclude(self, *names: str) -> None:
        """Let the StackSet be one of a stack that excludes accounts, also one that is not there."""
        stack_set = self.cloudformation.describe_stack_set(StackSetName=STACK_SET)["StackSet"]["StackSetId"]
        account_ids = ",".join([*(self.accounts[name] for name in names), "999988887777"])
        listed_stack(self.sandbox, STACK_SET, {"StackSet": stack_set}, ExcludedAccountIds=account_ids)

    def put_rule(self, name: str, region: str) -> None:
        """Create the rule with its function, and let the aggregator copy the account and Region."""
        function = self._create_function(name, region)
        source = {"Owner": "CUSTOM_LAMBDA", "SourceIdentifier": function, "SourceDetails": DETAILS}
        config, logs = self.aws(name, "config", region), self.aws(name, "logs", region)
        put_recorder(config)
        config.put_config_rule(ConfigRule={"ConfigRuleName": RULE, "Source": source})
        logs.create_log_group(logGroupName=LOG_GROUP)
        logs.create_log_stream(logGroupName=LOG_GROUP, logStreamName="stream")
        self.aggregation.places.add((self.accounts[name], region))

    def _create_function(self, name: str, region: str) -> str:
        """Create the rule's function, and return its ARN."""
        policy = json.dumps({"Version": "2012-10-17", "Statement": []})
        role = f"evaluate-{region}"
        arn = self.aws(name, "iam").create_role(RoleName=role, AssumeRolePolicyDocument=policy)["Role"]["Arn"]
        functions = self.aws(name, "lambda", region)
        function = functions.create_function(
            FunctionName="evaluate", Role=arn, Runtime="python3.13", Handler="handler", Code={"ZipFile": EMPTY_ARCHIVE}
        )
        functions.add_permission(
            FunctionName="evaluate",
            StatementId="config",
            Action="lambda:InvokeFunction",
            Principal="config.amazonaws.com",
        )
        return str(function["FunctionArn"])

    def result(
        self, name: str, region: str, subnet_id: str, reason: Reason, hops: Iterable[str] = (), suffix: str = ""
    ) -> None:
        """Store a result as the rule reports it, in a route table and VPC with this suffix, by default the subnet's."""
        suffix = suffix or subnet_id.removeprefix("subnet-")[:4]
        path = tuple(Hop(target_kind(hop), hop, "0.0.0.0/0") for hop in hops)
        table = RouteTable(id=f"rtb-{suffix}", vpc_id=f"vpc-{suffix}")
        route = Route("0.0.0.0/0", path[0].id, path[0].kind) if path else None
        text = annotate(reason, Outcome(reason, path, route), table)
        account_id, now = self.accounts[name], time.time()
        stored = Result(RULE, ("AWS::EC2::Subnet", subnet_id), VERDICTS[reason], now, now, now, text)
        results_of(account_id, region).store(stored)
        self.items.add(
            "AWS::EC2::Subnet", subnet_id, account_id, region, {"subnetId": subnet_id, "vpcId": table.vpc_id}, {}
        )

    def age_results(self, name: str, region: str, age: timedelta) -> None:
        """Let the results of an account and Region be this old."""
        then, results = time.time() - age.total_seconds(), results_of(self.accounts[name], region).results
        for key, stored in results.items():
            results[key] = replace(stored, ordering=then, invoked=then, recorded=then)

    def sweep(
        self,
        name: str,
        region: str,
        age: timedelta = timedelta(hours=1),
        excluded: Sequence[dict[str, Any]] = (),
        faults: Sequence[dict[str, str]] = (),
        unresolved: int = 0,
        **counts: int,
    ) -> None:
        """Write the lines of a sweep, and of the check after it, to the log of the functions; counts are by compliance."""
        zero = dict.fromkeys(map(str, Compliance), 0)
        line = {
            "message": "swept",
            "counts": zero | counts,
            "unresolved": unresolved,
            "excluded": excluded,
        }
        self.log(name, region, line, {"message": CHECKED, "faults": faults}, age=age)

    def log(self, name: str, region: str, *lines: dict[str, Any] | str, age: timedelta = timedelta()) -> None:
        """Write lines to the log of the function."""
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        time_of_lines = int((time.time() - age.total_seconds()) * 1000)
        self.aws(name, "logs", region).put_log_events(
            logGroupName=LOG_GROUP,
            logStreamName="stream",
            logEvents=[{"timestamp": time_of_lines, "message": text} for text in texts],
        )
