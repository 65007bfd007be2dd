"""DynamoDB in the sandbox: atomic conditional writes, tables from CloudFormation, and resource policies."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.dynamodb import create_table
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/Ledger"
WRITES = ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"]
WRITER = "arn:aws:iam::123456789012:role/path/writer"
ONLY_THE_WRITER = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Deny",
            "Principal": "*",
            "Action": [f"dynamodb:{action}" for action in [*WRITES, "DeleteResourcePolicy"]],
            "Resource": "*",
            "Condition": {"ArnNotLike": {"aws:PrincipalArn": WRITER}},
        }
    ],
}
PROPERTIES = {
    "AttributeDefinitions": [{"AttributeName": "Id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "Id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
    "DeletionProtectionEnabled": True,
    "SSESpecification": {"SSEEnabled": True},
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    "ResourcePolicy": {"PolicyDocument": ONLY_THE_WRITER},
}
KEY = {"Id": {"S": "one"}}
ITEM = {"Id": {"S": "one"}, "Count": {"N": "0"}}


@pytest.fixture
def dynamodb(sandbox: Sandbox) -> Client:
    """A client of the sandbox's account, in which the table is deployed."""
    deploy(sandbox, "Ledger")
    client: Client = sandbox.client("dynamodb")
    return client


def deploy(sandbox: Sandbox, name: str, **changed: object) -> None:
    """Deploy a table as CloudFormation does."""
    create_table(Account(sandbox, sandbox.account_id, sandbox.region), name, {**PROPERTIES, **changed})


@pytest.fixture
def often_switching() -> Iterator[None]:
    """Switch threads so often that an increment without a lock would be lost."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def acting(sandbox: Sandbox) -> Callable[[str, str], Client]:
    """Return a function that creates a role with a path and allowed actions, and returns a client for it."""

    def make(name: str, action: str = "dynamodb:*") -> Client:
        iam: Client = sandbox.client("iam")
        role = iam.create_role(Path="/path/", RoleName=name, AssumeRolePolicyDocument='{"Statement": []}')["Role"]
        statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps(policy))
        return sandbox.client("dynamodb", credentials=sandbox.assume(role["Arn"]))

    return make


def test_table_is_made_as_its_resource_says(dynamodb: Client) -> None:
    """The API returns every property of AWS::DynamoDB::Table that is deployed here."""
    table = dynamodb.describe_table(TableName="Ledger")["Table"]
    assert (table["TableArn"], table["DeletionProtectionEnabled"]) == (TABLE, True)
    assert table["SSEDescription"]["Status"] == "ENABLED"
    backups = dynamodb.describe_continuous_backups(TableName="Ledger")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    assert json.loads(dynamodb.get_resource_policy(ResourceArn=TABLE)["Policy"]) == ONLY_THE_WRITER
    assert refused(dynamodb.delete_table, TableName="Ledger") == "ValidationException"


def delete(dynamodb: Client) -> None:
    """Delete the table, which is protected."""
    dynamodb.update_table(TableName="Ledger", DeletionProtectionEnabled=False)
    dynamodb.get_waiter("table_exists").wait(TableName="Ledger", WaiterConfig={"Delay": 1})
    dynamodb.delete_table(TableName="Ledger")


def test_table_that_is_updated_is_not_changed(dynamodb: Client) -> None:
    """While a table is UPDATING, it cannot be updated again or deleted."""
    dynamodb.update_table(TableName="Ledger", DeletionProtectionEnabled=False)
    assert dynamodb.describe_table(TableName="Ledger")["Table"]["TableStatus"] == "UPDATING"
    again = {"TableName": TABLE, "DeletionProtectionEnabled": True}
    assert refused(dynamodb.update_table, **again) == "ResourceInUseException"
    assert refused(dynamodb.delete_table, TableName="Ledger") == "ResourceInUseException"
    dynamodb.get_waiter("table_exists").wait(TableName="Ledger", WaiterConfig={"Delay": 1})
    dynamodb.delete_table(TableName="Ledger")
    assert refused(dynamodb.describe_table, TableName="Ledger") == "ResourceNotFoundException"


def test_policy_ends_with_its_table(sandbox: Sandbox, dynamodb: Client) -> None:
    """A new table with a deleted table's name has no policy. An invalid policy is rejected."""
    delete(dynamodb)
    deploy(sandbox, "Ledger", ResourcePolicy=None)
    assert refused(dynamodb.get_resource_policy, ResourceArn=TABLE) == "PolicyNotFoundException"
    valid = json.dumps(ONLY_THE_WRITER)
    for policy in ("no", "{}", '{"Statement": [{"Effect": "Allow"}]}', valid.ljust(20_481)):
        assert refused(dynamodb.put_resource_policy, ResourceArn=TABLE, Policy=policy) == "ValidationException"


@pytest.mark.parametrize("action", ["RestoreTableFromBackup", "GetRecords", "ExecuteStatement", "Put*"])
def test_policy_names_only_actions_of_tables(sandbox: Sandbox, dynamodb: Client, action: str) -> None:
    """DynamoDB refuses the whole call for one other action, when a table is created and when a policy is attached."""
    statement = ONLY_THE_WRITER["Statement"][0]
    policy = {"Statement": [statement | {"Action": ["dynamodb:*", f"dynamodb:{action}"]}]}
    invalid = re.escape(f'Invalid policy document: The following action names are invalid: "dynamodb:{action}"')
    with pytest.raises(dynamodb.exceptions.ClientError, match=invalid):
        dynamodb.put_resource_policy(ResourceArn=TABLE, Policy=json.dumps(policy))
    with pytest.raises(dynamodb.exceptions.ClientError, match=invalid):
        deploy(sandbox, "Other", ResourcePolicy={"PolicyDocument": policy})
    assert dynamodb.list_tables()["TableNames"] == ["Ledger"]
    assert json.loads(dynamodb.get_resource_policy(ResourceArn=TABLE)["Policy"]) == ONLY_THE_WRITER


@pytest.mark.usefixtures("often_switching")
def test_conditional_writes_are_atomic(dynamodb: Client) -> None:
    """Of many threads, exactly one puts the item, and no increment is lost."""

    def put(owner: int) -> bool:
        try:
            item = {**ITEM, "Owner": {"N": str(owner)}}
            dynamodb.put_item(TableName="Ledger", Item=item, ConditionExpression="attribute_not_exists(Id)")
        except dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def increment(_: int) -> None:
        dynamodb.update_item(
            TableName="Ledger",
            Key=KEY,
            UpdateExpression="SET #count = #count + :one",
            ExpressionAttributeNames={"#count": "Count"},
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(put, range(24))) == 1
        list(pool.map(increment, range(48)))
    found = dynamodb.get_item(TableName="Ledger", Key=KEY, ConsistentRead=True)["Item"]
    assert found["Count"] == {"N": "48"}


@pytest.mark.parametrize("number", ["", "one", "1,5"])
def test_number_that_is_none_is_refused(dynamodb: Client, number: str) -> None:
    """Numbers are sent as strings, which must be valid numbers at any depth of a value."""
    item: dict[str, Any] = {"Id": {"S": "one"}, "Map": {"M": {"List": {"L": [{"N": "-1.5e3"}, {"N": number}]}}}}
    assert refused(dynamodb.put_item, TableName="Ledger", Item=item) == "ValidationException"
    values = {":n": {"N": number}}
    update = {"UpdateExpression": "SET A = :n", "ExpressionAttributeValues": values}
    assert refused(dynamodb.update_item, TableName="Ledger", Key=KEY, **update) == "ValidationException"
    item["Map"]["M"]["List"]["L"].pop()
    assert dynamodb.put_item(TableName="Ledger", Item=item)


def writes(client: Client) -> dict[str, Callable[[], Any]]:
    """Return each way to write an item."""
    put = {"TableName": "Ledger", "Item": ITEM}
    return {
        "PutItem": lambda: client.put_item(**put),
        "UpdateItem": lambda: client.update_item(TableName="Ledger", Key=KEY, UpdateExpression="REMOVE Owned"),
        "DeleteItem": lambda: client.delete_item(TableName=TABLE, Key=KEY),
        "BatchWriteItem": lambda: client.batch_write_item(RequestItems={"Ledger": [{"PutRequest": {"Item": ITEM}}]}),
        "TransactWriteItems": lambda: client.transact_write_items(TransactItems=[{"Put": put}]),
        "PartiQLInsert": lambda: client.execute_statement(Statement="INSERT INTO \"Ledger\" VALUE {'Id': 'two'}"),
        "PartiQLUpdate": lambda: client.execute_statement(Statement="UPDATE Ledger SET A='1' WHERE Id='one'"),
        "PartiQLDelete": lambda: client.batch_execute_statement(
            Statements=[{"Statement": "DELETE FROM \"Ledger\" WHERE Id='two'"}]
        ),
        "DeleteResourcePolicy": lambda: client.delete_resource_policy(ResourceArn=TABLE),
    }


def test_resource_policy_denies_every_write_of_others(
    sandbox: Sandbox, dynamodb: Client, acting: Callable[..., Client]
) -> None:
    """A role that may do everything reads the table but cannot write; the role that the policy names can write.

    aws:PrincipalArn is the ARN of the role with its path, not of the session.
    """
    other, writer = acting("other"), acting("writer")
    dynamodb.put_item(TableName="Ledger", Item=ITEM)
    with enforced(sandbox):
        for name, write in writes(other).items():
            assert refused(write) == "AccessDeniedException", name
        assert other.get_item(TableName="Ledger", Key=KEY)["Item"] == ITEM
        assert other.query(
            TableName="Ledger", KeyConditionExpression="Id = :id", ExpressionAttributeValues={":id": {"S": "one"}}
        )["Items"]
        assert other.batch_get_item(RequestItems={"Ledger": {"Keys": [KEY]}})["Responses"]["Ledger"] == [ITEM]
        for write in writes(writer).values():
            write()


def test_each_action_needs_its_permission(sandbox: Sandbox, dynamodb: Client, acting: Callable[..., Client]) -> None:
    """A role that may only put items can also put them in a transaction, but nothing else."""
    dynamodb.delete_resource_policy(ResourceArn=TABLE)
    putter = acting("putter", "dynamodb:PutItem")
    with enforced(sandbox):
        allowed = [name for name, write in writes(putter).items() if not _is_refused(write)]
        reads = (putter.scan, putter.describe_table, putter.delete_table)
        assert {refused(read, TableName="Ledger") for read in reads} == {"AccessDeniedException"}
    assert allowed == ["PutItem", "TransactWriteItems"]


def _is_refused(call: Callable[[], Any]) -> bool:
    try:
        call()
    except ClientError as error:
        return error.response["Error"]["Code"] == "AccessDeniedException"
    return False


def test_resource_policy_can_allow(sandbox: Sandbox, dynamodb: Client, acting: Callable[..., Client]) -> None:
    """In one account, the table's policy is enough, but an account as its principal grants nothing by itself."""
    reader = acting("reader", "sts:*")
    allow = {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": TABLE}

    def reading(principal: object) -> bool:
        policy = json.dumps({"Statement": [{**allow, "Principal": principal}]})
        dynamodb.put_resource_policy(ResourceArn=TABLE, Policy=policy)
        with enforced(sandbox):
            return not _is_refused(lambda: reader.get_item(TableName="Ledger", Key=KEY))

    assert reading({"AWS": "arn:aws:iam::123456789012:role/path/reader"})
    assert reading({"AWS": [WRITER, "arn:aws:sts::123456789012:assumed-role/reader/sandbox"]})
    assert not reading({"AWS": WRITER})
    assert not reading({"AWS": "123456789012"})
    assert not reading({"Service": "config.amazonaws.com"})
