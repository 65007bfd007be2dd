"""CreateStack, UpdateStack, and DeleteStack, for templates with resource types that moto skips."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult

from config_rule_sandbox.cloudformation.account import Account, DeniedError
from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.cloudformation.kinds.all import KINDS
from config_rule_sandbox.cloudformation.permissions import of_object, of_transforms
from config_rule_sandbox.cloudformation.sam import transformed, transforms
from config_rule_sandbox.cloudformation.stacks import FAILURES, create_stack, update_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudformation.values import TemplateError
from config_rule_sandbox.dynamic import Client, Moto
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.iam.requests import caller_of
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox


class CloudFormation:
    """CloudFormation of the sandbox's account and Region. A template with a type that is not known here is left to moto.

    A stack that fails is not created or updated, and the call itself fails with ValidationError.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        """Prepare; moto is not changed yet."""
        self._account = Account(sandbox, sandbox.account_id, sandbox.region)
        self._s3: Client = direct_client(sandbox, "s3")

    def apply(self, patches: Patches) -> None:
        """Serve the calls that create, update, and delete stacks."""
        for name in ("create_stack", "update_stack", "delete_stack"):
            patches.wrap(CloudFormationResponse, name, self._serving)

    def _serving(self, original: Callable[[Moto], object]) -> Callable[[Moto], object]:
        def answer(response: Moto) -> object:
            account = self._account.of_caller(caller_of(response))
            stacks = created_stacks(self._account.account_id, self._account.region)
            name, url, body = map(response._get_param, ("StackName", "TemplateURL", "TemplateBody"))
            known = next((stack for stack in stacks if name in (stack.name, stack.stack_id)), None)
            if known:
                known.account = account
            try:
                if known and not (url or body):
                    known.delete()
                    stacks.remove(known)
                    return EmptyResult()
                template = self._template(account, url, body) if url or body else {}
            except DeniedError as error:
                raise ValidationError(message=str(error)) from error
            if not template or any(resource["Type"] not in KINDS for resource in template["Resources"].values()):
                return original(response)
            given = {row["ParameterKey"]: row["ParameterValue"] for row in response._get_param("Parameters", [])}
            try:
                if known:
                    stack, failure = known, update_stack(known, template, given)
                else:
                    stack = create_stack(account, name, template, given)
                    failure = stack.failure
            except (TemplateError, *FAILURES) as error:
                raise ValidationError(message=str(error)) from error
            if failure:
                raise ValidationError(message=str(failure))
            return ActionResult({"StackId": stack.stack_id})

        return answer

    def _template(self, account: Account, url: str | None, body: str | None) -> dict[str, Any]:
        """Return the template of a request without transforms. DeniedError if the caller may not read or transform it."""

        def read_as_caller(address: str) -> bytes:
            where = urlsplit(address)
            bucket, key = where.netloc.split(".")[0], where.path[1:]
            account.require([of_object(bucket, key, account.place)])
            return bytes(self._s3.get_object(Bucket=bucket, Key=key)["Body"].read())

        template = read(read_as_caller(url).decode() if url else body or "")
        account.require(of_transforms(transforms(template), account.place))
        return transformed(template, read_as_caller) if "Transform" in template else template
