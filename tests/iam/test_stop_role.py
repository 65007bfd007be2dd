"""The role that stops all heals, with permissions enforced: it writes the item STOP past the ledger's policy."""

import json

from express_path.domain.heal.ledger import STOP_ID
from sandbox.dynamic import Client
from sandbox.refusals import refused
from tests.support.stack import Stack

STOP, CLAIM = {"id": {"S": STOP_ID}}, {"id": {"S": "TABLE#rtb-1"}}


def test_the_role_writes_the_stop_and_nothing_else(stack: Stack) -> None:
    """Claims, history, and other writes of the stop are refused."""
    table = str(stack.template.deployed("<LedgerTable>"))
    client = stack.client("StopRole", "dynamodb")
    with stack.enforced():
        client.put_item(TableName=table, Item=STOP)
        assert client.get_item(TableName=table, Key=STOP)["Item"] == STOP
        client.delete_item(TableName=table, Key=STOP)
        for call, given in (
            (client.put_item, {"Item": CLAIM}),
            (client.get_item, {"Key": CLAIM}),
            (client.delete_item, {"Key": CLAIM}),
            (client.update_item, {"Key": STOP}),
            (client.scan, {}),
        ):
            assert refused(call, TableName=table, **given) == "AccessDeniedException"


def test_an_account_administrator_must_use_the_role(stack: Stack) -> None:
    """The ledger's policy denies the write to everybody else; whoever may assume the role can make it."""
    iam: Client = stack.iam
    iam.create_user(UserName="ann")
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_user_policy(UserName="ann", PolicyName="all", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    credentials = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    dynamodb, sts = (stack.sandbox.client(service, credentials=credentials) for service in ("dynamodb", "sts"))
    with stack.enforced():
        assert (
            refused(dynamodb.put_item, TableName=stack.template.deployed("<LedgerTable>"), Item=STOP)
            == "AccessDeniedException"
        )
        assert sts.assume_role(RoleArn=stack.arn("StopRole"), RoleSessionName="ann")["Credentials"]
