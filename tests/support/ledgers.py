"""A ledger in a sandbox, with items like those that heals write."""

import json
import time
from hashlib import sha256
from typing import Any

from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox
from tests.support.network import Builder

LEDGER = "express-path-ledger"
MANAGED = [{"Key": "express-path:managed", "Value": "true"}]
TIME = "2026-11-22T12:00:00+00:00"
SEEN = {"seenEndpointOwner": "NONE", "seenTableOwner": "NONE", "seenPolicy": "NONE"}
"""What the item of a heal says that it saw before its association, if nobody owned anything."""


def delete_protected(dynamodb: Any, name: str) -> None:  # a client of boto3
    """Delete a table without its protection, as docs/deploy.md says: a table that is UPDATING is not deleted."""
    dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
    wait_for(dynamodb, name)
    dynamodb.delete_table(TableName=name)


def wait_for(dynamodb: Any, name: str) -> None:  # a client of boto3
    """Wait until a table is no longer UPDATING."""
    dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})


def heal_id(number: int) -> str:
    """Return the id of a heal's run."""
    return f"00000000-0000-0000-0000-{number:012}"


class LedgerTable:
    """The ledger's DynamoDB table."""

    def __init__(self, sandbox: Sandbox, name: str = LEDGER) -> None:
        """Create the table."""
        self.sandbox = sandbox
        self.name = name
        self.dynamodb: Any = direct_client(sandbox, "dynamodb")
        self.dynamodb.create_table(
            TableName=self.name,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def item(self, item_id: str) -> dict[str, Any]:
        """Return an item's attributes without their types, or an empty dict if there is no such item."""
        found = self.dynamodb.get_item(TableName=self.name, Key={"id": {"S": item_id}}).get("Item", {})
        return {name: next(iter(value.values())) for name, value in found.items()}

    def items(self, prefix: str) -> list[dict[str, Any]]:
        """Return every item whose id starts with a prefix, sorted by id."""
        found = self.dynamodb.scan(TableName=self.name)["Items"]
        return [self.item(key) for key in sorted(item["id"]["S"] for item in found) if key.startswith(prefix)]

    def write(self, item_id: str, **values: object) -> None:
        """Set attributes of an item: strings, integers, booleans, and sets of strings; None removes one."""
        item = self.dynamodb.get_item(TableName=self.name, Key={"id": {"S": item_id}}).get("Item", {})
        item |= {"id": {"S": item_id}} | {name: _attribute(value) for name, value in values.items() if value}
        for name in (name for name, value in values.items() if value is None):
            item.pop(name, None)
        self.dynamodb.put_item(TableName=self.name, Item=item)

    def write_heal(self, run_id: str, vpc_id: str, table_id: str, endpoint_id: str, *, created: bool) -> None:
        """Write the items of a completed heal that saw no owners."""
        where = {"vpcId": vpc_id, "subnetId": "subnet-0a1b2c3d4e5f60718", "endpointId": endpoint_id}
        times = {"startedAt": TIME, "intendedAt": TIME, "associatedAt": TIME, "finishedAt": TIME}
        seen = SEEN | {"seenPolicy": self._policy(endpoint_id)}
        common = {"kind": "HEAL", "startedBy": "PERSON", "accountId": self.sandbox.account_id, "routeTableId": table_id}
        self.write(f"RUN#{run_id}", **common, **where, **times, **seen, createdEndpoint=created)
        expired = int(time.time()) + 600
        self.write(f"TABLE#{table_id}", state="HEALED", runId=run_id, healRunId=run_id, expiresAt=expired, **where)
        if created:
            known = set(self.item(f"VPC#{vpc_id}").get("createdIds", ()))
            self.write(f"RUN#{run_id}", creationIntendedAt=TIME)
            creators = set(self.item(f"VPC#{vpc_id}").get("creatorRuns", ())) | {run_id}
            created_ids = known | {endpoint_id}
            self.write(f"VPC#{vpc_id}", tokenRun=run_id, generation=1, createdIds=created_ids, creatorRuns=creators)

    def _policy(self, endpoint_id: str) -> str:
        """Return what a heal records of an endpoint's policy."""
        of_id = [{"Name": "vpc-endpoint-id", "Values": [endpoint_id]}]
        ec2: Any = direct_client(self.sandbox, "ec2")
        for endpoint in ec2.describe_vpc_endpoints(Filters=of_id)["VpcEndpoints"]:
            text = json.dumps(json.loads(endpoint["PolicyDocument"]), sort_keys=True, separators=(",", ":"))
            return sha256(text.encode()).hexdigest()
        return "NONE"

    def heal(self, builder: Builder, vpc_id: str, table_id: str, number: int = 1, endpoint_id: str = "") -> str:
        """Heal a route table in the ledger as a run does, by default with a new endpoint, and return the run's id."""
        run_id = heal_id(number)
        created = endpoint_id or builder.endpoint(vpc_id, TagSpecifications=_tagged(MANAGED))
        builder.ec2.modify_vpc_endpoint(VpcEndpointId=created, AddRouteTableIds=[table_id])
        self.write_heal(run_id, vpc_id, table_id, created, created=not endpoint_id)
        return run_id


def _tagged(tags: list[dict[str, str]]) -> list[dict[str, Any]]:
    return [{"ResourceType": "vpc-endpoint", "Tags": tags}]


def _attribute(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    return {"SS": sorted(value)} if isinstance(value, set | frozenset) else {"S": str(value)}
