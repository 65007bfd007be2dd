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
from acceptance.facts import OUTPUT, RECORDED, are_equal, write
from acceptance.run import CALLS, SANDBOX, Run
from config_rule_sandbox.local_aws import in_a_process

FOLDER = Path(__file__).parent
ORDER = ("probes/test_without_stack.py", "story", "probes/test_with_stack.py")
PYTEST = ("-pno:cacheprovider", "-pno:randomly", "-oaddopts=", "--import-mode=importlib", "-ra", "-v", "--timeout=7200")


def main() -> int:
    """Run, clean up, and return the exit status of the tests, or 1 if the sandbox is not as recorded."""
    if "PLAN" in os.environ:
        sys.stdout.write(plan.text())
        return 0
    with _environment():
        run = Run()
        os.environ["RUN"] = run.id
        if "CLEAN" in os.environ:
            clean(run)
            return 0
        _check(run)
        _ask(run)
        try:
            status = int(pytest.main([*PYTEST, *(str(FOLDER / name) for name in ORDER)]))
        finally:
            clean(run)
    made = OUTPUT / run.where
    write(made, {"calls": sorted(CALLS), "policy": plan.policy(CALLS)})
    return _compare(made) if status == 0 and run.is_sandbox else status


def _compare(made: Path) -> int:
    """Show where the facts and the calls of a run in the sandbox differ from the recorded ones, and return 1 if they do."""
    if all(are_equal(RECORDED / name, made / name) for name in ("calls.json", "facts.json")):
        return 0
    sys.stderr.write(f"If that is right: rm {RECORDED}/*; cp {made}/* {RECORDED}\n")
    return 1


@contextmanager
def _environment() -> Iterator[None]:
    """Lead to the account that PROFILE names, to a sandbox that runs already, or else to a new one."""
    if "PROFILE" in os.environ:
        os.environ.pop(SANDBOX, None)
        region = os.environ.get("REGION", "us-east-1")
        os.environ |= {"AWS_PROFILE": os.environ["PROFILE"], "AWS_DEFAULT_REGION": region}
        yield
    elif SANDBOX in os.environ:
        yield
    else:
        with in_a_process("demo.local_aws") as environment:
            os.environ.pop("AWS_PROFILE", None)
            os.environ |= environment
            yield


def _check(run: Run) -> None:
    """Exit unless the account has a recorder that records, and is alone if ALONE says so."""
    recording = "ConfigurationRecordersStatus[?recording].name"
    if not run.ask("config", "describe_configuration_recorder_status", recording):
        sys.exit(f"{run.account_id}, {run.region} has no recorder of AWS Config that records. Start one first.")
    others = run.ask("ec2", "describe_internet_gateways", "InternetGateways[?Attachments].InternetGatewayId")
    if "ALONE" in os.environ and others:
        sys.exit(f"ALONE=1 would cut off other VPCs: {', '.join(others)}. Use an account without any.")


def _ask(run: Run) -> None:
    """Show what the run costs, and ask. Exit if the answer is not yes."""
    sys.stdout.write(f"Run {run.id} in {run.account_id}, {run.region} ({run.where}).\n{plan.COSTS}")
    if "YES" in os.environ or run.is_sandbox:
        return
    if not sys.stdin.isatty() or input("Begin? [y/N] ").lower() != "y":
        sys.exit("Nothing was made. To begin without a question, set YES=1.")


if __name__ == "__main__":
    sys.exit(main())
