"""aws:executeAwsApi with DynamoDB: attribute values as inputs and outputs, and conditions that fail a step."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.server import Sandbox
from sandbox.ssm import FaultyDocumentError, read

Run = Callable[..., dict[str, Any]]

GET = {"Service": "dynamodb", "Api": "GetItem", "TableName": "Ledger", "ConsistentRead": True}
CLAIM = {
    "Service": "dynamodb",
    "Api": "UpdateItem",
    "TableName": "Ledger",
    "Key": {"Id": {"S": "table#{{ Table }}"}},
    "UpdateExpression": "SET #run = :run, #n = :n, Tables = :tables, Done = :done, Details.#run = :run",
    "ConditionExpression": "attribute_exists(Id) AND (attribute_not_exists(#run) OR #run = :run)",
    "ExpressionAttributeNames": {"#run": "Run", "#n": "Expires"},
    "ExpressionAttributeValues": {
        ":run": {"S": "{{ automation:EXECUTION_ID }}"},
        ":n": {"N": "{{ Expires }}"},
        ":tables": {"L": [{"S": "{{ Table }}"}]},
        ":done": {"BOOL": False},
    },
}
PARAMETERS = {
    "Table": {"type": "String", "default": "rtb-1"},
    "Expires": {"type": "String", "default": "1795354343"},
}


def api(name: str, inputs: dict[str, Any], *outputs: dict[str, str]) -> dict[str, Any]:
    """Return a step that calls an API."""
    return {"name": name, "action": "aws:executeAwsApi", "inputs": inputs, "outputs": list(outputs)}


@pytest.fixture
def ledger(sandbox: Sandbox) -> Client:
    """A client, and a table with one item."""
    client: Client = sandbox.client("dynamodb")
    client.create_table(
        TableName="Ledger",
        AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "Id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="Ledger", Item={"Id": {"S": "table#rtb-1"}, "Details": {"M": {}}})
    return client


def test_attribute_values_pass_unchanged(run: Run, ledger: Client) -> None:
    """References inside nested attribute values are resolved, and outputs can select parts of the item."""
    wanted = [("Run", "$.Item.Run.S", "String"), ("Expires", "$.Item.Expires.N", "String")]
    wanted += [("Done", "$.Item.Done.BOOL", "Boolean"), ("Table", "$.Item.Tables.L[0].S", "String")]
    outputs = [{"Name": name, "Selector": selector, "Type": kind} for name, selector, kind in wanted]
    found = run(
        api("claim", CLAIM),
        api("look", {**GET, "Key": {"Id": {"S": "table#rtb-1"}}}, *outputs),
        parameters=PARAMETERS,
    )
    assert found["AutomationExecutionStatus"] == "Success", found["FailureMessage"]
    run_id = found["AutomationExecutionId"]
    assert found["StepExecutions"][1]["Outputs"] == {
        "Run": [run_id],
        "Expires": ["1795354343"],
        "Done": ["false"],
        "Table": ["rtb-1"],
    }
    item = ledger.get_item(TableName="Ledger", Key={"Id": {"S": "table#rtb-1"}})["Item"]
    assert (item["Expires"], item["Details"]) == ({"N": "1795354343"}, {"M": {"Run": {"S": run_id}}})


def test_failed_condition_fails_the_step(run: Run, ledger: Client) -> None:
    """The failure message has DynamoDB's error code, so that it shows which claim failed."""
    del ledger
    found = run(api("claim", CLAIM), given={"Table": "rtb-2"}, parameters=PARAMETERS)
    assert found["AutomationExecutionStatus"] == "Failed"
    assert "ConditionalCheckFailedException" in found["FailureMessage"]


@pytest.mark.parametrize("value", [{"N": 5}, {"S": True}, {"BOOL": "false"}, {"X": "a"}, "a"])
def test_values_of_another_type_are_refused(value: object) -> None:
    """Numbers are strings in attribute values, and Booleans are not (botocore model, AttributeValue)."""
    steps = [api("look", {**GET, "Key": {"Id": value}})]
    with pytest.raises(FaultyDocumentError):
        read(str({"schemaVersion": "0.3", "mainSteps": steps}).replace("'", '"').replace("True", "true"), "JSON")
