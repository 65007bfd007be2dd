"""Stacks in the accounts and Regions of the sandbox: what is created, and why a deployment fails."""

import io
import json
import zipfile
from typing import Any

import pytest
from moto.config.models import config_backends
from moto.iam.models import iam_backends

from config_rule_sandbox.cloudformation.stack_sets import deploy
from config_rule_sandbox.cloudformation.stacks import Stack, update_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudformation.values import TemplateError
from config_rule_sandbox.config.remediation.configurations import configuration
from config_rule_sandbox.config.remediation.memory import remediations_of
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.server import Sandbox

TEMPLATE = """
Parameters:
  Prefix: {Type: String}
  Mode: {Type: String, Default: "OFF", AllowedValues: ["OFF", "ON"]}
  Topic: {Type: String, Default: "", AllowedPattern: "^[a-z]*$", ConstraintDescription: must be lower case}
  Attempts: {Type: Number, Default: 3, MinValue: 1, MaxValue: 25}
  Days: {Type: Number, Default: 30}
Conditions:
  IsOn: !Equals [!Ref Mode, "ON"]
  Logs: !Not [!Condition IsOn]
Rules:
  OnNeedsTopic:
    RuleCondition: !Equals [!Ref Mode, "ON"]
    Assertions:
      - Assert: !Not [!Equals [!Ref Topic, ""]]
        AssertDescription: Mode ON needs Topic.
Resources:
  Rule:
    Type: AWS::Config::ConfigRule
    DependsOn: Permission
    Properties:
      ConfigRuleName: no-gaps
      Source:
        Owner: CUSTOM_LAMBDA
        SourceIdentifier: !GetAtt Function.Arn
        SourceDetails:
          - {EventSource: aws.config, MessageType: ScheduledNotification}
      InputParameters:
        mode: !Ref Mode
        topic: !If [IsOn, !Ref Topic, !Ref AWS::NoValue]
  Remediation:
    Type: AWS::Config::RemediationConfiguration
    Properties:
      ConfigRuleName: !Ref Rule
      TargetType: SSM_DOCUMENT
      TargetId: !Ref Document
      Automatic: false
      MaximumAutomaticAttempts: !Ref Attempts
      RetryAttemptSeconds: 86400
      ExecutionControls: {SsmControls: {ConcurrentExecutionRatePercentage: 10, ErrorPercentage: 50}}
      Parameters:
        SubnetId: {ResourceValue: {Value: RESOURCE_ID}}
        AutomationAssumeRole: {StaticValue: {Values: [!GetAtt Role.Arn]}}
  Document:
    Type: AWS::SSM::Document
    Properties:
      Name: Fix
      DocumentType: Automation
      UpdateMethod: NewVersion
      Content:
        schemaVersion: "0.3"
        assumeRole: "{{ AutomationAssumeRole }}"
        parameters: {SubnetId: {type: String}, AutomationAssumeRole: {type: String}}
        mainSteps:
          - {name: wait, action: "aws:sleep", inputs: {Duration: PT1S}}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Code: {S3Bucket: !Sub "${Prefix}-${AWS::Region}", S3Key: code.zip}
      Handler: function.handler
      Runtime: python3.13
      Role: !GetAtt Role.Arn
      Environment: {Variables: {QUEUE: !Ref Queue, PLACE: !Join ["/", [!Ref AWS::AccountId, !Select [0, [a, b]]]]}}
  Permission:
    Type: AWS::Lambda::Permission
    Properties:
      Action: lambda:InvokeFunction
      FunctionName: !GetAtt Function.Arn
      Principal: config.amazonaws.com
      SourceAccount: !Ref AWS::AccountId
  InvokeConfig:
    Type: AWS::Lambda::EventInvokeConfig
    Properties: {FunctionName: !Ref Function, Qualifier: $LATEST, MaximumRetryAttempts: 2}
  Role:
    Type: AWS::IAM::Role
    Properties:
      Path: /rules/
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: "sts:AssumeRole"}]
      Policies:
        - PolicyName: send
          PolicyDocument:
            Version: "2012-10-17"
            Statement: [{Effect: Allow, Action: "sqs:SendMessage", Resource: "*"}]
  MorePolicy:
    Type: AWS::IAM::RolePolicy
    Properties:
      RoleName: !Ref Role
      PolicyName: log
      PolicyDocument:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Action: "logs:PutLogEvents", Resource: "*"}]
  Queue:
    Type: AWS::SQS::Queue
    DeletionPolicy: Retain
    Properties: {MessageRetentionPeriod: 1209600, SqsManagedSseEnabled: true}
  LogGroup:
    Type: AWS::Logs::LogGroup
    Condition: Logs
    Properties: {RetentionInDays: !Ref Days}
  Alarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/SQS
      MetricName: ApproximateNumberOfMessagesVisible
      Dimensions: [{Name: QueueName, Value: !GetAtt Queue.QueueName}]
      Statistic: Maximum
      Period: 300
      EvaluationPeriods: 1
      Threshold: 1
      ComparisonOperator: GreaterThanOrEqualToThreshold
Outputs:
  Queue: {Value: !Ref Queue}
  Group: {Condition: Logs, Value: !GetAtt LogGroup.Arn}
"""
BUCKETS = """
Parameters: {Prefix: {Type: String}, Organization: {Type: String}}
Resources:
  Bucket:
    Type: AWS::S3::Bucket
    Properties:
      BucketName: !Sub "${Prefix}-${AWS::Region}"
      VersioningConfiguration: {Status: Enabled}
      PublicAccessBlockConfiguration: {BlockPublicAcls: true}
      BucketEncryption: {ServerSideEncryptionConfiguration: [{ServerSideEncryptionByDefault: {SSEAlgorithm: AES256}}]}
  Policy:
    Type: AWS::S3::BucketPolicy
    Properties:
      Bucket: !Ref Bucket
      PolicyDocument:
        Version: "2012-10-17"
        Statement:
          - Effect: Allow
            Principal: "*"
            Action: s3:GetObject
            Resource: !Sub "${Bucket.Arn}/*"
            Condition: {StringEquals: {aws:PrincipalOrgID: !Ref Organization}}
"""
TOOLS = "999999999999"
REGIONS = ("us-east-1", "eu-west-1")


def one(kind: str, value: object) -> dict[str, Any]:
    """Return a template with one resource and one property."""
    return {"Resources": {"A": {"Type": kind, "Properties": {"P": value}}}}


class Organization:
    """An organization with a bucket for code in each Region, in the account TOOLS."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        organizations: Client = direct_client(sandbox, "organizations")
        self.id = organizations.create_organization(FeatureSet="ALL")["Organization"]["Id"]
        accounts = [organizations.create_account(AccountName=name, Email=f"{name}@example.com") for name in "ab"]
        self.members = [account["CreateAccountStatus"]["AccountId"] for account in accounts]

    def give_code(self, *regions: str) -> None:
        """Create the buckets of Regions, with the code in them."""
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as opened:
            opened.writestr("function.py", "def handler(event, context): pass")
        for region in regions:
            bucket = {"Prefix": "code", "Organization": self.id}
            assert not deploy(self.sandbox, BUCKETS, bucket, TOOLS, region, "buckets").failure
            s3: Client = direct_client(self.sandbox, "s3", region)
            with acting_in(TOOLS):
                s3.put_object(Bucket=f"code-{region}", Key="code.zip", Body=archive.getvalue())

    def record(self, account_id: str, region: str) -> None:
        """Create a configuration recorder."""
        config: Client = direct_client(self.sandbox, "config", region)
        recorder = {"name": "default", "roleARN": f"arn:aws:iam::{account_id}:role/config"}
        with acting_in(account_id):
            config.put_configuration_recorder(ConfigurationRecorder=recorder)


@pytest.fixture
def organization(sandbox: Sandbox) -> Organization:
    """Return an organization whose accounts record, without buckets."""
    made = Organization(sandbox)
    for account_id in made.members:
        for region in REGIONS:
            made.record(account_id, region)
    return made


def attempted(organization: Organization, account_id: str, region: str, **parameters: str) -> tuple[str, str]:
    """Return the resource and the code of a failed deployment."""
    stack = deploy(organization.sandbox, TEMPLATE, {"Prefix": "code", **parameters}, account_id, region)
    assert stack.failure
    assert not stack.resources
    assert stack.failure.code in str(stack.failure)
    return stack.failure.logical_id, stack.failure.code


def names_of_roles(account_id: str) -> list[str]:
    """Return the names of the roles that stacks created in an account."""
    return [role.name for role in iam_backends[account_id]["aws"].roles.values() if role.path == "/rules/"]


def test_stack_is_created_in_every_account_and_region(organization: Organization) -> None:
    """Each account and Region gets its own resources, whose properties have their values."""
    organization.give_code(*REGIONS)
    stacks = {
        (account_id, region): deploy(organization.sandbox, TEMPLATE, {"Prefix": "code"}, account_id, region)
        for region in REGIONS
        for account_id in organization.members
    }
    assert [stack.failure for stack in stacks.values()] == [None] * 4
    account_id = organization.members[1]
    stack = stacks[account_id, "eu-west-1"]
    rule = config_backends[account_id]["eu-west-1"].config_rules["no-gaps"]
    assert json.loads(rule.input_parameters) == {"mode": "OFF"}
    functions: Client = direct_client(organization.sandbox, "lambda", "eu-west-1")
    with acting_in(account_id):
        [function] = functions.list_functions()["Functions"]
    assert function["Role"].startswith(f"arn:aws:iam::{account_id}:role/rules/")
    queue = stack.resources["Queue"]
    assert function["Environment"]["Variables"] == {"QUEUE": queue.physical_id, "PLACE": f"{account_id}/a"}
    assert stack.outputs.keys() == {"Queue", "Group"}
    assert len(names_of_roles(account_id)) == 2  # one in each Region, whose names differ


def test_deleted_stack_leaves_what_is_retained(organization: Organization) -> None:
    """A deletion removes all resources but those with the DeletionPolicy Retain."""
    organization.give_code("us-east-1")
    account_id = organization.members[0]
    parameters = {"Prefix": "code", "Mode": "ON", "Topic": "alarms"}
    stack = deploy(organization.sandbox, TEMPLATE, parameters, account_id, "us-east-1")
    assert json.loads(config_backends[account_id]["us-east-1"].config_rules["no-gaps"].input_parameters) == {
        "mode": "ON",
        "topic": "alarms",
    }
    assert "LogGroup" not in stack.resources
    stack.delete()
    assert names_of_roles(account_id) == []
    queues: Client = direct_client(organization.sandbox, "sqs")
    with acting_in(account_id):
        assert len(queues.list_queues()["QueueUrls"]) == 1


def deployed(organization: Organization) -> tuple[str, Stack]:
    """Return an account, and the stack in it."""
    organization.give_code("us-east-1")
    account_id = organization.members[0]
    stack = deploy(organization.sandbox, TEMPLATE, {"Prefix": "code"}, account_id, "us-east-1")
    assert not stack.failure
    return account_id, stack


def changed(*changes: tuple[str, str]) -> dict[str, Any]:
    """Return the template with some of its text replaced."""
    text = TEMPLATE
    for earlier, present in changes:
        assert earlier in text
        text = text.replace(earlier, present)
    return read(text)


def test_update_changes_resources_in_place(organization: Organization) -> None:
    """What AWS can change keeps its physical ID."""
    account_id, stack = deployed(organization)
    before = dict(stack.resources)
    template = changed(("Threshold: 1", "Threshold: 2"), ("[a, b]", "[c, b]"), ("mode: !Ref Mode", "mode: other"))
    assert update_stack(stack, template, {"Prefix": "code", "Attempts": "5", "Days": "7"}) is None
    assert stack.resources == before
    rule = stack.resources["Rule"].physical_id
    services = ("cloudwatch", "config", "lambda", "logs")
    with acting_in(account_id):
        cloudwatch, config, functions, logs = (direct_client(organization.sandbox, name) for name in services)
        [alarm] = cloudwatch.describe_alarms()["MetricAlarms"]
        [function] = functions.list_functions()["Functions"]
        [group] = logs.describe_log_groups()["logGroups"]
        [known] = config.describe_config_rules(ConfigRuleNames=[rule])["ConfigRules"]
    assert (alarm["Threshold"], group["retentionInDays"]) == (2, 7)
    assert function["Environment"]["Variables"]["PLACE"] == f"{account_id}/c"
    remediation = configuration(remediations_of(account_id, "us-east-1"), rule)
    assert (known["InputParameters"], remediation["MaximumAutomaticAttempts"]) == ('{"mode": "other"}', 5)


def test_update_replaces_creates_and_deletes(organization: Organization) -> None:
    """A new name replaces a document, and references follow it. What is gone is deleted unless it is retained."""
    account_id, stack = deployed(organization)
    earlier = stack.resources["Queue"].physical_id
    template = changed(
        ("Name: Fix", "Name: Repair"),
        ("MessageRetentionPeriod: 1209600", "QueueName: second"),
        ("DeletionPolicy: Retain", "UpdateReplacePolicy: Retain"),
    )
    del template["Resources"]["MorePolicy"]
    parameters = {"Prefix": "code", "Mode": "ON", "Topic": "alarms"}
    assert update_stack(stack, template, parameters) is None
    assert not {"LogGroup", "MorePolicy"} & stack.resources.keys()
    rule, role = stack.resources["Rule"].physical_id, stack.resources["Role"].physical_id
    with acting_in(account_id):
        iam, logs, ssm, sqs = (direct_client(organization.sandbox, name) for name in ("iam", "logs", "ssm", "sqs"))
        own = {"Filters": [{"Key": "Owner", "Values": ["Self"]}]}
        assert [row["Name"] for row in ssm.list_documents(**own)["DocumentIdentifiers"]] == ["Repair"]
        assert iam.list_role_policies(RoleName=role)["PolicyNames"] == ["send"]
        assert logs.describe_log_groups()["logGroups"] == []
        assert set(sqs.list_queues()["QueueUrls"]) == {earlier, stack.resources["Queue"].physical_id}
    assert configuration(remediations_of(account_id, "us-east-1"), rule)["TargetId"] == "Repair"
    assert stack.outputs == {"Queue": stack.resources["Queue"].physical_id}
    assert stack.outputs["Queue"] != earlier


def test_failed_update_leaves_everything_as_it_was(organization: Organization) -> None:
    """The first failure takes back what was changed and created before it, and nothing is deleted."""
    account_id, stack = deployed(organization)
    with acting_in(account_id):
        ssm: Client = direct_client(organization.sandbox, "ssm")
        ssm.create_document(Name="Taken", Content='{"schemaVersion": "0.3"}', DocumentType="Automation")
    resources, properties = dict(stack.resources), dict(stack.properties)
    template = changed(("Name: Fix", "Name: Taken"), ("[a, b]", "[c, b]"))
    failure = update_stack(stack, template, {"Prefix": "code", "Mode": "ON", "Topic": "alarms"})
    assert failure
    assert (failure.logical_id, failure.code) == ("Document", "DocumentAlreadyExists")
    assert (stack.resources, stack.properties) == (resources, properties)
    functions: Client = direct_client(organization.sandbox, "lambda")
    with acting_in(account_id):
        [function] = functions.list_functions()["Functions"]
    assert function["Environment"]["Variables"]["PLACE"] == f"{account_id}/a"
    rule = config_backends[account_id]["us-east-1"].config_rules["no-gaps"]
    assert json.loads(rule.input_parameters) == {"mode": "OFF"}


def test_update_that_is_not_known_here_is_an_error(sandbox: Sandbox) -> None:
    """A bucket's settings cannot be updated."""
    parameters = {"Prefix": "code", "Organization": "o-1"}
    stack = deploy(sandbox, BUCKETS, parameters, TOOLS, "us-east-1", "buckets")
    with pytest.raises(TemplateError, match="VersioningConfiguration"):
        update_stack(stack, read(BUCKETS.replace("Status: Enabled", "Status: Suspended")), parameters)
    assert update_stack(stack, read(BUCKETS), parameters | {"Organization": "o-2"}) is None


NETWORK = """
Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16, Tags: [{Key: Name, Value: !Ref AWS::StackName}]}}
  Gateway: {Type: AWS::EC2::InternetGateway}
  Attachment: {Type: AWS::EC2::VPCGatewayAttachment, Properties: {VpcId: !Ref Vpc, InternetGatewayId: !Ref Gateway}}
  List: {Type: AWS::EC2::PrefixList, Properties: {PrefixListName: a, MaxEntries: 1, AddressFamily: IPv4}}
  Topic: {Type: AWS::SNS::Topic, Properties: {TopicName: a}}
Outputs:
  Vpc: {Value: !Ref Vpc}
"""


def test_network_is_created_and_deleted(sandbox: Sandbox) -> None:
    """The properties of a network's resources are the parameters of EC2's calls, and tags are set."""
    ec2: Client = direct_client(sandbox, "ec2")
    before = ec2.describe_internet_gateways()["InternetGateways"]
    stack = deploy(sandbox, NETWORK, {}, sandbox.account_id, "us-east-1", "network")
    assert stack.failure is None
    [vpc] = ec2.describe_vpcs(Filters=[{"Name": "tag:Name", "Values": ["network"]}])["Vpcs"]
    assert (vpc["VpcId"], vpc["CidrBlock"]) == (stack.outputs["Vpc"], "10.0.0.0/16")
    assert ec2.describe_internet_gateways()["InternetGateways"] != before
    stack.delete()
    assert ec2.describe_internet_gateways()["InternetGateways"] == before
    assert vpc["VpcId"] not in {one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"]}


def test_missing_bucket_recorder_or_permission_fails_one_instance(organization: Organization) -> None:
    """An instance fails with the error of the call that AWS refuses, such as reading code from another Region."""
    first, second = organization.members
    assert attempted(organization, first, "us-east-1") == ("Function", "InvalidParameterValueException")
    organization.give_code("us-east-1")
    config_backends[first]["us-east-1"].recorders.clear()
    assert attempted(organization, first, "us-east-1") == ("Rule", "NoAvailableConfigurationRecorderException")
    assert names_of_roles(first) == []
    assert attempted(organization, second, "eu-west-1") == ("Function", "InvalidParameterValueException")
    organization.record("123123123123", "us-east-1")
    assert attempted(organization, "123123123123", "us-east-1") == ("Function", "AccessDeniedException")
    elsewhere = TEMPLATE.replace("${AWS::Region}", "us-east-1")
    stack = deploy(organization.sandbox, elsewhere, {"Prefix": "code"}, second, "eu-west-1")
    assert stack.failure
    assert "PermanentRedirect" in stack.failure.message
    assert not deploy(organization.sandbox, TEMPLATE, {"Prefix": "code"}, second, "us-east-1").failure


@pytest.mark.parametrize(("resource", "code"), [("Rule", "AlreadyExists"), ("Document", "DocumentAlreadyExists")])
def test_taken_name_fails(organization: Organization, resource: str, code: str) -> None:
    """A rule or document of that name, which another stack created, is not taken over."""
    organization.give_code("us-east-1")
    account_id = organization.members[0]
    first = TEMPLATE.replace("Name: Fix", "Name: Other") if resource == "Rule" else TEMPLATE.replace("no-g", "g")
    assert not deploy(organization.sandbox, first, {"Prefix": "code"}, account_id, "us-east-1", "first").failure
    assert attempted(organization, account_id, "us-east-1") == (resource, code)


@pytest.mark.parametrize(
    ("template", "parameters", "message"),
    [
        (TEMPLATE, {"Mode": "AUTO"}, "Parameter Mode: 'AUTO'"),
        (TEMPLATE, {"Topic": "Alarms"}, "must be lower case"),
        (TEMPLATE, {"Attempts": "26"}, "Parameter Attempts"),
        (TEMPLATE, {"Mood": "ON"}, r"\['Mood'\] do not exist"),
        (TEMPLATE, {"Mode": "ON"}, "Mode ON needs Topic"),
        ({"Parameters": {"P": {"Type": "String"}}}, {}, r"\['P'\] must have values"),
        ({"Transform": "AWS::Serverless-2016-10-31"}, {}, "Transform"),
        (one("A", [{"Fn::Transform": {}}]), {}, "Fn::Transform"),
        (one("A::B::C", ""), {}, "A::B::C is not known"),
        (one("A", {"Fn::Cidr": []}), {}, "Fn::Cidr is not known"),
        (one("A", {"Ref": "A"}), {}, "Circular dependency"),
    ],
)
def test_refused_templates_and_parameters(
    sandbox: Sandbox, template: str | dict[str, Any], parameters: dict[str, str], message: str
) -> None:
    """Values that are not allowed, transforms, which StackSets refuse, and what is not known here are errors."""
    given = parameters if isinstance(template, dict) else {"Prefix": "code", **parameters}
    text = template if isinstance(template, str) else json.dumps({"Resources": {}, **template})
    with pytest.raises(TemplateError, match=message):
        deploy(sandbox, text, given, TOOLS, "us-east-1")


CENTRAL_EGRESS = """
Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/24}}
  Table: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref Vpc}}
  Route:
    Type: AWS::EC2::Route
    DependsOn: Attachment
    Properties: {RouteTableId: !Ref Table, DestinationCidrBlock: 0.0.0.0/0, TransitGatewayId: !Ref Gateway}
  Gateway:
    Type: AWS::EC2::TransitGateway
    Properties: {Description: central egress, DefaultRouteTableAssociation: disable, DefaultRouteTablePropagation: disable}
  Attachment:
    Type: AWS::EC2::TransitGateway%sAttachment
    Properties:
      {TransitGatewayId: !GetAtt Gateway.Id, VpcId: !Ref Vpc, SubnetIds: [!Ref Subnet], Tags: [{Key: Name, Value: egress}]}
  Spokes: {Type: AWS::EC2::TransitGatewayRouteTable, Properties: {TransitGatewayId: !Ref Gateway}}
  Default:
    Type: AWS::EC2::TransitGatewayRoute
    Properties:
      {TransitGatewayRouteTableId: !Ref Spokes, DestinationCidrBlock: 0.0.0.0/0, TransitGatewayAttachmentId: !Ref Attachment}
  Association:
    Type: AWS::EC2::TransitGatewayRouteTableAssociation
    Properties: {TransitGatewayRouteTableId: !Ref Spokes, TransitGatewayAttachmentId: !Ref Attachment}
  Propagation:
    Type: AWS::EC2::TransitGatewayRouteTablePropagation
    Properties: {TransitGatewayRouteTableId: !Ref Spokes, TransitGatewayAttachmentId: !Ref Attachment}
Outputs: {Arn: {Value: !GetAtt Gateway.TransitGatewayArn}}
"""


@pytest.mark.parametrize("kind", ["", "Vpc"])
def test_transit_gateway_is_made_and_deleted(sandbox: Sandbox, kind: str) -> None:
    """Each resource has the ID of AWS's schema: that of the API, or the properties that identify it, joined by a bar.

    https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-identifier.html
    """
    sandbox.ec2.knobs.pending_describes = 2
    stack = deploy(sandbox, CENTRAL_EGRESS % kind, {}, sandbox.account_id, sandbox.region)
    ids = {name: created.physical_id for name, created in stack.resources.items()}
    table, attachment = ids["Spokes"], ids["Attachment"]
    assert ids["Default"] == f"{table}|0.0.0.0/0"
    assert ids["Association"] == ids["Propagation"] == f"{table}|{attachment}"
    assert ids["Route"] == f"{ids['Table']}|0.0.0.0/0"
    assert stack.outputs["Arn"].endswith(f":transit-gateway/{ids['Gateway']}")
    ec2 = sandbox.client("ec2")
    [seen] = ec2.describe_transit_gateway_attachments()["TransitGatewayAttachments"]
    assert (seen["State"], seen["Association"]["TransitGatewayRouteTableId"]) == ("available", table)
    assert seen["Tags"] == [{"Key": "Name", "Value": "egress"}]
    by_state = [{"Name": "state", "Values": ["active"]}]
    found = ec2.search_transit_gateway_routes(TransitGatewayRouteTableId=table, Filters=by_state)["Routes"]
    assert [row["DestinationCidrBlock"] for row in found] == ["0.0.0.0/0", "10.0.0.0/16"]
    ec2.delete_transit_gateway_route(TransitGatewayRouteTableId=table, DestinationCidrBlock="0.0.0.0/0")
    stack.delete()
    assert ec2.describe_transit_gateways()["TransitGateways"] == []
    assert ec2.describe_transit_gateway_route_tables()["TransitGatewayRouteTables"] == []
    assert {row["State"] for row in ec2.describe_transit_gateway_attachments()["TransitGatewayAttachments"]} == {
        "deleted"
    }
