"""GetResourceConfigHistory: items in the API's format, which differs from that of events.

https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules.html, "Format differences".
"""

import json

import pytest
from botocore.client import BaseClient

from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.server import Sandbox

SUBNET = "AWS::EC2::Subnet"


@pytest.fixture
def config(sandbox: Sandbox) -> BaseClient:
    """A client of AWS Config."""
    return sandbox.client("config")


@pytest.fixture
def subnet_id(sandbox: Sandbox, loop: ConfigLoop) -> str:
    """A subnet with three items: discovered, tagged, tagged again."""
    ec2 = sandbox.client("ec2")
    vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet_id = str(ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"])
    loop.baseline()
    for value in ("first", "second"):
        ec2.create_tags(Resources=[subnet_id], Tags=[{"Key": "Name", "Value": value}])
        loop.notice()
    return subnet_id


def test_items_have_the_shape_of_the_api(config: BaseClient, subnet_id: str) -> None:
    """Field names differ from those in events, `configuration` is a string, and times are timestamps."""
    (item, *_) = config.get_resource_config_history(resourceType=SUBNET, resourceId=subnet_id)["configurationItems"]
    assert (item["version"], item["accountId"], item["configurationItemStatus"]) == ("1.3", "123456789012", "OK")
    assert item["arn"].endswith(f":subnet/{subnet_id}")
    assert json.loads(item["configuration"])["subnetId"] == subnet_id
    assert item["tags"] == {"Name": "second"}
    assert {relationship["relationshipName"] for relationship in item["relationships"]} == {"Is contained in Vpc"}
    assert int(item["configurationStateId"]) == round(item["configurationItemCaptureTime"].timestamp() * 1000)
    assert not {"configurationItemVersion", "awsAccountId", "ARN"} & set(item)


def test_order_time_and_pages(config: BaseClient, subnet_id: str) -> None:
    """The newest item comes first, laterTime is inclusive, and limits make pages."""
    call = config.get_resource_config_history
    found = call(resourceType=SUBNET, resourceId=subnet_id)["configurationItems"]
    assert [item["tags"].get("Name") for item in found] == ["second", "first", None]
    second = found[1]
    then = {"laterTime": second["configurationItemCaptureTime"], "limit": 1}
    assert call(resourceType=SUBNET, resourceId=subnet_id, **then)["configurationItems"] == [second]
    pages = config.get_paginator("get_resource_config_history").paginate(
        resourceType=SUBNET, resourceId=subnet_id, PaginationConfig={"PageSize": 2}
    )
    assert [len(page["configurationItems"]) for page in pages] == [2, 1]
