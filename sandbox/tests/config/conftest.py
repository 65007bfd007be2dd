"""Fixtures for the tests of AWS Config in the sandbox."""

from collections.abc import Mapping
from typing import Any

import pytest

from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.items.kinds import NAT_GATEWAY, ROUTE_TABLE, SUBNET, VPC_ENDPOINT
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.results import ConfigResults, results_of
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.server import Sandbox


@pytest.fixture
def events() -> list[dict[str, Any]]:
    """The events that the recording function of `loop` received."""
    return []


@pytest.fixture
def network_rule() -> RuleDefinition:
    """The rule that `loop` deploys. VPCs are recorded, but not in its scope."""
    types = (ROUTE_TABLE, SUBNET, VPC_ENDPOINT, NAT_GATEWAY)
    return RuleDefinition("network-rule", "network-rule-function", types)


@pytest.fixture
def loop(sandbox: Sandbox, events: list[dict[str, Any]], network_rule: RuleDefinition) -> ConfigLoop:
    """A deployed rule whose function only records its events."""
    return ConfigLoop(sandbox, events.append, rule=network_rule)


@pytest.fixture
def network(sandbox: Sandbox) -> Mapping[str, str]:
    """A small VPC, as the ids of its resources by name: a public, a private, and an isolated subnet, and an endpoint of S3.

    Each subnet has its own route table, and no subnet uses the main one.
    """
    account = Account(sandbox)
    vpc = account.vpc()
    igw = account.internet_gateway(vpc)
    rtb_public = account.table(vpc, GatewayId=igw)
    public = account.subnet(vpc, rtb_public)
    nat = account.nat_gateway(public)
    account.ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[nat])
    rtb_private, rtb_isolated = account.table(vpc, NatGatewayId=nat), account.table(vpc)
    main = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
    [rtb_main] = account.ec2.describe_route_tables(Filters=main)["RouteTables"]
    endpoint = account.ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName=f"com.amazonaws.{sandbox.region}.s3", RouteTableIds=[rtb_private]
    )["VpcEndpoint"]
    account.ec2.create_tags(Resources=[rtb_public], Tags=[{"Key": "Name", "Value": "public"}])
    return {
        "vpc": vpc,
        "igw": igw,
        "nat": nat,
        "public": public,
        "private": account.subnet(vpc, rtb_private),
        "isolated": account.subnet(vpc, rtb_isolated),
        "rtb-main": rtb_main["RouteTableId"],
        "rtb-public": rtb_public,
        "rtb-private": rtb_private,
        "rtb-isolated": rtb_isolated,
        "vpce-s3": endpoint["VpcEndpointId"],
    }


@pytest.fixture
def results(sandbox: Sandbox) -> ConfigResults:
    """AWS Config's data in the sandbox's account and Region."""
    return results_of(sandbox.account_id, sandbox.region)
