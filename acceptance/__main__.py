"""One run: `python -m acceptance` shows what it costs, asks, runs the tests, and cleans up. The README says more.

Settings are environment variables: PROFILE and REGION for AWS; RUN, a run's id; YES=1 to answer the question; PLAN=1 to
only print the calls; ALONE=1 for what changes a setting of the whole account; CLEAN=1 to only delete what RUN left.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acceptance import plan
from acceptance.cleanup import clean
from acceptance.facts import OUTPUT, RECORDED, differences, read, write
from acceptance.place import CALLS, SANDBOX, Place
from demo.local_aws import in_a_process

FOLDER = Path(__file__).parent
ORDER = ("probes/test_without_stack.py", "story", "probes/test_with_stack.py")
PYTEST = ("-pno:cacheprovider", "-pno:randomly", "-oaddopts=", "--import-mode=importlib", "-ra", "-v", "--timeout=7200")


def main() -> int:
    """Run, clean up, and return the exit status of the tests, or 1 if the sandbox is not as recorded."""
    if "PLAN" in os.environ:
        sys.stdout.write(plan.text())
        return 0
    with _environment():
        place = Place()
        os.environ["RUN"] = place.run
        status = 0
        if "CLEAN" not in os.environ:
            _check(place)
            _ask(place)
        try:
            if "CLEAN" not in os.environ:
                status = int(pytest.main([*PYTEST, *(str(FOLDER / name) for name in ORDER)]))
        finally:
            sys.stderr.write(f"Cleaning up. If this is interrupted: make acceptance-clean RUN={place.run}\n")
            clean(place)
            sys.stderr.write("Nothing of the run is left.\n")
    if "CLEAN" in os.environ or status:
        return status
    made = OUTPUT / place.name
    write(made, {"calls": sorted(CALLS), "policy": plan.policy(CALLS)})
    return _compare(made) if place.is_sandbox else 0


def _compare(made: Path) -> int:
    """Compare the facts and the calls of a run in the sandbox with the recorded ones, and return 1 if they differ."""
    found = differences(read(RECORDED, "facts"), read(made, "facts"))
    if changed := set(plan.calls()) ^ CALLS:
        found.append(f"calls: {sorted(changed)}")
    if found:
        sys.stderr.write("\n".join([*found, f"If that is right: cp {made}/* {RECORDED}", ""]))
    return int(bool(found))


@contextmanager
def _environment() -> Iterator[None]:
    """Lead to the account that PROFILE names, to a sandbox that runs already, or else to a new one."""
    if "PROFILE" in os.environ:
        os.environ.pop(SANDBOX, None)
        region = os.environ.get("REGION", "us-east-1")
        os.environ |= {"AWS_PROFILE": os.environ["PROFILE"], "AWS_DEFAULT_REGION": region}
    if "PROFILE" in os.environ or SANDBOX in os.environ:
        yield
        return
    with in_a_process() as environment:
        os.environ.pop("AWS_PROFILE", None)
        os.environ |= environment
        yield


def _check(place: Place) -> None:
    """Exit unless the account has a recorder that records, and is alone if ALONE says so."""
    recording = "ConfigurationRecordersStatus[?recording].name"
    if not place.ask("config", "describe_configuration_recorder_status", recording):
        sys.exit(f"{place.account_id}, {place.region} has no recorder of AWS Config that records. Start one first.")
    others = place.ask("ec2", "describe_internet_gateways", "InternetGateways[?Attachments].InternetGatewayId")
    if "ALONE" in os.environ and others:
        sys.exit(f"ALONE=1 would cut off other VPCs: {', '.join(others)}. Use an account without any.")


def _ask(place: Place) -> None:
    """Show what the run costs, and ask. Exit if the answer is not yes."""
    sys.stdout.write(f"Run {place.run} in {place.account_id}, {place.region} ({place.name}).\n{plan.costs()}")
    if "YES" in os.environ or place.is_sandbox:
        return
    if not sys.stdin.isatty() or input("Begin? [y/N] ").lower() != "y":
        sys.exit("Nothing was made. To begin without a question, set YES=1.")


if __name__ == "__main__":
    sys.exit(main())
