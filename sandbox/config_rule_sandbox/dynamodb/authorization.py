"""What each request to DynamoDB is authorized on, and the resource policies of tables.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
"""

import json
import re
from collections.abc import Iterator

from moto.dynamodb.models import dynamodb_backends

from config_rule_sandbox.http.wire import Request
from config_rule_sandbox.iam.policies import Authorization, Statement, as_list

PARTIQL = re.compile(
    r"""(?P<verb>SELECT|INSERT|UPDATE|DELETE)\b(?:.*?\b(?:FROM|INTO))?\s+["']?(?P<table>[\w.-]+)["']?"""
    r"""(?:\s*\.\s*["'](?P<index>[\w.-]+)["'])?""",
    re.IGNORECASE | re.DOTALL,
)
"""The verb, the table, and the index of a PartiQL statement.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

TRANSACTED = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "Get": "GetItem",
    "ConditionCheck": "ConditionCheckItem",
}
"""The actions that the parts of transactions need.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
"""

ENCLOSING = "dynamodb:EnclosingOperation"
LEADING_KEYS = "dynamodb:LeadingKeys"
"""The partition keys of the items of a request. Given here only for requests about one item.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
"""


class UnreadableStatementError(Exception):
    """A PartiQL statement whose verb and table are not recognized here."""


def authorizations(request: Request) -> Iterator[Authorization]:
    """Yield what a request to DynamoDB needs, one for each table, index, or part."""
    given, operation = request.parameters, request.operation
    if "TransactItems" in given:
        for item in given["TransactItems"]:
            [(kind, part)] = item.items()
            yield _on(request, TRANSACTED[kind], part["TableName"], enclosing=operation)
    elif "RequestItems" in given:
        yield from (_on(request, operation, table) for table in given["RequestItems"])
    elif statements := [*_statements(request)]:
        yield from statements
    elif "ResourceArn" in given:
        yield Authorization(f"dynamodb:{operation}", given["ResourceArn"])
    elif "TableName" in given:
        yield _on(request, operation, given["TableName"], given.get("IndexName"))
        if operation == "CreateTable" and "ResourcePolicy" in given:
            yield _on(request, "PutResourcePolicy", given["TableName"])
    else:
        yield Authorization(f"dynamodb:{operation}")


def resource_statements(resource: str) -> Iterator[Statement]:
    """Yield the statements of the policy of the table that an ARN names, or whose index it names."""
    if not re.match(r"arn:[\w-]+:dynamodb:", resource):
        return
    _, _, _, region, account_id, _ = resource.split(":", 5)
    table = "/".join(resource.split("/")[:2])
    found = dynamodb_backends[account_id][region].resource_policies.get(table)
    if found is not None:
        yield from as_list(json.loads(found.policy_doc)["Statement"])


def _statements(request: Request) -> Iterator[Authorization]:
    """Yield the authorizations of the PartiQL statements of a request.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html
    """
    given = request.parameters
    entries = [given] if "Statement" in given else [*given.get("Statements", []), *given.get("TransactStatements", [])]
    for entry in entries:
        found = PARTIQL.search(entry["Statement"])
        if found is None:
            raise UnreadableStatementError(entry["Statement"])
        enclosing = request.operation if "TransactStatements" in given else None
        verb = f"PartiQL{found['verb'].capitalize()}"
        yield _on(request, verb, found["table"], found["index"], enclosing=enclosing)


def _on(
    request: Request, operation: str, table: str, index: str | None = None, *, enclosing: str | None = None
) -> Authorization:
    """Return an action on a table, given by its name or ARN, or on an index of it."""
    arn = table if ":" in table else request.arn("dynamodb", f"table/{table}")
    keys = {ENCLOSING: [enclosing]} if enclosing else {}
    keys |= _leading_keys(request, arn.rpartition("/")[2])
    return Authorization(f"dynamodb:{operation}", f"{arn}/index/{index}" if index else arn, keys)


def _leading_keys(request: Request, table_name: str) -> dict[str, list[str]]:
    """Return the partition key of the one item that a request names; empty for other requests."""
    item = request.parameters.get("Key") or request.parameters.get("Item")
    table = dynamodb_backends[request.account_id][request.region].tables.get(table_name)
    if not item or table is None:
        return {}
    return {LEADING_KEYS: [str(value) for value in item.get(table.hash_key_attr, {}).values()]}
