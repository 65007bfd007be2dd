"""The API of one account and Region, as CloudFormation calls it for a stack."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.iam.policies import Authorization
from config_rule_sandbox.iam.requests import Caller
from config_rule_sandbox.iam.resources import Place
from config_rule_sandbox.server import Sandbox

SCALARS: dict[str, Callable[[str], Any]] = {
    "boolean": json.loads,
    "double": float,
    "float": float,
    "integer": int,
    "long": int,
}
"""What makes a value out of a text, by the type that the service's model names."""


class DeniedError(Exception):
    """The caller has no permission for something that CloudFormation does with the caller's permissions."""

    def __init__(self, caller: str, wanted: Authorization) -> None:
        super().__init__(
            f"User: {caller} is not authorized to perform: {wanted.action} on resource: {wanted.resource} "
            f"because no identity-based policy allows the {wanted.action} action"
        )
        self.wanted = wanted


class Account:
    """Calls in one account and Region, with the credentials of the role that CloudFormation uses, if any.

    Without, they are not in the call log of the sandbox, and neither faults nor policies affect them.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        account_id: str,
        region: str,
        credentials: Mapping[str, str] | None = None,
        caller: Caller | None = None,
    ) -> None:
        """Make no call yet. `caller` is who deploys the stack, if permissions are enforced."""
        self.account_id = account_id
        self.region = region
        self._sandbox = sandbox
        self._credentials = credentials
        self._caller = caller

    def of_caller(self, caller: Caller | None) -> "Account":
        """Return this account with another caller."""
        return Account(self._sandbox, self.account_id, self.region, self._credentials, caller)

    @property
    def place(self) -> Place:
        """The account and Region."""
        return Place(self.account_id, self.region)

    @property
    def monitoring_account_id(self) -> str:
        """The account whose links the sandbox knows: its own."""
        return self._sandbox.account_id

    @property
    def monitored(self) -> set[tuple[str, str]]:
        """The accounts and Regions that are linked to it."""
        return self._sandbox.metrics.links

    def require(self, needed: Iterable[Authorization]) -> None:
        """Raise DeniedError unless the caller may do all this, if there is a caller."""
        if self._caller is None:
            return
        for wanted in needed:
            if not self._caller.may(wanted):
                raise DeniedError(self._caller.principal.session_arn, wanted)

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
        """Return the answer to a call such as `call("sqs", "create_queue", QueueName="a")`. ClientError if it fails.

        Texts become numbers or booleans where the operation wants them, as CloudFormation converts them.
        """
        if self._credentials:
            client = self._sandbox.client(service, self.region, self._credentials)
        else:
            client = direct_client(self._sandbox, service, self.region)
        model = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[operation])
        with acting_in(self.account_id):
            answer: dict[str, Any] = getattr(client, operation)(**_converted(parameters, model.input_shape))
        return answer


def _converted(value: Any, shape: Shape | None) -> Any:  # noqa: ANN401  # JSON
    """Return a value with the types that a shape of the service's model asks for."""
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return {name: _converted(member, shape.members.get(name)) for name, member in value.items()}
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {name: _converted(member, shape.value) for name, member in value.items()}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_converted(member, shape.member) for member in value]
    return _scalar(value, shape.type_name) if shape else value


def _scalar(value: Any, type_name: str) -> Any:  # noqa: ANN401  # JSON
    """Return a text as the number or boolean that is wanted, and everything else as the text that is wanted."""
    if isinstance(value, str):
        return SCALARS.get(type_name, str)(value)
    return json.dumps(value) if type_name == "string" else value
