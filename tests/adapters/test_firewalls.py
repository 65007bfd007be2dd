"""Reading firewalls: which calls are made, what they show, and what happens if they are refused."""

import pytest

from express_path.adapters.aws import Aws
from express_path.adapters.network_reader import SnapshotReader
from express_path.adapters.records import firewalls
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError, RecordError
from sandbox.networks import Account, BehindFirewall, BehindNatGateway
from sandbox.server import Sandbox

OTHER = "999999999999"


def read(sandbox: Sandbox, vpc_id: str | None = None) -> Snapshot:
    """Read the account, or one VPC."""
    sandbox.calls.clear()
    return SnapshotReader(Aws.connect()).read(sandbox.account_id, vpc_id, RuleParameters())


def verdict(snapshot: Snapshot, place: BehindFirewall) -> Verdict:
    """Return the verdict on the subnet behind a firewall."""
    return Evaluator(Tracer(snapshot), RuleParameters()).verdict(place.subnet)


def cured(account: Account, **more: object) -> BehindFirewall:
    """Build a firewall behind which the gateway endpoint serves S3 Express."""
    place = BehindFirewall(account, **more)
    account.endpoint(place.vpc, place.appliance_table)
    return place


def test_without_an_appliance_no_firewall_is_read(sandbox: Sandbox) -> None:
    """Calls are made only if a route leads to a Gateway Load Balancer endpoint."""
    account = Account(sandbox)
    BehindNatGateway(account)
    account.firewall_endpoint(vpc := account.vpc(), account.subnet(vpc))
    assert read(sandbox).firewalls is None
    assert sandbox.calls.of("network-firewall") == []


def test_own_firewalls_cost_two_calls(sandbox: Sandbox) -> None:
    """If the firewalls of the endpoints' VPCs name all endpoints, associations are not read."""
    place = cured(Account(sandbox))
    assert verdict(read(sandbox, place.vpc), place).reason == "ENDPOINT"
    assert sandbox.calls.operations("network-firewall") == ["ListFirewalls", "DescribeFirewall"]


def test_an_endpoint_in_another_vpc_is_known_by_its_association(sandbox: Sandbox) -> None:
    """The association names the firewall, and the firewall shows that it does not translate."""
    account = Account(sandbox)
    place = cured(account, firewall_of=BehindFirewall(account))
    assert verdict(read(sandbox, place.vpc), place).reason == "ENDPOINT"
    proxy = cured(account, firewall_of=BehindFirewall(account, nat_scope="NAT_ALL"))
    assert verdict(read(sandbox, proxy.vpc), proxy).reason == "NAT_BEHIND_APPLIANCE"


def test_a_firewall_of_another_account_is_an_unknown_appliance(sandbox: Sandbox) -> None:
    """Its association is readable here, but the firewall is not."""
    account, other = Account(sandbox), Account(sandbox, OTHER, first=50)
    theirs = BehindFirewall(other)
    place = BehindFirewall(account)
    subnet = account.subnet(place.vpc, account.table(place.vpc))
    endpoint = account.endpoint_of_firewall(other.firewall_arn(theirs.appliance_subnet), place.vpc, subnet)
    account.replace(place.table, VpcEndpointId=endpoint)
    sandbox.faults.deny("network-firewall", "DescribeFirewall")
    snapshot = read(sandbox, place.vpc)
    assert (snapshot.firewalls, verdict(snapshot, place).reason) == ({}, "UNRESOLVED_EGRESS")


@pytest.mark.parametrize("operation", ["ListFirewalls", "DescribeFirewall"])
def test_without_permission_the_endpoint_is_an_unknown_appliance(sandbox: Sandbox, operation: str) -> None:
    """The verdict is UNRESOLVED_EGRESS unless a NAT follows, and its note names the permission."""
    account = Account(sandbox)
    place, nat = cured(account), BehindFirewall(account)
    sandbox.faults.deny("network-firewall", operation)
    snapshot = read(sandbox)
    assert verdict(snapshot, place).reason == "UNRESOLVED_EGRESS"
    assert "network-firewall:ListFirewalls, DescribeFirewall" in verdict(snapshot, place).note
    assert verdict(snapshot, nat).reason == "NAT_BEHIND_APPLIANCE"
    assert f"network-firewall:{operation}" in snapshot.denied


def test_other_failures_are_failed_reads(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Throttling is not a missing permission."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    cured(Account(sandbox))
    sandbox.faults.throttle("network-firewall", "DescribeFirewall")
    with pytest.raises(ApiError, match="network-firewall:DescribeFirewall"):
        read(sandbox)


def test_a_firewall_that_was_just_deleted_is_left_out(sandbox: Sandbox) -> None:
    """Between the list and the description, a firewall may be deleted."""
    place = cured(Account(sandbox))
    sandbox.faults.fail("network-firewall", "DescribeFirewall", "ResourceNotFoundException", 400)
    assert verdict(read(sandbox), place).reason == "UNRESOLVED_EGRESS"


ARN = "arn:aws:network-firewall:us-east-1:123456789012:firewall/f"
ZONE = {"Attachment": {"EndpointId": "vpce-1", "Status": "READY"}}


@pytest.mark.parametrize(
    ("firewall", "zone", "expected"),
    [
        ({}, ZONE, (("vpce-1",), False, False)),
        ({"TransparentFilteringNatScope": "NAT_ALL"}, ZONE, (("vpce-1",), False, False)),
        ({"ProxySettings": {"DomainName": "p"}}, ZONE, (("vpce-1",), True, True)),
        (
            {"ProxySettings": {"DomainName": "p"}, "TransparentFilteringNatScope": "NAT_NONE"},
            ZONE,
            (("vpce-1",), True, False),
        ),
        ({}, {**ZONE, "NatGatewayAttachments": [{"NatGatewayId": "nat-1"}]}, (("vpce-1",), True, True)),
        ({}, {"Attachment": {"Status": "CREATING"}}, ((), False, False)),
        ({}, {}, ((), False, False)),
    ],
)
def test_what_a_description_shows(firewall: dict, zone: dict, expected: tuple) -> None:
    """ProxySettings or NAT gateways show a NAT/Proxy firewall; an endpoint that is being created has no id yet."""
    answer = {"Firewall": {"FirewallArn": ARN, **firewall}, "FirewallStatus": {"SyncStates": {"us-east-1a": zone}}}
    found = firewalls([answer])[ARN]
    assert (found.endpoint_ids, found.is_proxy, found.translates) == expected
    assert found.nat_gateway_ids == ({"vpce-1": "nat-1"} if "NatGatewayAttachments" in zone else {})


@pytest.mark.parametrize("answer", [{}, {"Firewall": {}}, {"Firewall": {"FirewallArn": 1}}, {"Firewall": [ARN]}])
def test_a_description_without_a_firewall_is_an_error(answer: dict) -> None:
    """A description that lacks what a verdict needs is not used."""
    with pytest.raises(RecordError):
        firewalls([answer])
