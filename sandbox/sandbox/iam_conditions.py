"""Enforced permissions as IAM decides them, with the resources and conditions of policies.

moto evaluates actions only: it checks every policy for the resource `*` and ignores conditions
(moto/iam/access_control.py says so at its top). So a role limited to the resources that it needs could do nothing,
and a role limited by conditions could do everything.
"""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from moto.core.authorization import ActionAuthenticatorMixin
from moto.iam.models import Policy

from sandbox.dynamic import Moto
from sandbox.dynamodb.authorization import resource_statements
from sandbox.eventbridge.policies import bus_statements
from sandbox.iam_policies import Statement, as_list, is_allowed
from sandbox.iam_principals import principal_of
from sandbox.iam_requests import authorizations
from sandbox.patches import Patches
from sandbox.server import Sandbox
from sandbox.wire import Request, read

ALWAYS_ALLOWED = "sts:GetCallerIdentity"
"""https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html: no permission is needed."""


@contextmanager
def enforced(sandbox: Sandbox) -> Iterator[None]:
    """Require a permission for every request to a running sandbox, by resource and condition too."""
    patches = Patches()
    apply(patches)
    try:
        with sandbox.enforcing_iam():
            yield
    finally:
        patches.undo()


def apply(patches: Patches) -> None:
    """Let moto, where it enforces permissions, decide by whole statements of the caller's identity policies."""
    patches.wrap(ActionAuthenticatorMixin, "_authenticate_and_authorize_action", _authorizing)


def _authorizing(original: Moto) -> Moto:
    """Check a request with the subclass of moto's request class that evaluates policies here."""

    def authorize(response: Moto, iam_request_class: Moto, resource: str = "*") -> None:
        class Checked(iam_request_class):  # type: ignore[misc] # moto's class for requests to this service
            """A request whose caller's policies are evaluated here; moto still checks its signature."""

            def _create_aws_request(self) -> Moto:
                """Return what was signed. Of a GET without a body, moto takes the parameters in its path for one."""
                parameters = vars(self)["_data"]
                self._data = parameters if self._body or self._method != "GET" else {}
                signed = super()._create_aws_request()
                self._data = parameters
                return signed

            def check_action_permitted(self, resource: str) -> None:
                """Raise the service's own error unless everything that the request needs is allowed."""
                if not _is_permitted(self, _request(response), resource):
                    self._raise_access_denied()

        original(response, Checked, resource)

    return authorize


def _request(response: Moto) -> Request:
    """Return the request that moto is answering; its body has been read, and the sandbox's front keeps it in memory."""
    environ = response.normalized_request.environ
    return read({**environ, "wsgi.input": io.BytesIO(environ["wsgi.input"].getvalue())})


def _is_permitted(checked: Moto, request: Request, resource: str) -> bool:
    """Return whether the caller may make a request; as in moto, a role to be assumed must also trust the caller.

    Within one account, an identity policy or a resource policy is enough to allow, and either can deny
    (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-basics-single-account.html).
    """
    action = checked._action
    if action == ALWAYS_ALLOWED:
        return True
    principal = principal_of(checked)
    identity = list(_statements(checked._access_key.collect_policies()))
    for wanted in authorizations(request, action, resource):
        policy = (*resource_statements(wanted.resource), *bus_statements(wanted.resource))
        named = [statement for statement in policy if principal.is_named_by(statement)]
        if not is_allowed([*identity, *named], replace(wanted, keys={**principal.keys, **wanted.keys})):
            return False
    assumes = checked._is_assuming_role_operation(resource)
    return not assumes or bool(checked._check_role_trust_relationship(resource))


def _statements(policies: list[Any]) -> Iterator[Statement]:
    """Yield the statements of policies in each of the forms in which moto keeps them: managed, of a user, of a role."""
    for policy in policies:
        if isinstance(policy, Policy):
            [text] = [version.document for version in policy.versions if version.is_default]
        else:
            text = policy["policy_document"] if isinstance(policy, dict) else policy
        yield from as_list(json.loads(text)["Statement"])
