"""Turn AWS Network Firewall's descriptions into records: which endpoints are a firewall's, and whether it translates.

Field names are those of the botocore model of network-firewall.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from express_path.domain.network.resources import Firewall
from express_path.errors import RecordError
from express_path.fields import Description, identifier, nested, optional_identifier, rows


def firewalls(described: Iterable[Description], associations: Iterable[Description] = ()) -> dict[str, Firewall]:
    """Join answers of DescribeFirewall and of DescribeVpcEndpointAssociation into records by ARN.

    An association whose firewall is not described adds nothing, because it does not say whether the firewall
    translates. Raise RecordError.
    """
    associated: dict[str, list[str]] = {}
    for answer in associations:
        arn = association_firewall(answer)
        status = nested(answer, "VpcEndpointAssociationStatus", arn)
        associated.setdefault(arn, []).extend(_endpoint_ids(status, "AssociationSyncState", arn).values())
    records = [_firewall(answer) for answer in described]
    return {
        record.arn: replace(record, endpoint_ids=(*record.endpoint_ids, *associated.get(record.arn, ())))
        for record in records
    }


def association_firewall(answer: Description) -> str:
    """Return the ARN of the firewall that an answer of DescribeVpcEndpointAssociation names. Raise RecordError."""
    return identifier(_required(answer, "VpcEndpointAssociation"), "FirewallArn", "VpcEndpointAssociation")


def _firewall(answer: Description) -> Firewall:
    """Return the record of an answer of DescribeFirewall.

    ProxySettings or NatGatewayAttachments show a NAT/Proxy firewall, which translates unless its
    TransparentFilteringNatScope is NAT_NONE
    (https://docs.aws.amazon.com/network-firewall/latest/developerguide/nfw-proxy-concepts.html).
    """
    firewall = _required(answer, "Firewall")
    arn = identifier(firewall, "FirewallArn", "Firewall")
    status = nested(answer, "FirewallStatus", arn)
    endpoint_ids = _endpoint_ids(status, "SyncStates", arn)
    gateways = {
        zone: [optional_identifier(row, "NatGatewayId", arn) for row in rows(state, "NatGatewayAttachments", arn)]
        for zone, state in _zones(status, "SyncStates", arn)
    }
    is_proxy = bool(nested(firewall, "ProxySettings", arn)) or any(gateways.values())
    scope = optional_identifier(firewall, "TransparentFilteringNatScope", arn)
    return Firewall(
        arn=arn,
        endpoint_ids=tuple(endpoint_ids.values()),
        is_proxy=is_proxy,
        translates=is_proxy and scope != "NAT_NONE",
        nat_gateway_ids={
            endpoint_id: gateways[zone][0] for zone, endpoint_id in endpoint_ids.items() if any(gateways[zone])
        },
    )


def _endpoint_ids(status: Description, field: str, arn: str) -> dict[str, str]:
    """Return the id of the endpoint in each zone that has one: an endpoint that is being created has none yet."""
    found = {
        zone: optional_identifier(nested(state, "Attachment", arn), "EndpointId", arn)
        for zone, state in _zones(status, field, arn)
    }
    return {zone: endpoint_id for zone, endpoint_id in found.items() if endpoint_id}


def _zones(status: Description, field: str, arn: str) -> Iterator[tuple[str, Description]]:
    """Yield the state of each Availability Zone."""
    states = nested(status, field, arn)
    for zone in states:
        yield zone, nested(states, zone, arn)


def _required(answer: Description, field: str) -> Description:
    found = nested(answer, field, field)
    if not found:
        raise RecordError(field, field, answer.get(field), "an object")
    return found
