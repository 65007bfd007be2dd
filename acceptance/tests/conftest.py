"""A sandbox that outlives each run, to which the environment leads."""

from collections.abc import Iterator

import pytest

from config_rule_sandbox.local_aws import in_a_process


@pytest.fixture(scope="module")
def local_aws() -> Iterator[None]:
    """Start a sandbox, and let the environment lead to it."""
    with in_a_process("demo.local_aws") as variables, pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_PROFILE", raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield
