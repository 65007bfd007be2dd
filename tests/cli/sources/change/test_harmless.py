"""The allow-list of resource types, compared with every type of the installed provider."""

import json
from pathlib import Path

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from config_rule_sandbox.server import Sandbox
from express_path_cli.sources.change.families import MODELLED
from express_path_cli.sources.change.harmless import changes_nothing, is_harmless
from express_path_cli.sources.change.resource import OPEN, Action, Arguments, Resource
from tests.support.terraform import Workspace, needs_terraform

MAY_TOUCH = """
    aws_autoscaling_ aws_autoscalingplans_ aws_cloudcontrolapi_ aws_cloudformation_ aws_config_conformance_pack
    aws_config_organization_conformance_pack aws_config_remediation_configuration aws_controltower_ aws_dx_ aws_ec2_fleet
    aws_ec2_instance_state aws_ec2_local_gateway_ aws_ec2_tag aws_ec2_transit_gateway_connect_peer
    aws_ec2_transit_gateway_default_ aws_ec2_transit_gateway_peering_attachment_accepter
    aws_ec2_transit_gateway_policy_table aws_ec2_transit_gateway_vpc_attachment_accepter aws_elastic_beanstalk_environment
    aws_finspace_ aws_fms_ aws_fsx_ontap_file_system aws_fsx_openzfs_file_system aws_lambda_invocation aws_networkmanager_
    aws_network_interface_attachment aws_opsworks_ aws_organizations_ aws_ram_ aws_serverlessapplicationrepository_ aws_servicecatalog_
    aws_spot_fleet_request aws_spot_instance_request aws_ssm_association aws_ssmquicksetup_
    aws_vpc_endpoint_connection_accepter aws_vpc_ipv4_cidr_block_association aws_vpc_route_server aws_vpn_connection_route
"""
"""How the types begin that may touch a path, and that are not modelled."""
OF_EC2 = """
    ApplicationStatusCheck CarrierGateway EC2Fleet EgressOnlyInternetGateway GatewayRouteTableAssociation
    IPAMPrefixListResolver IPAMPrefixListResolverTarget IPv4Pool Instance InternetGateway IpPoolRouteTableAssociation
    LocalGatewayRoute LocalGatewayRouteTable LocalGatewayRouteTableVPCAssociation
    LocalGatewayRouteTableVirtualInterfaceGroupAssociation LocalGatewayVirtualInterface LocalGatewayVirtualInterfaceGroup
    NatGateway NetworkInterface NetworkInterfaceAttachment PrefixList Route RouteServer RouteServerAssociation
    RouteServerEndpoint RouteServerPeer RouteServerPropagation RouteTable SecondaryNetwork SpotFleet
    SqlHaStandbyDetectedInstance Subnet SubnetCidrBlock SubnetRouteTableAssociation TransitGateway TransitGatewayAttachment
    TransitGatewayConnect TransitGatewayConnectPeer TransitGatewayPeeringAttachment TransitGatewayPolicyTable
    TransitGatewayPolicyTableAssociation TransitGatewayPolicyTableEntry TransitGatewayRoute TransitGatewayRouteTable
    TransitGatewayRouteTableAssociation TransitGatewayRouteTablePropagation TransitGatewayVpcAttachment VPC
    VPCBlockPublicAccessExclusion VPCBlockPublicAccessOptions VPCCidrBlock VPCEncryptionControl VPCEndpoint
    VPCGatewayAttachment VPCPeeringConnection VPNConcentrator VPNConnection VPNConnectionRoute VPNGateway
    VPNGatewayRoutePropagation
"""
"""The types of CloudFormation in AWS::EC2 that may touch a path."""


@pytest.mark.long
def test_every_type_of_the_provider_is_in_one_class(sandbox: Sandbox, tmp_path: Path) -> None:
    """Each type is modelled, harmless, or in the list above, and in one of these only."""
    needs_terraform()
    (tmp_path / "main.tf").write_text(
        'terraform {\n  required_providers {\n    aws = { source = "hashicorp/aws" }\n  }\n}\n'
    )
    with Workspace(tmp_path, sandbox) as workspace:
        schemas = json.loads(workspace.run("providers", "schema", "-json").stdout)["provider_schemas"]
    types = schemas["registry.terraform.io/hashicorp/aws"]["resource_schemas"]
    assert len(types) > 1000
    touching = tuple(MAY_TOUCH.split())
    for name in types:
        classes = [name in MODELLED, is_harmless(name), name not in MODELLED and name.startswith(touching)]
        assert classes.count(True) == 1, (name, classes)


def test_types_of_ec2_in_cloudformation() -> None:
    """The types that may touch a path are those above. A new type does until somebody has read about it."""
    types = PROVIDER_SCHEMA_MANAGER.get_resource_types("us-east-1")
    found = {name for name in types if name.startswith("AWS::EC2::") and not is_harmless(name)}
    assert found == {f"AWS::EC2::{name}" for name in OF_EC2.split()}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "awscc_s3_bucket",
            "awscc_apigateway_rest_api",
            "awscc_ec2_security_group",
            "awscc_ec2_vpcdhcp_options_association",
        ),
        *("AWS::S3Express::DirectoryBucket", "AWS::ApiGateway::RestApi", "AWS::ElasticLoadBalancingV2::LoadBalancer"),
        *("AWS::CDK::Metadata", "AWS::CloudFormation::WaitConditionHandle", "AWS::ElasticBeanstalk::Application"),
        *("random_id", "terraform_data", "kubernetes_manifest"),
    ],
)
def test_harmless(name: str) -> None:
    """The names of a service in Terraform, in CloudFormation, and in awscc are one."""
    assert is_harmless(name)


@pytest.mark.parametrize(
    "name",
    [
        *("awscc_ec2_route", "awscc_cloudformation_stack", "awscc_fsx_file_system", "awscc_ram_resource_share"),
        *("AWS::CloudFormation::Stack", "AWS::FSx::FileSystem", "AWS::ElasticBeanstalk::Environment"),
        *("AWS::NetworkFirewall::VpcEndpointAssociation", "AWS::SSM::Association", "AWS::RefactorSpaces::Environment"),
        *("AWS::Serverless::Application", "AWS::S3::Bucket::MODULE", "Custom::S3", "My::S3::Bucket"),
        *("aws_unheard_of", "aws_s3unheard_of", "unheard_of", "aws", ""),
    ],
)
def test_may_touch_a_path(name: str) -> None:
    """What deploys anything, and what is not known, may touch a path."""
    assert not is_harmless(name)


@pytest.mark.parametrize(
    ("kind", "arguments", "expected"),
    [
        ("AWS::FSx::FileSystem", {"file_system_type": "LUSTRE"}, True),
        ("AWS::FSx::FileSystem", {"file_system_type": "WINDOWS"}, True),
        ("AWS::FSx::FileSystem", {"file_system_type": OPEN}, False),
        ("AWS::FSx::FileSystem", {"ontap_configuration": {"deployment_type": "SINGLE_AZ_1"}}, True),
        ("AWS::FSx::FileSystem", {"ontap_configuration": {"deployment_type": "MULTI_AZ_1"}}, False),
        ("AWS::FSx::FileSystem", {"open_zfsconfiguration": {"deployment_type": "SINGLE_AZ_HA_2"}}, True),
        ("aws_fsx_openzfs_file_system", {"deployment_type": "SINGLE_AZ_1"}, True),
        ("aws_fsx_openzfs_file_system", {"deployment_type": OPEN}, False),
        ("AWS::FSx::FileSystem", {}, False),
        ("aws_ram_resource_share", {"name": "x"}, False),
    ],
)
def test_a_file_system_in_one_zone_changes_nothing(kind: str, arguments: dict[str, object], expected: bool) -> None:
    """One that may be in two may change routes, also if that is what it was before."""
    none, found = Arguments("x", {}), Arguments("x", arguments)
    resource = Resource("x", kind, "x", Action.CREATE, none, found, "x")
    assert changes_nothing(resource) is expected
    before = Arguments("x", {"deployment_type": "MULTI_AZ_1"})
    assert not changes_nothing(Resource("x", kind, "x", Action.UPDATE, before, found, "x"))
