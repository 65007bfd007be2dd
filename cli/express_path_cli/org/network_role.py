"""Check whether the role in the network account trusts the roles that the stacks of an organization create."""

from collections.abc import Callable
from dataclasses import dataclass

from express_path.adapters.aws import Aws, calling
from express_path.errors import ApiError
from express_path_cli.org.members import Organization
from express_path_cli.org.reasons import CheckReason, Problem
from express_path_cli.org.trust_policy import Document, Principal, trusts
from express_path_cli.terminal.errors import OptionError

ROLE_PATH = "/express-path/"
"""The path of the roles that the stacks create. Their names are generated."""


@dataclass(frozen=True, slots=True)
class NetworkRole:
    """The role in the network account: its ARN, and the external ID that the rule passes, empty for none."""

    arn: str
    external_id: str = ""

    @property
    def account_id(self) -> str:
        """The network account (12 digits)."""
        return self.arn.split(":")[4]

    @property
    def name(self) -> str:
        """The role's name, without its path."""
        return self.arn.rpartition("/")[2]


Trust = Callable[[str], Problem | None]
"""Return the problem of an account whose roles are not trusted, or None. Raise OptionError if that is unknown."""


def read_trust(role: NetworkRole, organization: Organization, aws: Aws) -> Trust:
    """Read the trust policy of the role with clients of the network account. Raise ApiError."""
    try:
        with calling("iam:GetRole"):
            # botocore decodes the document
            policy = aws.client("iam").get_role(RoleName=role.name)["Role"]["AssumeRolePolicyDocument"]
    except ApiError as error:
        if error.code != "NoSuchEntity":
            raise
        missing = Problem(CheckReason.NETWORK_ROLE_UNTRUSTED, f"the network role {role.arn} does not exist")
        return lambda _: missing
    return lambda account_id: _problem(role, policy, organization, account_id)


def _problem(role: NetworkRole, policy: Document, organization: Organization, account_id: str) -> Problem | None:
    partition = role.arn.split(":")[1]
    example = f"arn:{partition}:iam::{account_id}:role{ROLE_PATH}express-path-EvaluateRole-EXAMPLE"
    answer = trusts(policy, Principal(account_id, organization.id, example, role.external_id))
    if answer is None:
        raise OptionError(
            f"the trust policy of {role.arn} contains conditions that are not evaluated here",
            f"check that it trusts {example}",
        )
    if answer:
        return None
    passing = "with" if role.external_id else "without"
    return Problem(
        CheckReason.NETWORK_ROLE_UNTRUSTED,
        f"the network role {role.arn} does not trust the roles of account {account_id} with the path {ROLE_PATH}, "
        f"{passing} an external ID",
    )
