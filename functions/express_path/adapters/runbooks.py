"""The names of a rule's runbooks."""

from typing import NamedTuple

from express_path.domain.verdict.parameters import RULE_NAME


class Runbooks(NamedTuple):
    """The names of a rule's runbooks: the one that heals, the one that asks for approval first, and the one that undoes."""

    heal: str
    approval: str
    undo: str


def runbooks_of(rule_name: str) -> Runbooks:
    """Return the names of a rule's runbooks, as the template gives them."""
    suffix = "" if rule_name == RULE_NAME else f"-{rule_name}"
    heal = "AddS3ExpressGatewayEndpoint"
    return Runbooks(heal + suffix, f"{heal}WithApproval{suffix}", f"RemoveS3ExpressGatewayEndpoint{suffix}")
