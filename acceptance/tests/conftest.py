"""A sandbox that outlives each run, to which the environment leads."""

from collections.abc import Iterator

import pytest

from config_rule_sandbox.local_aws import in_a_process


@pytest.fixture
def local_aws() -> Iterator[pytest.MonkeyPatch]:
    """Start a sandbox, let the environment lead to it, and give what changes the environment."""
    with in_a_process("demo.local_aws") as variables, pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_PROFILE", raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield patch
