"""Fixtures for the tests of AWS Config in the sandbox."""

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.config_loop import ConfigLoop
from sandbox.config_service import ConfigResults, results_of
from sandbox.server import Sandbox
from tests.sandbox.config.network import Ids, small_vpc
from tests.sandbox.config.rule import RULE


@pytest.fixture
def events() -> list[dict[str, Any]]:
    """The events that the recording function of `loop` received."""
    return []


@pytest.fixture
def loop(sandbox: Sandbox, events: list[dict[str, Any]]) -> ConfigLoop:
    """A deployed rule whose function only records its events."""
    return ConfigLoop(sandbox, events.append, rule=RULE)


@pytest.fixture
def network(sandbox: Sandbox) -> Ids:
    """A small VPC, as the ids of its resources by name."""
    return small_vpc(sandbox)


@pytest.fixture
def results(sandbox: Sandbox) -> ConfigResults:
    """AWS Config's data in the sandbox's account and Region."""
    return results_of(sandbox.account_id, sandbox.region)


@pytest.fixture
def evaluation() -> Callable[..., dict[str, Any]]:
    """Return a function that makes an evaluation of a subnet for PutEvaluations."""

    def make(
        resource_id: str = "subnet-1", compliance: str = "COMPLIANT", at: int = 100, **more: object
    ) -> dict[str, Any]:
        return {
            "ComplianceResourceType": "AWS::EC2::Subnet",
            "ComplianceResourceId": resource_id,
            "ComplianceType": compliance,
            "OrderingTimestamp": at,
            **more,
        }

    return make
