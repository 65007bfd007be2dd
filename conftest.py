"""What holds for all tests. The sandbox comes from its own plugin, `sandbox.pytest_plugin`."""

import gc
import signal
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

# The process that starts the workers reads this file before there is one. The sandbox takes it seconds to import.
if TYPE_CHECKING:
    from sandbox.server import Sandbox
    from tests.support.network import Builder

# How long an example takes says nothing on a shared machine. Examples depend on the test alone, so that a change is
# never blocked by a failure that it did not cause.
settings.register_profile("express-path", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("express-path")

TESTS = Path(__file__).parent / "tests"

# moto, boto3 and the collected tests are a large heap that lives until the end. With Python's default thresholds, the
# garbage collector goes through it so often that it takes a third of the processor time of the tests.
gc.set_threshold(20_000, 20, 20)


UNMEASURED = ("docs", "iam", "template", "terraform")
"""Directories whose tests run without coverage, because measuring takes about as long as the tests themselves.

They test the whole stack, and every module that they run is measured in the tests of its own package. Single files with
many heals or thousands of random examples have the mark `no_cover` for the same reason.
"""


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C reach the processes of tests, and stop a measurement that nobody saves.

    pytest-cov starts one in a worker as if it were the main process. It also starts a second one, which is saved.
    Without this, `no_cover` stops only that one, and the tests are still traced, which takes twice the time.
    """
    # A shell lets a job in the background ignore Ctrl-C, and the processes that tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plugin = config.pluginmanager.getplugin("_cov")
    if hasattr(config, "workerinput") and plugin and plugin.cov_controller:
        plugin.cov_controller.cov.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave directories unmeasured, and start the slow files first, so that no worker is left with one at the end."""
    for item in items:
        if item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in UNMEASURED:
            item.add_marker("no_cover")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: what they import is kept."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Keep what is loaded now out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def builder(sandbox: "Sandbox") -> "Builder":
    """Builds networks in the sandbox's account, whatever is enforced."""
    from tests.support.network import Builder  # noqa: PLC0415  # see the top

    return Builder(sandbox)
