"""Check whether the names that the stack needs are free, and whether another rule fits into the quota."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from express_path.adapters.aws import calling, pages
from express_path.domain.findings.texts import RULE_NAME
from express_path.errors import ApiError
from express_path_cli.org.place import Place
from express_path_cli.org.reasons import CheckReason, Problem

DOCUMENTS = (
    "AddS3ExpressGatewayEndpoint",
    "AddS3ExpressGatewayEndpointWithApproval",
    "RemoveS3ExpressGatewayEndpoint",
)
"""The names of the runbooks in template.yaml."""
MAX_RULES = 1000
"""The rules of one account and Region (https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html)."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the rule and of the StackSets that deploy it: the StackSets' names start with the prefix."""

    stack_set_prefix: str
    rule: str = RULE_NAME

    def problems(self, place: Place) -> Iterator[Problem]:
        """Yield each name that something else than these StackSets uses, and the quota of rules. Raise ApiError.

        A conformance pack or an organization rule has another name, so it is not in the way.
        """
        rules = [str(row["ConfigRuleName"]) for row in pages(place.aws.config, "config", *_RULES)]
        if self.rule in rules:
            yield from self._taken(place, "rule", self.rule)
        elif len(rules) >= MAX_RULES:
            yield Problem(
                CheckReason.RULE_QUOTA,
                f"the account has {len(rules)} rules in this Region, and AWS Config allows {MAX_RULES}",
            )
        for document in _documents(place):
            yield from self._taken(place, "SSM document", document)

    def _taken(self, place: Place, kind: str, name: str) -> Iterator[Problem]:
        owner = _stack_of(place, name)
        if not owner.startswith(f"StackSet-{self.stack_set_prefix}"):
            by = f"stack {owner}" if owner else "something that no CloudFormation stack created"
            yield Problem(CheckReason.NAME_TAKEN, f"the name of the {kind} {name} is used by {by}")


_RULES = ("describe_config_rules", "ConfigRules")


def _documents(place: Place) -> Sequence[str]:
    """Read which of the runbooks' names the account uses, sorted."""
    # Names are compared by their beginnings:
    # https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_DocumentKeyValuesFilter.html
    wanted = [{"Key": "Owner", "Values": ["Self"]}, {"Key": "Name", "Values": list(DOCUMENTS)}]
    rows = pages(place.aws.ssm, "ssm", "list_documents", "DocumentIdentifiers", Filters=wanted)
    return sorted({str(row["Name"]) for row in rows} & set(DOCUMENTS))


def _stack_of(place: Place, physical_id: str) -> str:
    """Read the name of the stack that created a resource; empty if no stack did. Raise ApiError.

    The stacks of StackSets are named StackSet-<name of the StackSet>-<UUID>.
    """
    try:
        with calling("cloudformation:DescribeStackResources"):
            found = place.aws.client("cloudformation").describe_stack_resources(PhysicalResourceId=physical_id)
    except ApiError as error:
        if error.code == "ValidationError":  # Stack for ... does not exist
            return ""
        raise
    return next((str(row["StackName"]) for row in found["StackResources"]), "")
