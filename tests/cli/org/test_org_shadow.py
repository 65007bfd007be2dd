"""express-path org shadow: the verdicts of this version beside those that AWS Config has of the deployed one."""

from dataclasses import replace

import pytest

from config_rule_sandbox.http.direct import acting_in
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub
from config_rule_sandbox.server import Sandbox
from tests.cli.org.organizations import REGIONS, ROLE, Organization
from tests.cli.org.test_org_document import called, documented, in_account
from tests.support.command import invoke
from tests.support.rule_places import RulePlace

HOME, _ = REGIONS
STACK_SET = "express-path-ou-ab12-11112222"


@pytest.fixture
def place(sandbox: Sandbox) -> RulePlace:
    """Return an account with the deployed rule, which has evaluated everything."""
    return RulePlace(sandbox, Organization(sandbox).add("data"), HOME, STACK_SET, {"publicSubnets": "NON_COMPLIANT"})


def shadow() -> tuple[int, list[str], str]:
    """Run the command, and return its exit status, its lines, and its standard error."""
    result = invoke(["org", "shadow", "--role-name", ROLE, "--region", HOME])
    return result.exit_code, result.stdout.splitlines(), result.stderr


def test_the_same_version_judges_the_same_with_the_parameters_of_the_deployed_rule(place: RulePlace) -> None:
    """The status is 0, and no result is put and no event published."""
    assert place.stored() == {place.vpc.subnet: "NAT_GATEWAY", place.vpc.public_subnet: "INTERNET_GATEWAY"}
    place.sandbox.calls.clear()
    assert shadow() == (0, ["8 subnets of 1 deployment: 0 verdicts would change"], "")
    central, member = called(place.sandbox)
    needed = ("Check", "RoleInAccounts", "ShadowInAccount", "Status")
    assert central <= {action for sid in needed for action in documented()[sid]}
    # The result of a single subnet is read only if a read is denied.
    shadow_only = documented()["ShadowInAccount"] - {"config:GetComplianceDetailsByResource"}
    assert shadow_only <= member <= in_account("CheckInAccount", "ReadNetwork", "ShadowInAccount")


def test_a_difference_names_the_subnet_and_both_verdicts(place: RulePlace) -> None:
    """Here, the network changed after the evaluation. A difference only in the words of an annotation is none."""
    results = place.loop.results
    for key, row in list(results.results.items()):
        results.results[key] = replace(row, annotation=str(row.annotation).replace("crosses a NAT", "goes over a NAT"))
    assert shadow()[0] == 0
    with acting_in(place.account_id):
        endpoint_id = place.builder.endpoint(place.vpc.vpc, place.vpc.table)
    status, [subnet, stored, new, total], _ = shadow()
    assert (status, subnet.endswith(f"{place.vpc.subnet} would change")) == (1, True)
    assert stored.startswith("  from NON_COMPLIANT NAT_GATEWAY")
    assert new.startswith("  to   COMPLIANT ENDPOINT")
    assert endpoint_id in new
    assert total == "8 subnets of 1 deployment: 1 verdict would change"


def test_what_cannot_be_judged_is_never_the_same(place: RulePlace) -> None:
    """A denied read, an account without a deployment, and a rule that is gone lead to the status 2."""
    faults = place.sandbox.faults
    faults.deny("ec2", "DescribeRouteTables")
    status, lines, errors = shadow()
    assert (status, len(lines), len(errors.splitlines())) == (2, 1, 1)
    faults.clear()
    place.client("config").delete_config_rule(ConfigRuleName="s3express-no-nat-path")
    status, _, errors = shadow()
    assert (status, "DescribeConfigRules" in errors) == (2, True)


NETWORK_ACCOUNT = "111122223333"
NETWORK_ROLE = f"arn:aws:iam::{NETWORK_ACCOUNT}:role/express-path/network-reader"


def test_paths_beyond_a_transit_gateway_need_the_network_role(sandbox: Sandbox) -> None:
    """Without the role, their subnets are a failure and never a difference. A subnet without a result is one."""
    account_id = Organization(sandbox).add("data")
    place = RulePlace(sandbox, account_id, HOME, STACK_SET, {"networkRoleArn": NETWORK_ROLE})
    home, hub = Account(sandbox, account_id, first=50), Hub(Account(sandbox, NETWORK_ACCOUNT, first=100))
    hub.share(home)
    spoke = hub.join(home)
    assert "  from no result" in shadow()[1]
    assert not place.sweep().error
    assert place.stored()[spoke.subnet] == "NAT_BEYOND_TRANSIT_GATEWAY"
    assert shadow()[0] == 0
    sandbox.faults.deny("sts", "AssumeRole", RoleArn=NETWORK_ROLE)
    status, lines, errors = shadow()
    assert (status, len(lines), spoke.subnet in errors) == (2, 1, True)
