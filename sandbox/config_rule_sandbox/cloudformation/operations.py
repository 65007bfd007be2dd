"""The calls that create, update, and delete stacks, for templates with resource types that moto skips."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from moto.cloudformation.exceptions import AlreadyExistsException, ValidationError
from moto.cloudformation.responses import CloudFormationResponse, get_template_summary_response_from_template
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow

from config_rule_sandbox.cloudformation.account import Account, DeniedError
from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.cloudformation.kinds.all import KINDS
from config_rule_sandbox.cloudformation.permissions import of_object, of_transforms
from config_rule_sandbox.cloudformation.sam import transformed, transforms
from config_rule_sandbox.cloudformation.stack_sets import administrator_of
from config_rule_sandbox.cloudformation.stacks import FAILURES, Stack, create_stack, roll_back_update, update_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudformation.values import TemplateError, parameter_values
from config_rule_sandbox.dynamic import Client, Moto
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.iam.requests import caller_of
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox

NOT_UPDATABLE = (
    "CREATE_FAILED",
    "DELETE_FAILED",
    "ROLLBACK_COMPLETE",
    "ROLLBACK_FAILED",
    "UPDATE_ROLLBACK_FAILED",
)
"""Statuses in which UpdateStack refuses a stack, unless its rollback is disabled.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
"""


class ChangeSetNotFoundError(ServiceException):
    """The stack has no such change set."""

    code = "ChangeSetNotFound"
    message = "The specified change set doesn't exist."


@dataclass(slots=True)
class ChangeSet:
    """What ExecuteChangeSet will do; `nothing` says that there is nothing to do."""

    id: str
    name: str
    stack_name: str
    kind: str
    template: Mapping[str, Any]
    body: str
    parameters: Mapping[str, str]
    nothing: bool


class CloudFormation:
    """CloudFormation in the accounts and Regions of the sandbox. A template with a type that is not known here is left to moto.

    As at AWS, a stack that fails is rolled back, which DescribeStacks shows; CreateStack and UpdateStack only refuse what is
    wrong before anything is created. Everything is done when a call is answered. If stacks of StackSets take time
    (`administrator_of(...).instance_seconds`), a stack that contains a StackSet is shown as busy for as long as they take.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        """Prepare; moto is not changed yet."""
        self._sandbox = sandbox
        self._change_sets: dict[str, ChangeSet] = {}

    def apply(self, patches: Patches) -> None:
        """Serve the calls that create, update, and delete stacks."""
        calls = {
            "create_stack": self._create,
            "update_stack": self._update,
            "delete_stack": self._delete,
            "continue_update_rollback": self._continue,
            "get_template_summary": self._summarize,
            "create_change_set": self._create_change_set,
            "describe_change_set": self._describe_change_set,
            "execute_change_set": self._execute_change_set,
            "delete_change_set": self._delete_change_set,
        }
        for name, serve in calls.items():
            patches.set(CloudFormationResponse, name, self._serving(serve, vars(CloudFormationResponse).get(name)))

    def _serving(self, serve: Callable[[Moto], object], original: Moto) -> Callable[[Moto], object]:
        def answer(response: Moto) -> object:
            answered = serve(response)
            if answered is None:
                return original(response)
            return answered

        return answer

    def _create(self, response: Moto) -> object:
        """Create a stack, and answer with its ID, whether or not it failed. None if moto is to do it."""
        account, name = self._account(response), response._get_param("StackName")
        body, template = self._template(response, account)
        if not _is_known(template):
            return None
        if _stack(account, name):
            raise AlreadyExistsException(f"Stack [{name}] already exists")
        on_failure = response._get_param("OnFailure") or "ROLLBACK"
        if response._get_param("DisableRollback"):
            on_failure = "DO_NOTHING"
        given = _given(response, {})
        stack = _created(account, name, body, template, given, on_failure)
        stack.settings = {
            key: response._get_param(key) for key in ("Capabilities", "DisableRollback") if response._get_param(key)
        }
        return ActionResult({"StackId": stack.stack_id})

    def _update(self, response: Moto) -> object:
        """Update a stack, and answer with its ID, whether or not that failed. None if moto is to do it."""
        account = self._account(response)
        stack = _stack(account, response._get_param("StackName"))
        if stack is None:
            return None
        body, template = self._template(response, account, stack)
        given = _given(response, stack.parameters)
        _refuse_update(stack)
        if _changes_nothing(stack, template, given):
            raise ValidationError(message="No updates are to be performed.")
        _updated(account, stack, body, template, given)
        return ActionResult({"StackId": stack.stack_id})

    def _delete(self, response: Moto) -> object:
        """Delete a stack. None if moto is to do it."""
        account, name = self._account(response), response._get_param("StackName")
        stack = _stack(account, name)
        if stack is None:
            return EmptyResult() if _deleted(account, name) else None
        stack.account = account
        with _busy(stack, "DELETE"):
            try:
                stack.delete()
                stack.status, stack.reason = "DELETE_COMPLETE", ""
            except FAILURES as error:
                stack.status, stack.reason = "DELETE_FAILED", str(error)
        return EmptyResult()

    def _continue(self, response: Moto) -> object:
        """Continue the rollback of an update (ContinueUpdateRollback)."""
        account = self._account(response)
        stack = _stack(account, response._get_param("StackName"))
        if stack is None:
            raise ValidationError(response._get_param("StackName"))
        if stack.status != "UPDATE_ROLLBACK_FAILED":
            message = f"Stack:{stack.stack_id} is in {stack.status} state and can not continue rolling back update."
            raise ValidationError(message=message)
        with _busy(stack, "UPDATE_ROLLBACK"):
            roll_back_update(stack, response._get_param("ResourcesToSkip") or ())
        return ActionResult({})

    def _summarize(self, response: Moto) -> object:
        """Answer with the parameters and types of a stack's template (GetTemplateSummary). None if moto is to do it."""
        stack = _stack(self._account(response), response._get_param("StackName") or "")
        if stack is None:
            return None
        return ActionResult(get_template_summary_response_from_template(json.dumps(stack.template, default=str)))

    def _create_change_set(self, response: Moto) -> object:
        """Keep what is to be created or updated; nothing to do is a failed change set. None if moto is to do it."""
        account, name = self._account(response), response._get_param("StackName")
        stack = _stack(account, name)
        body, template = self._template(response, account, stack)
        if not _is_known(template):
            return None
        kind = response._get_param("ChangeSetType") or "UPDATE"
        given = _given(response, stack.parameters if stack else {})
        if kind == "UPDATE":
            if stack is None:
                raise ValidationError(name)
            _refuse_update(stack)
        elif stack:
            raise AlreadyExistsException(f"Stack [{name}] already exists")
        try:
            parameter_values(template.get("Parameters", {}), given)
        except TemplateError as error:
            raise ValidationError(message=str(error)) from error
        nothing = stack is not None and _changes_nothing(stack, template, given)
        change_set_name = str(response._get_param("ChangeSetName"))
        arn = Stack(name, account).stack_id.rpartition(":stack/")[0]
        made = ChangeSet(
            f"{arn}:changeSet/{change_set_name}/{uuid4()}", change_set_name, name, kind, template, body, given, nothing
        )
        self._change_sets[made.id] = made
        return ActionResult({"Id": made.id, "StackId": stack.stack_id if stack else Stack(name, account).stack_id})

    def _describe_change_set(self, response: Moto) -> object:
        found = self._change_set(response)
        if found is None:
            return None
        status = "FAILED" if found.nothing else "CREATE_COMPLETE"
        return ActionResult(
            {
                "ChangeSetId": found.id,
                "ChangeSetName": found.name,
                "StackName": found.stack_name,
                "Status": status,
                "StatusReason": "The submitted information didn't contain changes." if found.nothing else None,
                "ExecutionStatus": "UNAVAILABLE" if found.nothing else "AVAILABLE",
                "Changes": [],
                "Parameters": dict(found.parameters),  # moto makes a list of it
                "CreationTime": utcnow(),
            }
        )

    def _execute_change_set(self, response: Moto) -> object:
        found, account = self._change_set(response), self._account(response)
        if found is None:
            return None
        del self._change_sets[found.id]
        stack = _stack(account, found.stack_name)
        if found.kind == "CREATE":
            _created(account, found.stack_name, found.body, found.template, found.parameters, "ROLLBACK")
        elif stack:
            _updated(account, stack, found.body, found.template, found.parameters)
        return EmptyResult()

    def _delete_change_set(self, response: Moto) -> object:
        found = self._change_set(response)
        if found is None:
            return None
        del self._change_sets[found.id]
        return EmptyResult()

    def _change_set(self, response: Moto) -> ChangeSet | None:
        name, stack_name = response._get_param("ChangeSetName"), response._get_param("StackName")
        for found in self._change_sets.values():
            if name == found.id or (name == found.name and stack_name == found.stack_name):
                return found
        return None

    def _account(self, response: Moto) -> Account:
        """Return the account and Region of a request, with its caller."""
        return Account(self._sandbox, str(response.current_account), str(response.region), None, caller_of(response))

    def _template(self, response: Moto, account: Account, stack: Stack | None = None) -> tuple[str, dict[str, Any]]:
        """Return the text of a request's template, and the template without transforms.

        ValidationError if the caller may not read or transform it.
        """
        s3: Client = direct_client(self._sandbox, "s3", account.region)

        def read_as_caller(address: str) -> bytes:
            where = urlsplit(address)
            bucket, key = where.netloc.split(".")[0], where.path[1:]
            account.require([of_object(bucket, key, account.place)])
            with acting_in(account.account_id):
                return bytes(s3.get_object(Bucket=bucket, Key=key)["Body"].read())

        body, url = response._get_param("TemplateBody") or "", response._get_param("TemplateURL")
        if not body and not url and stack and response._get_param("UsePreviousTemplate"):
            return stack.body, dict(stack.template)
        try:
            body = read_as_caller(url).decode() if url else body
            template = read(body)
            account.require(of_transforms(transforms(template), account.place))
            return body, transformed(template, read_as_caller) if "Transform" in template else template
        except (DeniedError, *FAILURES) as error:
            raise ValidationError(message=str(error)) from error


def _is_known(template: Mapping[str, Any]) -> bool:
    return all(resource["Type"] in KINDS for resource in template.get("Resources", {}).values())


def _stack(account: Account, name: str) -> Stack | None:
    """Return the stack with a name or an ID, unless it is deleted or moto has it."""
    for stack in created_stacks(account.account_id, account.region):
        if name in (stack.name, stack.stack_id) and stack.status != "DELETE_COMPLETE":
            found: Stack = stack
            return found
    return None


def _deleted(account: Account, name: str) -> bool:
    return any(name == stack.stack_id for stack in created_stacks(account.account_id, account.region))


def _given(response: Moto, previous: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a request, some with the values that they have; without one, the default counts."""
    given: dict[str, str] = {}
    for row in response._get_param("Parameters") or ():
        name = row["ParameterKey"]
        if not row.get("UsePreviousValue"):
            given[name] = row["ParameterValue"]
        elif name in previous:
            given[name] = previous[name]
    return given


def _refuse_update(stack: Stack) -> None:
    status = stack.shown_status
    if status in NOT_UPDATABLE or status.endswith("_IN_PROGRESS"):
        raise ValidationError(message=f"Stack:{stack.stack_id} is in {status} state and can not be updated.")


def _changes_nothing(stack: Stack, template: Mapping[str, Any], given: Mapping[str, str]) -> bool:
    """Return whether a template and its parameters are those of a stack, so that there is no update."""
    try:
        values = parameter_values(template.get("Parameters", {}), given)
    except TemplateError as error:
        raise ValidationError(message=str(error)) from error
    texts = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in values.items()}
    return template == stack.template and texts == stack.parameters


def _created(
    account: Account, name: str, body: str, template: Mapping[str, Any], given: Mapping[str, str], on_failure: str
) -> Stack:
    """Create a stack, and keep it, also if it failed. ValidationError if it is refused."""
    stacks = created_stacks(account.account_id, account.region)
    stacks[:] = [stack for stack in stacks if stack.name != name or stack.status != "DELETE_COMPLETE"]
    busy = Stack(name, account)
    with _busy(busy, "CREATE"):
        try:
            stack = create_stack(account, name, template, given, keep=on_failure == "DO_NOTHING")
        except (TemplateError, *FAILURES) as error:
            raise ValidationError(message=str(error)) from error
    stack.busy_until, stack.busy_with, stack.body = busy.busy_until, busy.busy_with, body
    if stack.failure:
        stacks.append(stack)
        if on_failure == "DELETE" and stack.status == "ROLLBACK_COMPLETE":
            stack.status = "DELETE_COMPLETE"
    return stack


def _updated(account: Account, stack: Stack, body: str, template: Mapping[str, Any], given: Mapping[str, str]) -> None:
    """Update a stack, which is rolled back if that fails. ValidationError if it is refused."""
    stack.account = account
    with _busy(stack, "UPDATE"):
        try:
            failure = update_stack(stack, template, given)
        except TemplateError as error:
            raise ValidationError(message=str(error)) from error
    if not failure:
        stack.body = body


@contextmanager
def _busy(stack: Stack, action: str) -> Iterator[None]:
    """Let a stack seem to be busy for as long as the operations of StackSets in it take."""
    administrator = administrator_of(stack.account.account_id, stack.account.region)
    before, administrator.is_waited_for = administrator.seconds, True
    try:
        yield
    finally:
        administrator.is_waited_for = False
    stack.busy_until, stack.busy_with = monotonic() + administrator.seconds - before, f"{action}_IN_PROGRESS"
