"""The answers that EC2 may give where AWS does not document one (config_rule_sandbox/answers.py)."""

import pytest

from config_rule_sandbox.answers import Ipv6List, RegionalNatTable, TableAddedAgain, UsedToken
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

SERVICE = "com.amazonaws.us-east-1.s3express"
IPV6 = "com.amazonaws.us-east-1.ipv6.s3express"


@pytest.mark.parametrize(
    ("answer", "managed", "plain"),
    [
        (Ipv6List.MANAGED, [IPV6, SERVICE], [SERVICE]),
        (Ipv6List.PLAIN, [IPV6, SERVICE], [IPV6, SERVICE]),
        (Ipv6List.NAMED_DIFFERENTLY, [SERVICE, f"{SERVICE}-ipv6"], [SERVICE]),
        (Ipv6List.NONE, [SERVICE], [SERVICE]),
    ],
)
def test_lists_of_the_service(
    sandbox: Sandbox, ec2: Client, answer: Ipv6List, managed: list[str], plain: list[str]
) -> None:
    """Both calls list those of the answer."""
    sandbox.answers.ipv6_list = answer
    listed = [ec2.describe_managed_prefix_lists, ec2.describe_prefix_lists]
    names = [[row["PrefixListName"] for row in call()["PrefixLists"]] for call in listed]
    assert [sorted(name for name in found if "s3express" in name) for found in names] == [managed, plain]


@pytest.mark.parametrize(
    ("answer", "is_shown"), [(RegionalNatTable.GATEWAY, True), (RegionalNatTable.UNASSOCIATED, False)]
)
def test_table_of_a_regional_nat_gateway(
    sandbox: Sandbox, ec2: Client, vpc_id: str, answer: RegionalNatTable, *, is_shown: bool
) -> None:
    """It has a default route, and shows the gateway or nothing."""
    sandbox.answers.regional_nat_table = answer
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc_id)
    nat = ec2.create_nat_gateway(VpcId=vpc_id, AvailabilityMode="regional")["NatGateway"]
    [table] = ec2.describe_route_tables(RouteTableIds=[nat["RouteTableId"]])["RouteTables"]
    assert gateway in [route.get("GatewayId") for route in table["Routes"]]
    shown = [nat["NatGatewayId"]] if is_shown else []
    assert [association["GatewayId"] for association in table["Associations"]] == shown


@pytest.mark.parametrize("answer", UsedToken)
def test_token_of_a_deleted_endpoint(sandbox: Sandbox, ec2: Client, vpc_id: str, answer: UsedToken) -> None:
    """It returns that endpoint, makes a new one, or is refused."""
    sandbox.answers.used_token = answer
    given = {"VpcId": vpc_id, "ServiceName": SERVICE, "ClientToken": "used"}
    deleted = ec2.create_vpc_endpoint(**given)["VpcEndpoint"]["VpcEndpointId"]
    ec2.delete_vpc_endpoints(VpcEndpointIds=[deleted])
    if answer is UsedToken.ERROR:
        assert refused(ec2.create_vpc_endpoint, **given) == "IdempotentParameterMismatch"
        return
    again = ec2.create_vpc_endpoint(**given)["VpcEndpoint"]["VpcEndpointId"]
    assert (again == deleted) is (answer is UsedToken.DELETED_ENDPOINT)


def test_table_is_added_again(sandbox: Sandbox, ec2: Client, vpc_id: str, table_id: str) -> None:
    """That changes nothing, or is refused."""
    made = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=SERVICE, RouteTableIds=[table_id])["VpcEndpoint"]
    given = {"VpcEndpointId": made["VpcEndpointId"], "AddRouteTableIds": [table_id]}
    assert ec2.modify_vpc_endpoint(**given)["Return"]
    sandbox.answers.table_added_again = TableAddedAgain.ERROR
    assert refused(ec2.modify_vpc_endpoint, **given) == "RouteAlreadyExists"
    [endpoint] = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    assert endpoint["RouteTableIds"] == [table_id]
