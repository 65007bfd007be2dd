"""Endpoints and network interfaces in the format of the AWS CLI."""

import json
from collections.abc import Sequence

from tests.support.network_files.vpc_rows import (
    AccountRegion,
    Row,
    Vpc,
    name_of,
    tag_list,
    with_fields,
    zone_fields,
)

FULL_ACCESS = {
    "Version": "2008-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}],
}


def gateway_endpoint_row(  # one parameter for each option of a network file
    vpc: Vpc,
    endpoint_id: str,
    *,
    service: str = "s3express",
    route_tables: Sequence[str] = (),
    ip_address_type: str = "ipv4",
    state: str = "available",
    policy: Row = FULL_ACCESS,
    fields: Row | None = None,
) -> Row:
    """Return a gateway endpoint's row of DescribeVpcEndpoints; route_tables are the tables that it lists."""
    row = {
        "VpcEndpointId": endpoint_id,
        "VpcEndpointType": "Gateway",
        "VpcId": vpc.id,
        "ServiceName": f"com.amazonaws.{vpc.place.region}.{service}",
        "State": state,
        "PolicyDocument": json.dumps(policy, separators=(",", ":")),
        "RouteTableIds": list(route_tables),
        "SubnetIds": [],
        "Groups": [],
        "IpAddressType": ip_address_type,
        "DnsOptions": {"DnsRecordIpType": "service-defined"},
        "PrivateDnsEnabled": False,
        "RequesterManaged": False,
        "NetworkInterfaceIds": [],
        "DnsEntries": [],
        "CreationTimestamp": "2026-04-11T12:40:03+00:00",
        "Tags": tag_list(endpoint_id, None),
        "OwnerId": vpc.owner,
        "ServiceRegion": vpc.place.region,
    }
    return with_fields(row, fields)


def load_balancer_endpoint_row(
    vpc: Vpc, endpoint_id: str, *, subnet: str, network_firewall_tag: bool = False, fields: Row | None = None
) -> Row:
    """Return a Gateway Load Balancer endpoint's row of DescribeVpcEndpoints; firewalls use these endpoints too."""
    firewall = {"Firewall": firewall_arn(vpc.place, "firewall"), "AWSNetworkFirewallManaged": "true"}
    row = {
        "VpcEndpointId": endpoint_id,
        "VpcEndpointType": "GatewayLoadBalancer",
        "VpcId": vpc.id,
        "ServiceName": f"com.amazonaws.vpce.{vpc.place.region}.vpce-svc-0d6a3f81c95be7240",
        "State": "available",
        "RouteTableIds": [],
        "SubnetIds": [subnet],
        "Groups": [],
        "IpAddressType": "ipv4",
        "PrivateDnsEnabled": False,
        "RequesterManaged": network_firewall_tag,
        "NetworkInterfaceIds": [f"eni-of-{endpoint_id}"],
        "DnsEntries": [],
        "CreationTimestamp": "2026-02-20T08:31:44.612000+00:00",
        "Tags": [{"Key": key, "Value": value} for key, value in firewall.items()]
        if network_firewall_tag
        else tag_list(endpoint_id, None),
        "OwnerId": vpc.owner,
        "ServiceRegion": vpc.place.region,
    }
    return with_fields(row, fields)


def firewall_arn(place: AccountRegion, name: str, owner: str = "") -> str:
    """Return the ARN of a firewall of AWS Network Firewall."""
    return place.arn("network-firewall", f"firewall/{name}", owner)


def firewall_response(
    place: AccountRegion,
    name: str,
    *,
    endpoints: Sequence[str] = (),
    proxy: bool = False,
    nat_scope: str | None = None,
    nat_gateway: str | None = None,
    owner: str = "",
) -> Row:
    """Return the answer of DescribeFirewall: endpoints are in zones a, b, ...; nat_gateway is attached in each."""
    attached = [{"NatGatewayId": nat_gateway, "Status": "READY"}] if nat_gateway else []
    zones = {
        f"{place.region}{letter}": {
            "Attachment": {"SubnetId": "subnet-of-the-firewall", "EndpointId": endpoint_id, "Status": "READY"},
            **({"NatGatewayAttachments": attached} if attached else {}),
        }
        for letter, endpoint_id in zip("abcdef", endpoints, strict=False)
    }
    firewall = {
        "FirewallName": name,
        "FirewallArn": firewall_arn(place, name, owner),
        "FirewallPolicyArn": place.arn("network-firewall", "firewall-policy/policy", owner),
        "VpcId": "vpc-of-the-firewall",
        "FirewallId": "5a2c7c1e-3f0d-4b6a-9a55-0e2f9c1d7b34",
        "ProxySettings": {"ListenerProperties": [{"Port": 3128, "Type": "HTTP"}]} if proxy else None,
        "TransparentFilteringNatScope": nat_scope,
    }
    status = {"Status": "READY", "ConfigurationSyncStateSummary": "IN_SYNC", "SyncStates": zones}
    return {"UpdateToken": "1", "Firewall": with_fields(firewall, None), "FirewallStatus": status}


def association_response(place: AccountRegion, name: str, *, firewall: str, endpoint: str, owner: str = "") -> Row:
    """Return the answer of DescribeVpcEndpointAssociation: a firewall's endpoint in another VPC."""
    association = {
        "VpcEndpointAssociationId": name,
        "VpcEndpointAssociationArn": place.arn("network-firewall", f"vpc-endpoint-association/{name}"),
        "FirewallArn": firewall_arn(place, firewall, owner),
        "VpcId": "vpc-of-the-endpoint",
        "SubnetMapping": {"SubnetId": "subnet-of-the-endpoint"},
    }
    attachment = {"SubnetId": "subnet-of-the-endpoint", "EndpointId": endpoint, "Status": "READY"}
    status = {"Status": "READY", "AssociationSyncState": {f"{place.region}a": {"Attachment": attachment}}}
    return {"VpcEndpointAssociation": association, "VpcEndpointAssociationStatus": status}


def network_interface_row(  # one parameter for each option of a network file
    place: AccountRegion,
    interface_id: str,
    *,
    vpc: str,
    subnet: str,
    source_dest_check: bool,
    instance: str | None = None,
    device_index: int = 0,
    address: str = "10.0.0.20",
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeNetworkInterfaces; without an instance, the interface is not attached."""
    host = f"ip-{address.replace('.', '-')}.ec2.internal"
    attachment = {
        "AttachTime": "2026-06-01T07:20:11+00:00",
        "AttachmentId": f"eni-attach-{name_of(interface_id)}",
        "DeleteOnTermination": True,
        "DeviceIndex": device_index,
        "NetworkCardIndex": 0,
        "InstanceId": instance,
        "InstanceOwnerId": place.account,
        "Status": "attached",
    }
    row = {
        "Attachment": attachment if instance else None,
        **zone_fields(place.region, "a"),
        "Description": name_of(interface_id),
        "Groups": [{"GroupId": f"sg-{name_of(interface_id)}", "GroupName": "forwarding"}],
        "InterfaceType": "interface",
        "Ipv6Addresses": [],
        "MacAddress": "0a:5c:1e:44:9b:d3",
        "NetworkInterfaceId": interface_id,
        "OwnerId": place.account,
        "PrivateDnsName": host,
        "PrivateIpAddress": address,
        "PrivateIpAddresses": [{"Primary": True, "PrivateDnsName": host, "PrivateIpAddress": address}],
        "RequesterManaged": False,
        "SourceDestCheck": source_dest_check,
        "Status": "in-use" if instance else "available",
        "SubnetId": subnet,
        "TagSet": tag_list(interface_id, None),
        "VpcId": vpc,
        "Operator": {"Managed": False},
    }
    return with_fields(row, fields)
