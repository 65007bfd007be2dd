"""What the tests of one run share: the place, the network, the stack, and the facts."""

from collections.abc import Iterator

import pytest

from acceptance.facts import OUTPUT, Facts
from acceptance.network import Network, make_network
from acceptance.place import Place
from acceptance.stack import Stack
from acceptance.story.acts import Acts


@pytest.fixture(scope="session")
def place() -> Place:
    """Return where this run takes place."""
    return Place.connect()


@pytest.fixture(scope="session")
def facts(place: Place) -> Iterator[Facts]:
    """Return the facts of this run, and write them at its end."""
    found = Facts(place.region, place.run)
    yield found
    found.write(OUTPUT / place.name)


@pytest.fixture(scope="session")
def network(place: Place) -> Network:
    """Make the run's VPC."""
    return make_network(place)


@pytest.fixture(scope="session")
def stack(place: Place, network: Network) -> Stack:
    """Upload the run's stack. The story deploys it."""
    return Stack(place, network.vpc)


@pytest.fixture(scope="session")
def acts(place: Place, network: Network, stack: Stack) -> Acts:
    """Return what the story does with the deployed stack."""
    return Acts(place, network, stack)
