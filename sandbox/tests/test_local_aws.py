"""The local AWS in a process of its own: what is deployed there runs, as long as it is deployed.

The README's example, which test_standalone.py runs, has a rule that is invoked by changes, and its remediation.
"""

import io
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.local_aws import in_a_process

ROOT = Path(__file__).parents[1]
SAM = """
Transform: AWS::Serverless-2016-10-31
Parameters:
  Greeting: {Type: String, Default: hello}
Resources:
  Function:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: greeter
      Runtime: python3.13
      Handler: app.handler
      Timeout: 30
      CodeUri: {Bucket: code, Key: app.zip}
      Environment: {Variables: {GREETING: !Ref Greeting}}
"""
APP = """
import os

def handler(event, context):
    print("greeting", event["name"])
    return f"{os.environ['GREETING']}, {event['name']}"
"""
PERIODIC = """
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties: {AssumeRolePolicyDocument: {Statement: []}}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      FunctionName: periodic
      Runtime: python3.13
      Handler: index.handler
      Timeout: 30
      Role: !GetAtt Role.Arn
      Code:
        ZipFile: |
          import json

          def handler(event, context):
              print(json.loads(event["invokingEvent"])["messageType"])
  Permission:
    Type: AWS::Lambda::Permission
    Properties: {FunctionName: !Ref Function, Action: lambda:InvokeFunction, Principal: config.amazonaws.com}
  Rule:
    Type: AWS::Config::ConfigRule
    DependsOn: Permission
    Properties:
      Source:
        Owner: CUSTOM_LAMBDA
        SourceIdentifier: !GetAtt Function.Arn
        SourceDetails: [{EventSource: aws.config, MessageType: ScheduledNotification, MaximumExecutionFrequency: One_Hour}]
"""

Connect = Callable[[str], Client]


@pytest.fixture(scope="module")
def connect() -> Iterator[Connect]:
    """Returns a client of a service of a local AWS in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        with in_a_process() as variables:
            for name, value in variables.items():
                patch.setenv(name, value)
            yield boto3.session.Session().client


def printed(connect: Connect, function: str) -> list[str]:
    """Return what a function has printed, once it has printed something."""
    logs = connect("logs")
    for _ in range(300):
        try:
            events = logs.filter_log_events(logGroupName=f"/aws/lambda/{function}")["events"]
        except logs.exceptions.ResourceNotFoundException:
            events = []
        if events:
            return [event["message"] for event in events]
        time.sleep(0.2)
    raise TimeoutError(function)


def test_packaged_template_is_deployed_updated_and_deleted(connect: Connect) -> None:
    """The function of a template of SAM runs the code in S3 with its variables, until its stack is deleted."""
    cloudformation, s3, functions = map(connect, ("cloudformation", "s3", "lambda"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("app.py", APP)
    s3.create_bucket(Bucket="code")
    s3.put_object(Bucket="code", Key="app.zip", Body=archive.getvalue())

    def answer() -> object:
        return json.loads(functions.invoke(FunctionName="greeter", Payload=b'{"name": "Ada"}')["Payload"].read())

    cloudformation.create_stack(StackName="greetings", TemplateBody=SAM, Capabilities=["CAPABILITY_AUTO_EXPAND"])
    assert answer() == "hello, Ada"
    changed = [{"ParameterKey": "Greeting", "ParameterValue": "welcome"}]
    cloudformation.update_stack(StackName="greetings", TemplateBody=SAM, Parameters=changed)
    assert answer() == "welcome, Ada"
    assert printed(connect, "greeter") == ["greeting Ada", "greeting Ada"]
    cloudformation.delete_stack(StackName="greetings")
    with pytest.raises(functions.exceptions.ResourceNotFoundException):
        functions.get_function(FunctionName="greeter")


def test_periodic_rule_is_not_told_of_changes(connect: Connect) -> None:
    """A rule gets only the messages that it asks for: here the first scheduled one, and none of the default VPC."""
    connect("cloudformation").create_stack(StackName="periodic", TemplateBody=PERIODIC)
    assert printed(connect, "periodic") == ["ScheduledNotification"]
    [rule] = connect("config").describe_config_rules()["ConfigRules"]
    assert [row["MessageType"] for row in rule["Source"]["SourceDetails"]] == ["ScheduledNotification"]


def test_refused_template_is_an_error(connect: Connect) -> None:
    """A parameter that the template does not have is refused by the call."""
    given = [{"ParameterKey": "Name", "ParameterValue": "a"}]
    with pytest.raises(ClientError, match="do not exist in the template"):
        connect("cloudformation").create_stack(StackName="refused", TemplateBody=SAM, Parameters=given)


def test_it_gives_other_answers() -> None:
    """An unknown one ends the process before it prints anything."""
    with in_a_process("config_rule_sandbox", "later_steps=absent") as variables:
        assert variables["AWS_ENDPOINT_URL"]
    with pytest.raises(json.JSONDecodeError), in_a_process("config_rule_sandbox", "later_steps=never"):
        pass


def test_person_deploys_only_what_a_policy_allows() -> None:
    """Requests, and what CloudFormation does for them, need a permission on the right type of resource."""
    mine = "arn:aws:events:*:*:event-bus/mine"
    bus = {"Type": "AWS::Events::EventBus", "Properties": {"Name": "mine"}}
    statement = {"Effect": "Deny", "Principal": "*", "Action": "events:PutEvents", "Resource": mine}
    policy = {"EventBusName": {"Ref": "Bus"}, "StatementId": "nobody", "Statement": statement}
    template = {"Resources": {"Bus": bus, "Policy": {"Type": "AWS::Events::EventBusPolicy", "Properties": policy}}}
    stacks = {"Effect": "Allow", "Action": "cloudformation:*", "Resource": "arn:aws:cloudformation:*:*:stack/mine/*"}
    buses = {"Effect": "Allow", "Action": "events:*", "Resource": mine}
    permissions = {"Effect": "Allow", "Action": "events:PutPermission", "Resource": "*"}

    def deploy(*statements: dict[str, str], name: str = "mine") -> str:
        document = {"Version": "2012-10-17", "Statement": statements}
        with (
            in_a_process("config_rule_sandbox", json.dumps([document])) as variables,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.delenv("AWS_SESSION_TOKEN", raising=False)
            for variable, value in variables.items():
                patch.setenv(variable, value)
            client = boto3.session.Session().client("cloudformation")
            try:
                client.create_stack(StackName=name, TemplateBody=json.dumps(template))
            except ClientError as error:
                return str(error)
            [stack] = client.describe_stacks(StackName=name)["Stacks"]
            assert stack["StackStatus"] == ("ROLLBACK_COMPLETE" if "StackStatusReason" in stack else "CREATE_COMPLETE")
            return str(stack.get("StackStatusReason", ""))

    assert "perform: cloudformation:CreateStack" in deploy(stacks, name="other")
    assert "perform: events:CreateEventBus on resource: arn:aws:events:us-east-1:123456789012:event-bus/mine" in deploy(
        stacks
    )
    assert "perform: events:PutPermission on resource: *" in deploy(stacks, buses)
    assert deploy(stacks, buses, permissions) == ""
