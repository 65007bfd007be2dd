"""Fixtures of the tests of what talks to AWS: a sandbox, and clients of it as the function has them."""

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws


@pytest.fixture
def aws(sandbox: Sandbox) -> Aws:
    """Clients of the sandbox, by the environment."""
    assert sandbox.endpoint_url
    return Aws.connect()
