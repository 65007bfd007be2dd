"""Who makes a request, as policies see the caller: condition keys of the principal, and the element Principal.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html,
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html
"""

from collections.abc import Mapping
from dataclasses import dataclass

from moto.iam.access_control import AssumedRoleAccessKey
from moto.iam.models import iam_backends

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.iam.policies import Statement, UnsupportedPolicyError, as_list

ANYONE = "*"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: the ARN of its user or role with its path, and for an assumed role the ARN of the session."""

    arn: str
    session_arn: str
    account_id: str

    @property
    def keys(self) -> Mapping[str, list[str]]:
        """The condition keys that every request of this principal brings.

        For an assumed role, aws:PrincipalArn is the ARN of the role:
        https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-principalarn
        """
        return {
            "aws:PrincipalArn": [self.arn],
            "aws:PrincipalAccount": [self.account_id],
            "aws:PrincipalIsAWSService": ["false"],
        }

    def is_named_by(self, statement: Statement, *, of_account: bool = False) -> bool:
        """Return whether the Principal of a resource policy's statement names this caller.

        A statement that allows an account only delegates the decision to the identity policies of that account, so
        it allows nothing by itself, unless `of_account`: then they were asked. UnsupportedPolicyError for NotPrincipal.
        """
        if "Principal" not in statement:
            raise UnsupportedPolicyError("a resource policy without Principal", statement)
        principal = statement["Principal"]
        named = [ANYONE] if principal == ANYONE else as_list(principal.get("AWS", []))
        account = {self.account_id, f"{':'.join(self.arn.split(':')[:5])}:root"}
        accepted = {ANYONE, self.arn, self.session_arn}
        accepted |= account if of_account or statement["Effect"] == "Deny" else set()
        return not accepted.isdisjoint(named)


def principal_of(checked: Moto) -> Principal:
    """Return who owns the access key of a request that moto checks."""
    key = checked._access_key
    return Principal(_owner(key).arn, key.arn, key.account_id)


def boundary_of(checked: Moto) -> list[Moto] | None:
    """Return the policy that is the permissions boundary of who makes a request; None without one, and none if it is gone.

    moto keeps the boundaries of roles, and none of users.
    """
    key = checked._access_key
    arn = getattr(_owner(key), "permissions_boundary_arn", None)
    if not arn:
        return None
    policy = iam_backends[key.account_id][key.partition].managed_policies.get(arn)
    return [policy] if policy else []


def _owner(key: Moto) -> Moto:
    """Return the role or user of an access key."""
    backend: Moto = iam_backends[key.account_id][key.partition]
    if isinstance(key, AssumedRoleAccessKey):
        return backend.get_role(key._owner_role_name)
    return backend.get_user(key._owner_user_name)
