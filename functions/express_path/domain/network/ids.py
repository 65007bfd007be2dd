"""The forms of the ids of AWS's resources. Everything that is read is checked, because messages and commands contain ids."""

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""Characters that no id contains, and that a terminal would interpret if a dump contained them."""
_ARN = r"arn:[A-Za-z0-9_:/.*@+=,-]+"
_REST = r"(-[0-9a-z]+)+"
"""What follows the prefix of an id. AWS uses hexadecimal digits; dumps that people make anonymous have words."""
_PREFIXES = {
    "subnetId": "subnet",
    "vpcId": "vpc",
    "routeTableId": "rtb",
    "vpcEndpointId": "vpce",
    "natGatewayId": "nat",
    "networkInterfaceId": "eni",
    "instanceId": "i",
    "prefixListId": "pl",
    "destinationPrefixListId": "pl",
    "internetGatewayId": "igw",
    "egressOnlyInternetGatewayId": "eigw",
    "carrierGatewayId": "cagw",
    "localGatewayId": "lgw",
    "vpcPeeringConnectionId": "pcx",
    "transitGatewayId": "tgw",
    "transitGatewayAttachmentId": "tgw-attach",
    "transitGatewayRouteTableId": "tgw-rtb",
    "groupId": "sg",
    "networkAclId": "acl",
}
FORMS = {
    **{
        field: (re.compile(rf"{prefix}{_REST}"), f"an id such as {prefix}-0a1b2c3d4e5f60718")
        for field, prefix in _PREFIXES.items()
    },
    "gatewayId": (
        re.compile(rf"local|[a-z]+{_REST}|{_ARN}"),
        "local, or an id such as igw-0a1b2c3d4e5f60718",
    ),
    "resourceId": (re.compile(rf"[A-Za-z0-9_./-]+|{_ARN}"), "an id such as vpc-0a1b2c3d4e5f60718"),
    "accountId": (re.compile("[0-9]{12}"), "the 12 digits of an account"),
    "ownerId": (re.compile("[0-9]{12}|AWS|amazon[a-z-]*"), "the 12 digits of an account"),
    **dict.fromkeys(("region", "awsRegion"), (re.compile("[a-z]{2,}(-[a-z]+)+-[0-9]+"), "a Region such as eu-west-1")),
    "availabilityZoneId": (re.compile("[a-z0-9-]+"), "an Availability Zone ID such as use1-az4"),
    "serviceName": (re.compile(r"[A-Za-z0-9_.-]+"), "a service name such as com.amazonaws.us-east-1.s3express"),
    **dict.fromkeys(("runId", "undoRunId"), (re.compile("[0-9A-Za-z-]+"), "the id of an automation execution")),
    "coreNetworkArn": (re.compile(_ARN), "an ARN"),
    "odbNetworkArn": (re.compile(_ARN), "an ARN"),
}
"""The forms of ids, and what messages call them, by the field that holds them, whose first letter may be a capital.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
"""

FORMS.update({field[0].upper() + field[1:]: form for field, form in FORMS.items()})


def wrong_form(text: str, field: str) -> str:
    """Return what is allowed if a string does not have the form of the field's ids, else an empty string.

    A field that holds no ids may contain any string without control characters.
    """
    form, allowed = FORMS.get(field, (None, "a string without control characters"))
    has_form = form.fullmatch(text) if form else text.isprintable() or not _CONTROL.search(text)
    return "" if has_form else allowed
