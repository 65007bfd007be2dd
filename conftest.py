"""What holds for all tests. The sandbox comes from its own plugin, `config_rule_sandbox.pytest_plugin`."""

import gc
import importlib
import os
import pkgutil
import signal
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from express_path import domain

# The process that starts the workers reads this file before there is one. The sandbox takes it seconds to import.
if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

    from config_rule_sandbox.server import Sandbox
    from tests.support.network import Builder

# How long an example takes says nothing on a shared machine, and nor does how long it takes to draw ten of them, for which
# Hypothesis allows 30 seconds. Examples depend on the test alone, so that a change is
# never blocked by a failure that it did not cause.
settings.register_profile(
    "express-path", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("express-path")

TESTS = Path(__file__).parent / "tests"

# moto, boto3 and the collected tests are a large heap that lives until the end. With Python's default thresholds, the
# garbage collector goes through it so often that it takes a third of the processor time of the tests.
gc.set_threshold(100_000, 20, 20)


CORE = (TESTS / "domain", TESTS / "networks")
"""The folders whose tests show all of the core, functions/express_path/domain. `make test` measures no others, because that
takes long. `make verify` sets MEASURE, and measures all.

Single files with many heals or thousands of random examples have the mark `no_cover`, because they would show nothing new.
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
    """Measure what is to be measured, and start the slow files first, so that no worker is left with one at the end."""
    for item in items:
        if not (os.environ.get("MEASURE") or any(map(item.path.is_relative_to, CORE))):
            item.add_marker("no_cover")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


CACHES: set["_lru_cache_wrapper[object]"] = set()
"""The functions of the core that keep what they return."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a measured test run all that it needs. What an unmeasured test has called before it would be cached."""
    if not item.get_closest_marker("no_cover"):
        for function in CACHES:
            function.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: what they import is kept. Measure only how the core is imported."""
    plugin = session.config.pluginmanager.getplugin("_cov")
    measured = plugin.cov_controller if plugin and not os.environ.get("MEASURE") else None
    for module in pkgutil.walk_packages(domain.__path__, f"{domain.__name__}."):
        CACHES.update(one for one in vars(importlib.import_module(module.name)).values() if hasattr(one, "cache_clear"))
    if measured:
        measured.pause()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        if measured:
            measured.resume()


def pytest_collection_finish() -> None:
    """Keep what is loaded now out of every later garbage collection, and remember what runs before the first test."""
    gc.collect()
    gc.freeze()
    EXPECTED.update(running())


EXPECTED: set[threading.Thread | str] = set()
STARTED_BY_FIXTURES: dict[pytest.FixtureDef[object], set[threading.Thread | str]] = {}
SECONDS_TO_END = 30
"""How long what a test has started may take to end after it."""
FOR_ALL_TESTS = "tests/support/processes/server.py"
"""The process that forks the command for tests. It ends with this one."""


def running() -> set[threading.Thread | str]:
    """Return the threads of this process, and on Linux its child processes: their folders in /proc."""
    numbers = " ".join(read(file) for file in Path("/proc/self/task").glob("*/children")).split()
    children = [f"/proc/{number}" for number in numbers]
    return {*threading.enumerate(), *(child for child in children if FOR_ALL_TESTS not in command_line(child))}


def command_line(child: str) -> str:
    """Return the command line of a process."""
    return read(Path(child) / "cmdline").replace("\0", " ")


def read(file: Path) -> str:
    """Return the text of a file of /proc, which is empty if the thread or process has ended."""
    try:
        return file.read_text()
    except OSError:
        return ""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Expect what a fixture of several tests has started until the fixture ends."""
    if fixturedef.scope == "function":
        return (yield)
    before = running()
    try:
        return (yield)
    finally:
        STARTED_BY_FIXTURES[fixturedef] = running() - before


def pytest_fixture_post_finalizer(fixturedef: pytest.FixtureDef[object]) -> None:
    """Expect it no longer."""
    STARTED_BY_FIXTURES.pop(fixturedef, None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that leaves a thread or a process behind, because it can make another test fail."""
    try:
        return (yield)
    finally:
        deadline = time.monotonic() + SECONDS_TO_END
        while (left := running() - EXPECTED.union(*STARTED_BY_FIXTURES.values())) and time.monotonic() < deadline:
            time.sleep(0.01)
        EXPECTED.update(left)
        if left:
            names = [f"{one} {command_line(one)}" if isinstance(one, str) else str(one) for one in left]
            pytest.fail(f"{item.nodeid} left running: {', '.join(names)}", pytrace=False)


@pytest.fixture
def builder(sandbox: "Sandbox") -> "Builder":
    """Builds networks in the sandbox's account, whatever is enforced."""
    from tests.support.network import Builder  # noqa: PLC0415  # see the top

    return Builder(sandbox)
