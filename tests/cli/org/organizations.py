"""An organization in the sandbox: its management account, and member accounts in organizational units."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from config_rule_sandbox.server import Sandbox
from tests.cli.doctor.whole_stack import topic_with_subscription
from tests.support.stack import listed_stack

REGIONS = ("us-east-1", "eu-north-1")
"""The Regions of the tests. Both offer S3 Express."""
NOT_OFFERED = "eu-west-2"
ROLE = "Audit"
TYPES = ("AWS::EC2::NatGateway", "AWS::EC2::RouteTable", "AWS::EC2::Subnet", "AWS::EC2::VPCEndpoint")


@dataclass
class Organization:
    """An organization of the sandbox's own account, which is its management account. `accounts` are ids by name."""

    sandbox: Sandbox
    accounts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Create it, without members."""
        self.client: Any = self.sandbox.client("organizations")
        self.id = str(self.client.create_organization(FeatureSet="ALL")["Organization"]["Id"])
        self.root = str(self.client.list_roots()["Roots"][0]["Id"])

    def unit(self, name: str, parent: str = "") -> str:
        """Create an organizational unit, and return its id."""
        made = self.client.create_organizational_unit(ParentId=parent or self.root, Name=name)
        return str(made["OrganizationalUnit"]["Id"])

    def add(self, name: str, unit: str = "") -> str:
        """Create a member account in the root or in a unit, and return its id."""
        made = self.client.create_account(AccountName=name, Email=f"{name}@example.com")
        account_id = str(made["CreateAccountStatus"]["AccountId"])
        if unit:
            self.client.move_account(AccountId=account_id, SourceParentId=self.root, DestinationParentId=unit)
        self.accounts[name] = account_id
        return account_id

    def aws(self, name: str, service: str, region: str = REGIONS[0]) -> Any:
        """Return a client of a member account."""
        return self.sandbox.client(service, region, self.sandbox.credentials(self.accounts[name]))

    def record(self, name: str, regions: Iterable[str] = REGIONS) -> None:
        """Set up AWS Config in a member account, as the rule needs it."""
        for region in regions:
            config = self.aws(name, "config", region)
            put_recorder(config)
            config.put_delivery_channel(DeliveryChannel={"name": "default", "s3BucketName": "config-history"})
            config.start_configuration_recorder(ConfigurationRecorderName="default")

    def put_stack(self, name: str) -> str:
        """Deploy what matters of a stack in an account: the rule, the function that it invokes, and alarms for a topic.

        Return the topic, which has a confirmed subscription.
        """
        client = partial(self.aws, name)
        topic = topic_with_subscription(self.sandbox, "alarms", client("sns"), self.accounts[name])
        names = {
            "ConfigRule": "s3express-no-nat-path",
            "EvaluateFunction": "evaluate",
            "HealthFunction": "check",
            "HealthAlarm": "check-Errors",
            "ErrorsAlarm": "evaluate-AsyncEventsDropped",
        }
        stack_id = listed_stack(self.sandbox, "StackSet-express-path-a", names, account_id=self.accounts[name])
        trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        role = client("iam").create_role(
            RoleName="evaluate", AssumeRolePolicyDocument=json.dumps({"Statement": [trust]})
        )
        function = client("lambda").create_function(
            FunctionName="evaluate",
            Role=role["Role"]["Arn"],
            Runtime="python3.13",
            Handler="handler",
            Code={"ZipFile": b"PK\x05\x06" + bytes(18)},
            Environment={"Variables": {"STACK_ID": stack_id}},
        )["FunctionArn"]
        client("lambda").add_permission(
            FunctionName="evaluate", StatementId="1", Action="lambda:InvokeFunction", Principal="config.amazonaws.com"
        )
        details = [{"EventSource": "aws.config", "MessageType": "ScheduledNotification"}]
        source = {"Owner": "CUSTOM_LAMBDA", "SourceIdentifier": function, "SourceDetails": details}
        client("config").put_config_rule(ConfigRule={"ConfigRuleName": "s3express-no-nat-path", "Source": source})
        for function_name, metric in (("check", "Errors"), ("evaluate", "AsyncEventsDropped")):
            self.put_alarm(name, function_name, metric, topic)
        return topic

    def put_alarm(self, name: str, function_name: str, metric: str, *actions: str) -> None:
        """Put an alarm on a metric of a function."""
        self.aws(name, "cloudwatch").put_metric_alarm(
            AlarmName=f"{function_name}-{metric}",
            Namespace="AWS/Lambda",
            MetricName=metric,
            Dimensions=[{"Name": "FunctionName", "Value": function_name}],
            AlarmActions=list(actions),
            Statistic="Minimum",
            Period=3600,
            EvaluationPeriods=25,
            Threshold=0,
            ComparisonOperator="GreaterThanThreshold",
        )

    def network_role(self, name: str, condition: dict[str, Any]) -> str:
        """Create a role in an account with this condition in its trust policy, and return its ARN."""
        made = self.aws(name, "iam").create_role(
            RoleName="express-path-network", AssumeRolePolicyDocument=trust_policy(condition)
        )
        return str(made["Role"]["Arn"])

    def set_trust(self, name: str, condition: dict[str, Any]) -> None:
        """Replace the condition in the trust policy of that role."""
        self.aws(name, "iam").update_assume_role_policy(
            RoleName="express-path-network", PolicyDocument=trust_policy(condition)
        )


def trust_policy(condition: dict[str, Any]) -> str:
    """Return a trust policy that admits everyone under a condition."""
    statement = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole", "Condition": condition}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def put_recorder(config: Any, group: dict[str, Any] | None = None, frequency: str = "CONTINUOUS") -> None:
    """Create or change the recorder of an account and Region."""
    config.put_configuration_recorder(
        ConfigurationRecorder={
            "name": "default",
            "roleARN": "arn:aws:iam::123456789012:role/config",
            "recordingGroup": group or {"allSupported": True, "includeGlobalResourceTypes": False},
            "recordingMode": {"recordingFrequency": frequency},
        }
    )
