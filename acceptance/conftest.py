"""What the tests of one run share: the place, the network, what probes ask about, the product, and the facts."""

from collections.abc import Iterator
from dataclasses import asdict

import pytest

from acceptance.facts import OUTPUT, Facts, write
from acceptance.place import Place
from acceptance.stack import Ids, Product, delete, deploy_own


@pytest.fixture(scope="session")
def place() -> Place:
    """Return where this run takes place."""
    return Place()


@pytest.fixture(scope="session")
def facts(place: Place) -> Iterator[Facts]:
    """Return the facts of this run, write them at its end, and fail if one is not as believed."""
    found = Facts(place)
    yield found
    write(OUTPUT / place.name, {"facts": [asdict(fact) for fact in found.found.values()], **found.steps})
    wrong = [fact for fact in found.found.values() if fact.as_believed is False]
    assert not wrong


@pytest.fixture(scope="session")
def network(place: Place) -> Ids:
    """Make the run's VPC."""
    return deploy_own(place, "network")


@pytest.fixture(scope="module")
def asked(place: Place, network: Ids) -> Iterator[Ids]:
    """Make what the probes ask about. The rule there evaluates everything in the account, but changes nothing."""
    yield deploy_own(place, "probes", Approver=place.caller, Vpc=network["Vpc"])
    delete(place, f"{place.stack_name}-probes")


@pytest.fixture(scope="session")
def product(place: Place, network: Ids) -> Product:
    """Upload the product. The story deploys it."""
    return Product(place, network)
