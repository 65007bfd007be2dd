"""Which runbooks CreateDocument accepts, and which it rejects."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from sandbox.refusals import refused
from sandbox.ssm import FaultyDocumentError, read
from sandbox.ssm.reading import MAXIMUM_BYTES

LOOK = {
    "name": "look",
    "action": "aws:executeAwsApi",
    "inputs": {"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ VpcId }}"]},
    "outputs": [{"Name": "Cidr", "Selector": "$.Vpcs[0].CidrBlock", "Type": "String"}],
}
NAP = {"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}}
PARAMETERS = {"VpcId": {"type": "String", "description": "The VPC."}, "Many": {"type": "StringList", "default": []}}


def document(*steps: dict[str, Any], **elements: object) -> str:
    """Return a runbook as JSON."""
    base = {"schemaVersion": "0.3", "parameters": PARAMETERS, "mainSteps": list(steps)}
    return json.dumps({**base, **elements})


def fault(content: str, document_format: str = "JSON") -> str:
    """Return the error for a runbook."""
    with pytest.raises(FaultyDocumentError) as raised:
        read(content, document_format)
    return str(raised.value)


def with_inputs(action: str, **inputs: object) -> str:
    """Return a runbook of one step with these inputs."""
    return document({"name": "one", "action": action, "inputs": inputs})


def test_reads_a_runbook_in_json_and_yaml() -> None:
    """Both formats give the same runbook. Steps keep their order, and defaults are added."""
    found = read(document(LOOK, NAP, outputs=["look.Cidr"]), "JSON")
    assert read(document(LOOK, NAP, outputs=["look.Cidr"]), "YAML") == found
    assert list(found.steps) == ["look", "nap"]
    assert (found.steps["nap"].max_attempts, found.steps["nap"].on_failure, found.steps["nap"].is_critical) == (
        1,
        "Abort",
        True,
    )


@pytest.mark.parametrize(
    ("elements", "where"),
    [
        ({"schemaVersion": "2.2"}, "schemaVersion"),
        ({"schemaVersion": 3}, "schemaVersion"),
        ({"mainstep": []}, "mainstep"),
        ({"files": {}}, "files"),
        ({"variables": {}}, "variables"),
        ({"outputs": ["Cidr"]}, "outputs"),
        ({"outputs": ["look.Nothing"]}, "no output Nothing"),
        ({"outputs": [{"look": "Cidr"}]}, "outputs"),
        ({"assumeRole": "{{ Role }}"}, "{{ Role }}"),
        ({"assumeRole": "{{ look.Cidr }} {{"}, "braces"),
        ({"mainSteps": []}, "no step"),
        ({"mainSteps": {}}, "mainSteps"),
        ({"parameters": []}, "parameters"),
    ],
)
def test_refuses_elements_that_are_unknown_or_wrong(elements: dict[str, Any], where: str) -> None:
    """A runbook has only the elements of AWS's syntax, each with a valid type.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html
    """
    assert where in fault(document(LOOK, **elements))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"timeout": 5}, "timeout"),
        ({"name": None}, "None"),
        ({"name": "a-b"}, "a-b"),
        ({"name": "nap"}, "already"),
        ({"action": "aws:loop"}, "aws:loop"),
        ({"action": "aws:runCommand"}, "aws:runCommand"),
        ({"action": "aws:assertAwsResourceProperty"}, "aws:assertAwsResourceProperty"),
        ({"maxAttempts": 0}, "maxAttempts"),
        ({"maxAttempts": "2"}, "maxAttempts"),
        ({"timeoutSeconds": -1}, "timeoutSeconds"),
        ({"isEnd": "true"}, "isEnd"),
        ({"isCritical": 1}, "isCritical"),
        ({"onFailure": "abort"}, "abort"),
        ({"onFailure": "step:nowhere"}, "no step nowhere"),
        ({"onCancel": "step:nap"}, "unknown property onCancel"),
        ({"nextStep": "nowhere"}, "no step nowhere"),
        ({"isCritical": False}, "critical"),
        ({"isEnd": True, "onFailure": "step:nap"}, "leads nowhere"),
        ({"inputs": []}, "inputs"),
        ({"outputs": [{"Name": "a", "Selector": "$.Vpcs", "Type": "List"}]}, "'List'"),
        ({"outputs": [{"Name": "a", "Selector": "Vpcs", "Type": "String"}]}, "JSONPath"),
        ({"outputs": [{"Name": "a", "Selector": "$.Vpcs[0].VpcId", "type": "String"}]}, "type"),
        ({"outputs": [{"Selector": "$.Vpcs[0].VpcId"}]}, "name for an output"),
        ({"outputs": [{"Name": "a", "Selector": "$"}, {"Name": "a", "Selector": "$"}]}, "already"),
    ],
)
def test_refuses_properties_of_a_step_that_are_unknown_or_wrong(change: dict[str, Any], where: str) -> None:
    """A step has only the properties that all actions share, and the steps that it names must exist.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
    """
    assert where in fault(document({**LOOK, **change}, NAP))


@pytest.mark.parametrize("missing", ["name", "action", "inputs"])
def test_refuses_a_step_that_lacks_a_required_property(missing: str) -> None:
    """name, action and inputs are required (the same page)."""
    step = {key: value for key, value in NAP.items() if key != missing}
    assert f"the property {missing} is missing" in fault(document(step))


@pytest.mark.parametrize(
    ("inputs", "where"),
    [
        ({"Service": "ec3", "Api": "DescribeVpcs"}, "ec3"),
        ({"Service": "ec2", "Api": "describe_vpcs"}, "describe_vpcs"),
        ({"Service": "ec2"}, "None"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcId": "vpc-1"}, "unknown input VpcId"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": "vpc-1"}, "is not a list"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": [7]}, "7 is not a string"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": "{{ VpcId }}"}, "is a String"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ Many }}"]}, "is a StringList"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "DryRun": "{{ VpcId }}"}, "a boolean is expected"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "MaxResults": "5"}, "MaxResults"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "Filters": [{"Nam": "a"}]}, "unknown input Nam"),
        ({"Service": "ec2", "Api": "CreateVpcEndpoint", "ServiceName": "a"}, "['VpcId'] are missing"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ Nothing }}"]}, "neither a parameter"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ ssm:name }}"]}, "neither a parameter"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ global:REGION }}"]}, "neither a parameter"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ nap.Output }}"]}, "does not come before"),
        ({"Service": "ec2", "Api": "DescribeVpcs", "VpcIds": ["{{ {{ VpcId }} }}"]}, "braces"),
        ({"Service": "s3", "Api": "GetObject", "Bucket": "a", "Key": "b"}, "streams"),
        ({"Service": "sts", "Api": "GetCallerIdentity", "Account": "a"}, "Account"),
        ({"Service": "sqs", "Api": "CreateQueue", "QueueName": "q", "Attributes": {"DelaySeconds": 5}}, "DelaySeconds"),
        ({"Service": "ecs", "Api": "DescribeClusters", "clusters": [["a"]]}, "is not a string"),
        (
            {
                "Service": "cloudwatch",
                "Api": "PutMetricAlarm",
                "AlarmName": "a",
                "EvaluationPeriods": 1,
                "ComparisonOperator": "GreaterThanThreshold",
                "Threshold": "high",
            },
            "is not a double",
        ),
        ({"Service": "ec2", "Api": "DescribeVpcs", "Filters": "{{ Many }}"}, "a list is expected"),
    ],
)
def test_refuses_api_inputs_that_the_api_does_not_have(inputs: dict[str, Any], where: str) -> None:
    """Service, operation, and inputs of aws:executeAwsApi must match the API's own model, including references.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-executeAwsApi.html
    """
    step = {"name": "look", "action": "aws:executeAwsApi", "inputs": inputs}
    assert where in fault(document(step, NAP))


@pytest.mark.parametrize(
    ("selector", "kind", "good"),
    [
        ("$.Vpcs[0].VpcId", "String", True),
        ("$.Vpcs[0].VpcId", "Integer", True),
        ("$.Vpcs[0].IsDefault", "Boolean", True),
        ("$.Vpcs[0].IsDefault", "Integer", False),
        ("$.Vpcs[0]", "StringMap", True),
        ("$.Vpcs[0]", "String", False),
        ("$.Vpcs", "MapList", True),
        ("$.Vpcs", "StringList", False),
        ("$", "StringMap", True),
        ("$.Vpcs.VpcId", "String", False),
        ("$.Vpc[0]", "StringMap", False),
        ("$.NextToken.Deeper", "String", False),
        ("$.Vpcs[0].Tags[0].Value", "String", True),
    ],
)
def test_selector_and_type_of_an_output_are_held_against_the_response(selector: str, kind: str, *, good: bool) -> None:
    """A selector or type that does not match the response is found before anything runs."""
    content = document({**LOOK, "outputs": [{"Name": "a", "Selector": selector, "Type": kind}]})
    if good:
        assert read(content, "JSON").steps["look"].outputs[0].type == kind
    else:
        assert "mainSteps.look.outputs" in fault(content)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('{"schemaVersion": "0.3", "schemaVersion": "0.3"}', "twice"),
        ("[]", "not an object"),
        ("{", "document"),
        ('{"a": 1.5}', "1.5"),
        ('{"a": null}', "None"),
        ("x" * (MAXIMUM_BYTES + 1), "longer"),
    ],
)
def test_refuses_json_that_would_lose_something(content: str, where: str) -> None:
    """Duplicate keys, fractions, nulls and texts above 64 KB are errors.

    https://docs.aws.amazon.com/general/latest/gr/ssm.html
    """
    assert where in fault(content)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("a: 1\na: 2\n", "twice"),
        ("a: 2026-02-13\n", "datetime.date"),
        ("1: a\n", "the key 1"),
        ("a: [\n", "document"),
        ("a: !!python/object:object {}\n", "document"),
    ],
)
def test_refuses_yaml_that_would_lose_something(content: str, where: str) -> None:
    """Duplicate keys, keys that are numbers, and texts that YAML reads as dates are errors."""
    assert where in fault(content, "YAML")


def test_refuses_a_loop_with_its_trace() -> None:
    """Automation checks that a runbook has no infinite loop; the error shows the loop.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-branch-condition.html
    """
    first, second = {**NAP, "name": "first"}, {**NAP, "name": "second", "onFailure": "step:first"}
    assert "first -> second -> first" in fault(document(first, second))


def test_refuses_a_step_that_nothing_leads_to() -> None:
    """A step after isEnd that no other step names would never run."""
    assert "no step leads to ['second']" in fault(document({**NAP, "isEnd": True}, {**NAP, "name": "second"}))


def test_refuses_an_output_of_a_step_on_another_way() -> None:
    """A step can use only outputs of steps that can run before it."""
    choose = {
        "name": "choose",
        "action": "aws:branch",
        "inputs": {
            "Choices": [{"Variable": "{{ VpcId }}", "StringEquals": "a", "NextStep": "look"}],
            "Default": "other",
        },
    }
    other = {**LOOK, "name": "other", "inputs": {**LOOK["inputs"], "VpcIds": ["{{ look.Cidr }}"]}}  # type: ignore[dict-item]
    assert "the step look does not come before" in fault(document(choose, {**LOOK, "isEnd": True}, other))


@pytest.mark.parametrize("name", ["AWS-Heal", "awsHeal", "amazonHeal", "AWSConfigRemediation-Heal"])
def test_name_must_not_look_like_one_of_amazon(ssm: BaseClient, name: str) -> None:
    """Names of documents must not begin with Amazon's prefixes (botocore model, CreateDocument)."""
    create = {"Content": document(LOOK), "DocumentFormat": "JSON", "DocumentType": "Automation"}
    assert refused(ssm.create_document, Name=name, **create) == "ValidationException"


def test_api_refuses_a_faulty_runbook_and_says_where(ssm: BaseClient) -> None:
    """CreateDocument raises InvalidDocumentContent; documents of other types are not runbooks."""
    good = {"Name": "Heal", "DocumentFormat": "JSON"}
    bad = document({**LOOK, "timeout": 5})
    assert refused(ssm.create_document, **good, Content=bad, DocumentType="Automation") == "InvalidDocumentContent"
    ssm.create_document(**good, Content=document(LOOK), DocumentType="Automation")
    ssm.update_document(**good, Content=document(LOOK, NAP), DocumentVersion="$LATEST")
    other = json.dumps({"schemaVersion": "2.2", "mainSteps": []})
    ssm.create_document(Name="Other", Content=other, DocumentFormat="JSON", DocumentType="Command")
    described = ssm.describe_document(Name="Heal", DocumentVersion="2")["Document"]
    assert (described["DocumentType"], described["SchemaVersion"], described["LatestVersion"]) == (
        "Automation",
        "0.3",
        "2",
    )


@pytest.mark.parametrize(
    ("action", "inputs", "where"),
    [
        ("aws:sleep", {}, "Duration is missing"),
        ("aws:sleep", {"Duration": "PT1S", "Timestamp": "2026-01-01"}, "unknown input Timestamp"),
        ("aws:sleep", {"Duration": "1S"}, "ISO 8601"),
        ("aws:sleep", {"Duration": "P"}, "ISO 8601"),
        ("aws:sleep", {"Duration": "P8D"}, "more than 604800"),
        ("aws:sleep", {"Duration": 5}, "Duration"),
        ("aws:sleep", {"Duration": "{{ Many }}"}, "not a String"),
        ("aws:invokeLambdaFunction", {}, "FunctionName is missing"),
        ("aws:invokeLambdaFunction", {"FunctionName": 5}, "FunctionName"),
        ("aws:invokeLambdaFunction", {"FunctionName": "f", "Payload": "{}"}, "unknown input Payload"),
        ("aws:invokeLambdaFunction", {"FunctionName": "f", "InputPayload": "{}"}, "InputPayload"),
        ("aws:invokeLambdaFunction", {"FunctionName": "f", "InvocationType": "Event"}, "unknown input InvocationType"),
        ("aws:approve", {"Approvers": []}, "Approvers"),
        ("aws:approve", {"Approvers": ["a"] * 11}, "Approvers"),
        ("aws:approve", {"Approvers": ["a"], "MinRequiredApprovals": 2}, "MinRequiredApprovals"),
        ("aws:approve", {"Approvers": ["a"], "MinRequiredApprovals": "{{ VpcId }}"}, "not a Integer"),
        ("aws:approve", {"Approvers": ["a"], "NotificationArn": "arn:aws:sns:r:1:Topic"}, "Automation"),
        ("aws:approve", {"Approvers": ["a"], "Message": "x" * 4097}, "4096"),
    ],
)
def test_refuses_inputs_that_an_action_does_not_take(action: str, inputs: dict[str, Any], where: str) -> None:
    """Each action has its own inputs, as described in the actions reference.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-actions.html
    """
    assert where in fault(with_inputs(action, **inputs))


def choice(**condition: object) -> dict[str, Any]:
    """Return the inputs of a branch with one choice that leads to a step `nap`."""
    return {"Choices": [{"NextStep": "nap", **condition}]}


@pytest.mark.parametrize(
    ("inputs", "where"),
    [
        ({}, "Choices is missing"),
        ({"Choices": []}, "list of choices"),
        ({"Choices": [{"Variable": "{{ VpcId }}", "StringEquals": "a"}]}, "NextStep"),
        ({**choice(Variable="{{ VpcId }}", StringEquals="a"), "Default": 5}, "Default"),
        ({**choice(Variable="{{ VpcId }}", StringEquals="a"), "Default": "nowhere"}, "no step nowhere"),
        (choice(Variable="{{ VpcId }}"), "only StringEquals is supported"),
        (choice(Variable="{{ VpcId }}", StringEquals="a", Contains="b"), "only StringEquals is supported"),
        (choice(Variable="{{ VpcId }}", BooleanEquals=True), "only StringEquals is supported"),
        (choice(Variable="{{ Many }}", StringEquals="a"), "compares a String"),
        (choice(Variable="{{ VpcId }}", StringEquals=5), "not a String"),
        (choice(Variable="{{ VpcId }}", StringEquals="{{ Many }}"), "Many is not a String"),
        (choice(Variable="{{ VpcId }}", StringEquals="x{{ VpcId }}"), "StringEquals"),
        (choice(Variable="VpcId", StringEquals="a"), "not a parameter or an output"),
        (choice(Variable="x {{ VpcId }}", StringEquals="a"), "not a parameter or an output"),
        (choice(Variable="{{ Nothing }}", StringEquals="a"), "neither a parameter"),
        (choice(Not={"Variable": "{{ VpcId }}", "StringEquals": "a"}), "only StringEquals is supported"),
    ],
)
def test_refuses_choices_that_cannot_be_decided(inputs: dict[str, Any], where: str) -> None:
    """Automation validates each operator of a branch when the runbook is created.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-branch.html
    """
    assert where in fault(document({"name": "choose", "action": "aws:branch", "inputs": inputs}, NAP))


def test_function_may_take_at_most_300_seconds() -> None:
    """aws:invokeLambdaFunction can run for up to five minutes.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html
    """
    step = {"name": "ask", "action": "aws:invokeLambdaFunction", "inputs": {"FunctionName": "f"}}
    assert "at most 300" in fault(document({**step, "timeoutSeconds": 301}))
    assert "begin with" in fault(document({**step, "outputs": [{"Name": "a", "Selector": "$.decision"}]}))
    assert "already" in fault(document({**step, "outputs": [{"Name": "Payload", "Selector": "$.Payload"}]}))


def test_only_two_actions_let_the_author_define_outputs(runbook: Callable[..., dict[str, Any]]) -> None:
    """The action determines its outputs, except for API calls and functions."""
    step = {**NAP, "outputs": [{"Name": "a", "Selector": "$.b"}]}
    assert "no outputs to be defined" in fault(json.dumps(runbook(step)))


def test_responses_with_maps_can_be_selected_from() -> None:
    """A key of a map can have any name."""
    step = {
        "name": "look",
        "action": "aws:executeAwsApi",
        "inputs": {"Service": "sqs", "Api": "GetQueueAttributes", "QueueUrl": "q", "AttributeNames": ["All"]},
        "outputs": [{"Name": "Arn", "Selector": "$.Attributes.QueueArn", "Type": "String"}],
    }
    assert read(document(step), "JSON").steps["look"].outputs[0].name == "Arn"


def test_operation_without_inputs_takes_none() -> None:
    """An operation without input in the model is called with only Service and Api."""
    inputs = {"Service": "iam", "Api": "GetAccountSummary"}
    step = {"name": "look", "action": "aws:executeAwsApi", "inputs": inputs}
    assert read(document(step), "JSON").steps["look"].inputs == inputs
    assert "verbose" in fault(document({**step, "inputs": {**inputs, "verbose": True}}))
