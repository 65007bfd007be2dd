"""DescribeVpcEndpointServices (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVpcEndpointServices.html)."""

from sandbox.dynamic import Client
from sandbox.ec2.prefix_lists import REGIONS
from sandbox.refusals import refused
from sandbox.server import Sandbox

S3EXPRESS = "com.amazonaws.us-east-1.s3express"


def test_s3express_is_a_gateway_service(ec2: Client) -> None:
    """S3 Express has a gateway endpoint and no interface endpoint.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-differences.html
    """
    (detail,) = ec2.describe_vpc_endpoint_services(ServiceNames=[S3EXPRESS])["ServiceDetails"]
    assert detail["ServiceType"] == [{"ServiceType": "Gateway"}]


def test_s3express_exists_only_where_offered(sandbox: Sandbox) -> None:
    """In a Region without S3 Express, the service is unknown: InvalidServiceName."""
    client = sandbox.client("ec2", "eu-west-2")
    name = "com.amazonaws.eu-west-2.s3express"
    assert name not in client.describe_vpc_endpoint_services()["ServiceNames"]
    assert refused(lambda: client.describe_vpc_endpoint_services(ServiceNames=[name])) == "InvalidServiceName"


def test_s3express_is_a_gateway_service_in_fifteen_regions(sandbox: Sandbox) -> None:
    """Each Region that AWS lists for S3 Express One Zone has the service, under the Region's own name.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html
    """
    assert len(REGIONS) == 15
    for region in REGIONS:
        name = f"com.amazonaws.{region}.s3express"
        (detail,) = sandbox.client("ec2", region).describe_vpc_endpoint_services(ServiceNames=[name])["ServiceDetails"]
        assert detail["ServiceType"] == [{"ServiceType": "Gateway"}]


def test_filters_by_name_type_and_address_type(ec2: Client) -> None:
    """The filters service-name, service-type and supported-ip-address-types narrow the list (botocore model)."""
    gateways = {"Name": "service-type", "Values": ["Gateway"]}
    names = ec2.describe_vpc_endpoint_services(Filters=[gateways])["ServiceNames"]
    assert names == [f"com.amazonaws.us-east-1.{service}" for service in ("dynamodb", "s3", "s3express")]
    ipv6 = {"Name": "supported-ip-address-types", "Values": ["ipv6"]}
    assert ec2.describe_vpc_endpoint_services(Filters=[gateways, ipv6])["ServiceNames"] == [S3EXPRESS]
    by_name = [{"Name": "service-name", "Values": [S3EXPRESS]}]
    assert ec2.describe_vpc_endpoint_services(Filters=by_name)["ServiceNames"] == [S3EXPRESS]


def test_services_of_ones_own_have_their_tags(sandbox: Sandbox, ec2: Client) -> None:
    """The filters tag-key and tag:... compare the tags of the service. An account's own services have tags too.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ServiceDetail.html
    """
    vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    balancers = sandbox.client("elbv2").create_load_balancer(Name="appliances", Subnets=[subnet_id], Type="gateway")
    service = ec2.create_vpc_endpoint_service_configuration(
        GatewayLoadBalancerArns=[balancers["LoadBalancers"][0]["LoadBalancerArn"]],
        TagSpecifications=[{"ResourceType": "vpc-endpoint-service", "Tags": [{"Key": "team", "Value": "network"}]}],
    )["ServiceConfiguration"]
    for condition, value in (("tag-key", "team"), ("tag:team", "network")):
        by_tag = [{"Name": condition, "Values": [value]}]
        assert ec2.describe_vpc_endpoint_services(Filters=by_tag)["ServiceNames"] == [service["ServiceName"]]


def test_unknown_filter_is_refused(ec2: Client) -> None:
    """A filter that the operation does not have is an error and is never ignored."""
    unknown = [{"Name": "colour", "Values": ["blue"]}]
    assert refused(lambda: ec2.describe_vpc_endpoint_services(Filters=unknown)) == "InvalidFilter"
