"""One run: `python -m acceptance` shows what it costs, asks, runs the tests, and cleans up. The README says more.

Settings are environment variables: PROFILE and REGION for AWS; RUN, a run's id; YES=1 to answer the question; PLAN=1 to
only print the calls; ALONE=1 for what changes a setting of the whole account; CLEAN=1 to only delete what RUN left.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acceptance import plan
from acceptance.cleanup import clean
from acceptance.facts import OUTPUT, RECORDED, differences
from acceptance.place import CALLS, SANDBOX, Place, pages
from demo.local_aws import in_a_process

FOLDER = Path(__file__).parent
ORDER = ("probes/test_without_stack.py", "story", "probes/test_with_stack.py")
PYTEST = ("-pno:cacheprovider", "-pno:randomly", "-oaddopts=", "--import-mode=importlib", "-ra", "-v", "--timeout=7200")
REFUSED = 2


class RefusedError(Exception):
    """A run may not begin here. The message says why, and what to do."""


def main() -> int:
    """Run, clean up, and return the exit status of the tests, or 1 if the sandbox is not as recorded."""
    if "PLAN" in os.environ:
        sys.stdout.write(plan.text())
        return 0
    with _environment():
        place = Place()
        os.environ["RUN"] = place.run
        status = 0
        try:
            if "CLEAN" not in os.environ:
                _check(place)
                _ask(place)
                status = int(pytest.main([*PYTEST, *(str(FOLDER / name) for name in ORDER)]))
        except RefusedError as error:
            sys.stderr.write(f"{error}\n")
            return REFUSED
        finally:
            sys.stderr.write(f"Cleaning up. If this is interrupted: make acceptance-clean RUN={place.run}\n")
            clean(place)
            sys.stderr.write("Nothing of the run is left.\n")
    if "CLEAN" in os.environ:
        return status
    made = OUTPUT / place.name
    made.mkdir(parents=True, exist_ok=True)
    for name, value in (("calls.json", sorted(CALLS)), ("policy.json", plan.policy(CALLS))):
        (made / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    return _compare() if status == 0 and place.is_sandbox else status


def _compare() -> int:
    """Compare the facts and the calls of a run in the sandbox with the recorded ones, and return 1 if they differ."""
    made = OUTPUT / "sandbox"
    facts, calls = (
        [json.loads((folder / name).read_text(encoding="utf-8")) for folder in (RECORDED, made)]
        for name in ("facts.json", "calls.json")
    )
    found = differences(*facts)
    if calls[0] != calls[1]:
        found.append(f"calls: {sorted(set(calls[0]) ^ set(calls[1]))}")
    if found:
        sys.stderr.write("\n".join([*found, f"If that is right: cp {made}/* {RECORDED}", ""]))
    return int(bool(found))


@contextmanager
def _environment() -> Iterator[None]:
    """Lead to the sandbox, unless PROFILE names an account or a sandbox runs already."""
    if "PROFILE" in os.environ or SANDBOX in os.environ:
        os.environ.setdefault("REGION", "us-east-1")
        if "PROFILE" in os.environ:
            os.environ.pop(SANDBOX, None)
        yield
        return
    with in_a_process() as environment:
        os.environ.pop("AWS_PROFILE", None)
        os.environ.update(environment)
        yield


def _check(place: Place) -> None:
    """Raise RefusedError unless the account has a recorder that records, and is alone if ALONE says so."""
    statuses = place.client("config").describe_configuration_recorder_status()["ConfigurationRecordersStatus"]
    if not any(status["recording"] for status in statuses):
        raise RefusedError(
            f"{place.account_id}, {place.region} has no recorder of AWS Config that records. Start one first."
        )
    gateways = pages(place.client("ec2"), "describe_internet_gateways", "InternetGateways")
    others = [one["InternetGatewayId"] for one in gateways if one["Attachments"]]
    if "ALONE" in os.environ and others:
        raise RefusedError(f"ALONE=1 would cut off other VPCs: {', '.join(others)}. Use an account without any.")


def _ask(place: Place) -> None:
    """Show what the run costs, and ask. RefusedError if the answer is not yes."""
    sys.stdout.write(f"Run {place.run} in {place.account_id}, {place.region} ({place.name}).\n{plan.costs()}")
    if "YES" in os.environ or place.is_sandbox:
        return
    if not sys.stdin.isatty() or input("Begin? [y/N] ").lower() != "y":
        raise RefusedError("Nothing was made. To begin without a question, set YES=1.")


if __name__ == "__main__":
    sys.exit(main())
