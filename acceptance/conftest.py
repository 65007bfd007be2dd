"""What the tests of one run share: the place, the network, what probes ask about, the product, and the facts."""

from collections.abc import Iterator

import pytest

from acceptance.facts import OUTPUT, Facts
from acceptance.place import Place
from acceptance.stack import Product, deploy_own


@pytest.fixture(scope="session")
def place() -> Place:
    """Return where this run takes place."""
    return Place()


@pytest.fixture(scope="session")
def facts(place: Place) -> Iterator[Facts]:
    """Return the facts of this run, write them at its end, and fail if one is not as believed."""
    found = Facts(place.run, place.region, place.is_sandbox)
    yield found
    found.write(OUTPUT / place.name)
    wrong = [fact for fact in found.found.values() if fact.as_believed is False]
    assert not wrong


@pytest.fixture(scope="session")
def network(place: Place) -> dict[str, str]:
    """Make the run's VPC, and return the IDs of what is in it by their names in the template."""
    return deploy_own(place, "network")


@pytest.fixture(scope="session")
def asked(place: Place) -> dict[str, str]:
    """Make what the probes ask about. The rule there evaluates everything in the account, but changes nothing."""
    return deploy_own(place, "probes", Approver=place.client("sts").get_caller_identity()["Arn"])


@pytest.fixture(scope="session")
def prefix_list(place: Place) -> dict[str, object]:
    """Make a customer-managed prefix list, which is empty."""
    what = {"PrefixListName": place.stack_name, "MaxEntries": 2, "AddressFamily": "IPv4"}
    made = place.client("ec2").create_managed_prefix_list(**what, TagSpecifications=place.named("prefix-list"))
    return dict(made["PrefixList"])


@pytest.fixture(scope="session")
def product(place: Place, network: dict[str, str]) -> Product:
    """Upload the product. The story deploys it."""
    return Product(place, network["Vpc"])
