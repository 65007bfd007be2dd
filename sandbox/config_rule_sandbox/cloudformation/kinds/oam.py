"""Resource types of Observability Access Manager, which moto lacks: sinks, and links to them.

What is linked, the sandbox's own account can read (`sandbox.metrics.links`).
"""

from dataclasses import dataclass, field

from moto.cloudwatch.models import cloudwatch_backends
from moto.core.exceptions import JsonRESTError
from moto.moto_api._internal import mock_random
from moto.organizations.models import organizations_backends
from moto.utilities.arns import parse_arn

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.kinds.kind import Kind, Properties
from config_rule_sandbox.cloudformation.values import Created, TemplateError
from config_rule_sandbox.iam.policies import Authorization, is_allowed
from config_rule_sandbox.patching.memory import memory_of


@dataclass
class Sinks:
    """The sinks of an account and Region, of which there can be one: the properties by ARN."""

    by_arn: dict[str, Properties] = field(default_factory=dict)


def _sinks(account_id: str, region: str) -> dict[str, Properties]:
    return memory_of(cloudwatch_backends[account_id][region], Sinks).by_arn


def create_sink(account: Account, _name: str, properties: Properties) -> Created:
    """Create a sink. An account has one in each Region: https://docs.aws.amazon.com/OAM/latest/APIReference/API_CreateSink.html."""
    known = _sinks(account.account_id, account.region)
    if known:
        raise JsonRESTError("ConflictException", "Sink already exists for this account and region")
    arn = f"arn:aws:oam:{account.region}:{account.account_id}:sink/{mock_random.uuid4()}"
    known[arn] = properties
    return Created(arn, {"Arn": arn})


def delete_sink(account: Account, physical_id: str, _properties: Properties) -> None:
    """Delete a sink."""
    _sinks(account.account_id, account.region).pop(physical_id, None)


def update_sink(account: Account, physical_id: str, _earlier: Properties, properties: Properties) -> None:
    """Replace the policy."""
    _sinks(account.account_id, account.region)[physical_id] = properties


def create_link(account: Account, _name: str, properties: Properties) -> Created:
    """Link the account to a sink of its Region, whose policy must allow that.

    https://docs.aws.amazon.com/OAM/latest/APIReference/API_CreateLink.html
    """
    arn = str(properties["SinkIdentifier"])
    monitoring = parse_arn(arn)
    if str(monitoring.account) != account.monitoring_account_id:
        raise TemplateError("links to a sink of another account than the sandbox's are not known here")
    sink = _sinks(str(monitoring.account), str(monitoring.region)).get(arn)
    if sink is None or monitoring.region != account.region:
        raise JsonRESTError("ResourceNotFoundException", f"The sink {arn} does not exist in {account.region}")
    keys = {"aws:PrincipalOrgID": _organization(account.account_id), "oam:ResourceTypes": properties["ResourceTypes"]}
    if not is_allowed(sink.get("Policy", {}).get("Statement", ()), Authorization("oam:CreateLink", arn, keys)):
        raise JsonRESTError("AccessDeniedException", f"The policy of {arn} does not allow oam:CreateLink")
    account.monitored.add((account.account_id, account.region))
    link = f"arn:aws:oam:{account.region}:{account.account_id}:link/{mock_random.uuid4()}"
    return Created(link, {"Arn": link})


def _organization(account_id: str) -> list[str]:
    """Return the ID of the organization of an account, nothing if it is in none."""
    management = organizations_backends.master_accounts.get(account_id, (account_id, "aws"))
    organization = organizations_backends[management[0]][management[1]]
    members = {member.id for member in organization.accounts}
    return [str(organization.org.id)] if organization.org and account_id in members else []


def delete_link(account: Account, _physical_id: str, _properties: Properties) -> None:
    """Delete a link."""
    account.monitored.discard((account.account_id, account.region))


KINDS = {
    "AWS::Oam::Link": Kind(create_link, delete_link),
    "AWS::Oam::Sink": Kind(create_sink, delete_sink, update_sink),
}
