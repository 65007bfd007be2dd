"""Small dumps in the format of the AWS CLI."""

import json
from pathlib import Path

from express_path_cli.sources.dump import REQUIRED

ACCOUNT, REGION = "111122223333", "us-east-1"
INTERFACE = {"NetworkInterfaceId": "eni-1", "SubnetId": "subnet-1", "SourceDestCheck": True}
MANAGED = {
    "PrefixListId": "pl-1",
    "PrefixListName": "own",
    "AddressFamily": "IPv4",
    "OwnerId": ACCOUNT,
    "MaxEntries": 5,
}
ATTACHMENT = {
    "TransitGatewayAttachmentId": "tgw-attach-1",
    "TransitGatewayId": "tgw-1",
    "ResourceType": "vpc",
    "ResourceId": "vpc-1",
    "State": "available",
    "Association": {"TransitGatewayRouteTableId": "tgw-rtb-1", "State": "associated"},
}


def write(path: Path, document: object) -> Path:
    """Write a document as JSON, or a text unchanged, and create its parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def empty_dump(folder: Path, account: str = ACCOUNT, region: str = REGION, **lists: list) -> Path:
    """Write a dump. Required lists are empty unless given, and every Region has AWS's prefix lists."""
    own_list = {"PrefixListId": "pl-63a5400a", "PrefixListName": f"com.amazonaws.{region}.s3", "Cidrs": ["3.5.0.0/19"]}
    lists.setdefault("PrefixLists", [own_list])
    write(folder / "identity.json", {"UserId": "AIDA", "Account": account, "Arn": "arn", "Region": region})
    for file in REQUIRED:
        write(folder / file.name, {file.field: lists.get(file.field, [])})
    return folder
