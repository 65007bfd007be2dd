"""The price of a GB from the AWS Price List."""

import pytest

from express_path.adapters.aws import Aws
from express_path.errors import ApiError
from express_path_cli.aws.sessions import connect
from express_path_cli.nat.prices import Basis, Price, listed_prices
from sandbox.server import Sandbox


@pytest.fixture
def aws(sandbox: Sandbox) -> Aws:
    """Clients of the sandbox, in a Region where the Price List has no endpoint."""
    assert sandbox.endpoint_url
    return connect("eu-west-2")


def test_only_prices_per_gb_count(aws: Aws, sandbox: Sandbox) -> None:
    """Prices per hour, of other Regions, of provisioned bandwidth, or in other currencies are ignored."""
    prices = sandbox.prices
    prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Hours", "0.05", unit="Hrs")
    prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Prvd-Bytes", "0.01")
    prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Bytes", "0.0520000000")
    prices.list_nat_gateway("eu-west-2", "EUW2-RegionalNatGateway-Bytes", "0.07")
    prices.list_nat_gateway("us-east-1", "NatGateway-Bytes", "0.045")
    prices.list_nat_gateway("cn-north-1", "CNN1-NatGateway-Bytes", "0.42", currency="CNY")
    assert listed_prices(aws, "eu-west-2") == {
        "NatGateway": Price(0.052, Basis.LISTED),
        "RegionalNatGateway": Price(0.07, Basis.LISTED),
    }
    assert listed_prices(aws, "us-east-1") == {"NatGateway": Price(0.045, Basis.LISTED)}
    assert listed_prices(aws, "cn-north-1") == {}
    assert {call.region for call in sandbox.calls.of("pricing")} == {"us-east-1"}


def test_the_highest_of_several_prices_counts(aws: Aws, sandbox: Sandbox) -> None:
    """The highest price counts, in any order, so the cost remains an upper bound."""
    for price in ("0.045", "0.052", "0.048"):
        sandbox.prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Bytes", price)
    assert listed_prices(aws, "eu-west-2") == {"NatGateway": Price(0.052, Basis.LISTED)}


def test_a_denial_is_an_error(aws: Aws, sandbox: Sandbox) -> None:
    """A denied read raises an error, so the caller decides what to do without a price."""
    sandbox.faults.deny("pricing", "GetProducts")
    with pytest.raises(ApiError) as raised:
        listed_prices(aws, "eu-west-2")
    assert raised.value.is_denied
