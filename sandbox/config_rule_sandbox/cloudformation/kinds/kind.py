"""Types whose properties are the parameters of the call that creates them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.values import Created

LONGEST_LOGICAL_ID = 24
Properties = dict[str, Any]
Create = Callable[[Account, str, Properties], Created]
"""Create a resource. The text is a name for it if its properties have none."""

Delete = Callable[[Account, str, Properties], None]
"""Delete the resource with a physical ID."""

Update = Callable[[Account, str, Properties, Properties], None]
"""Update the resource with a physical ID from its earlier properties to its new ones."""


class NotStabilizedError(Exception):
    """What a handler began did not succeed. The resource exists if it has a physical ID, so a rollback deletes or updates it.

    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract-errors.html
    """

    def __init__(self, message: str, physical_id: str) -> None:
        super().__init__(message)
        self.physical_id = physical_id


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource type. Without `update`, it can only be created, replaced, and deleted here."""

    create: Create
    delete: Delete
    update: Update | None = None


def shortened(name: str, longest: int) -> str:
    """Return a name that CloudFormation makes up with at most so many characters.

    It begins with the stack's name, has the logical ID, and ends in what makes it unique. How AWS shortens the first two
    is not documented.
    """
    if len(name) <= longest:
        return name
    stack, logical_id, unique = name.rsplit("-", 2)
    end = f"-{logical_id[:LONGEST_LOGICAL_ID]}-{unique}"
    return stack[: longest - len(end)] + end


def putting(put: Callable[[Account, Properties], None], delete: Delete, named_by: str = "") -> Kind:
    """Return a type that one call creates and updates. A property is the physical ID, or else the name."""

    def create(account: Account, name: str, properties: Properties) -> Created:
        put(account, properties)
        return Created(properties[named_by] if named_by else name)

    def update(account: Account, _physical_id: str, _earlier: Properties, properties: Properties) -> None:
        put(account, properties)

    return Kind(create, delete, update)


def deleting(service: str, operation: str, parameter: str) -> Delete:
    """Return what deletes a resource by one call, whose parameter is the physical ID."""

    def delete(account: Account, physical_id: str, _properties: Properties) -> None:
        account.call(service, operation, **{parameter: physical_id})

    return delete


def calling(service: str, create: str, key: str, delete: str = "") -> Kind:
    """Return a type with the calls that create and delete a resource, and the key of its ID in their parameters.

    Without a key, the name is the ID. Without `delete`, the resource goes with another one.
    """

    def make(account: Account, name: str, properties: Properties) -> Created:
        tags = properties.pop("Tags", [])
        made = account.call(service, create, **properties)
        found = [made, *(value for value in made.values() if isinstance(value, dict))]
        physical_id = next((one[key] for one in found if key in one), properties.get(key, name))
        if tags:
            account.call(service, "create_tags", Resources=[physical_id], Tags=tags)
        return Created(physical_id, {key: physical_id})

    def remove(account: Account, physical_id: str, properties: Properties) -> None:
        if delete:
            account.call(service, delete, **({key: physical_id} if key else properties))

    return Kind(make, remove)
