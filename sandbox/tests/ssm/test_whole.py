"""A complete run of a runbook with an API call, a function, a branch, and tags."""

from collections.abc import Callable
from typing import Any

import yaml
from botocore.client import BaseClient

from sandbox.server import Sandbox
from sandbox.ssm import Automation

RUNBOOK = """
schemaVersion: '0.3'
description: Tags a VPC as a function decides.
assumeRole: '{{ AutomationAssumeRole }}'
parameters:
  AutomationAssumeRole: {type: String, description: The role to act as.}
  VpcId: {type: String, description: The VPC., allowedPattern: '^vpc-[0-9a-f]+$'}
mainSteps:
- name: look
  action: aws:executeAwsApi
  inputs: {Service: ec2, Api: DescribeVpcs, VpcIds: ['{{ VpcId }}']}
  outputs:
  - {Name: Cidr, Selector: '$.Vpcs[0].CidrBlock', Type: String}
- name: ask
  action: aws:invokeLambdaFunction
  inputs:
    FunctionName: decide
    InputPayload: {cidr: '{{ look.Cidr }}', run: '{{ automation:EXECUTION_ID }}'}
  outputs:
  - {Name: Decision, Selector: $.Payload.decision, Type: String}
- name: choose
  action: aws:branch
  inputs:
    Choices:
    - {Variable: '{{ ask.Decision }}', StringEquals: TAG, NextStep: tag}
  isEnd: true
- name: tag
  action: aws:executeAwsApi
  inputs:
    Service: ec2
    Api: CreateTags
    Resources: ['{{ VpcId }}']
    Tags: [{Key: cidr, Value: 'of {{ look.Cidr }}'}]
outputs: [look.Cidr, ask.Decision]
"""


def decide(event: dict[str, Any]) -> dict[str, str]:
    """Return the decision TAG if the network's CIDR begins with 10, otherwise LEAVE."""
    return {"decision": "TAG" if event["cidr"].startswith("10.") else "LEAVE"}


def start(sandbox: Sandbox, automation: Automation, role: str, cidr: str) -> tuple[str, dict[str, Any]]:
    """Run the runbook for a new VPC; return the VPC's id and the execution."""
    automation.functions.register("decide", decide)
    vpc = sandbox.client("ec2").create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"]
    return vpc, automation.execute("Tag", {"VpcId": vpc, "AutomationAssumeRole": role})


def test_runs_from_call_to_function_to_branch_to_change(
    sandbox: Sandbox, automation: Automation, ssm: BaseClient, role: str, outcome: Callable[..., dict[str, str]]
) -> None:
    """One step's output is the next one's input, and the change is made once."""
    ssm.create_document(Name="Tag", Content=RUNBOOK, DocumentFormat="YAML", DocumentType="Automation")
    vpc, execution = start(sandbox, automation, role, "10.1.0.0/16")
    assert execution["AutomationExecutionStatus"] == "Success"
    assert set(outcome(execution).values()) == {"Success"}
    assert execution["Outputs"] == {"look.Cidr": ["10.1.0.0/16"], "ask.Decision": ["TAG"]}
    (tag,) = sandbox.client("ec2").describe_tags(Filters=[{"Name": "resource-id", "Values": [vpc]}])["Tags"]
    assert (tag["Key"], tag["Value"]) == ("cidr", "of 10.1.0.0/16")
    assert sandbox.calls.operations("ec2") == ["CreateVpc", "DescribeVpcs", "CreateTags", "DescribeTags"]


def test_leaves_alone_what_the_branch_does_not_choose(
    sandbox: Sandbox, automation: Automation, ssm: BaseClient, role: str, outcome: Callable[..., dict[str, str]]
) -> None:
    """If no choice is true and the branch has isEnd, the next step remains Pending and nothing is changed."""
    ssm.create_document(Name="Tag", Content=RUNBOOK, DocumentFormat="YAML", DocumentType="Automation")
    _, execution = start(sandbox, automation, role, "192.168.0.0/16")
    assert execution["AutomationExecutionStatus"] == "Success"
    assert outcome(execution)["tag"] == "Pending"
    assert sandbox.calls.of("ec2", "CreateTags") == []


def test_api_tells_the_same_as_the_executor(
    sandbox: Sandbox, automation: Automation, ssm: BaseClient, role: str
) -> None:
    """GetAutomationExecution returns the steps, with inputs as JSON texts and outputs as lists of strings."""
    ssm.create_document(
        Name="Tag", Content=yaml.dump(yaml.safe_load(RUNBOOK)), DocumentFormat="YAML", DocumentType="Automation"
    )
    vpc, execution = start(sandbox, automation, role, "10.1.0.0/16")
    told = ssm.get_automation_execution(AutomationExecutionId=execution["AutomationExecutionId"])["AutomationExecution"]
    assert (told["DocumentName"], told["DocumentVersion"], told["AutomationExecutionStatus"]) == ("Tag", "1", "Success")
    assert told["Parameters"] == {"VpcId": [vpc], "AutomationAssumeRole": [role]}
    look = told["StepExecutions"][0]
    assert look["Inputs"] == {"Service": '"ec2"', "Api": '"DescribeVpcs"', "VpcIds": f'["{vpc}"]'}
    assert look["Outputs"] == {"Cidr": ["10.1.0.0/16"]}
    assert look["ExecutionStartTime"] <= look["ExecutionEndTime"]
