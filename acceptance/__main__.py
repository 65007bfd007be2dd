"""One run: `python -m acceptance` shows what it costs, asks, runs the tests, and cleans up. The README says more.

Settings are environment variables: PROFILE and REGION for AWS; RUN, a run's id, to continue it; LIMIT, the seconds after
which it no longer waits for something; YES=1 to answer the question; PLAN=1 to only print the calls; ALONE=1 for what
changes a setting of the whole account; CLEAN=1 to only delete what RUN left.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from botocore.exceptions import ProfileNotFound

from acceptance import plan
from acceptance.cleanup import clean
from acceptance.facts import OUTPUT, RECORDED, are_equal, write
from acceptance.interruptions import Continuing, is_interruption
from acceptance.needs import problems
from acceptance.run import SANDBOX, Run
from acceptance.state import State
from config_rule_sandbox.local_aws import in_a_process

FOLDER = Path(__file__).parent
ORDER = ("probes/test_without_stack.py", "story", "probes/test_with_stack.py")
PYTEST = ("-pno:cacheprovider", "-pno:randomly", "-oaddopts=", "--import-mode=importlib", "-ra", "-v", "--timeout=0")
ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""How the tests end if nothing interrupts them. A run that is continued may have none left."""


def main() -> int:
    """Run, clean up, and return the exit status of the tests, or 1 if the sandbox is not as recorded."""
    if "PLAN" in os.environ:
        sys.stdout.write(plan.text())
        return 0
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # like Ctrl-C
    if "CLEAN" in os.environ:
        _check_what_to_clean()
    with _environment() as stays:
        run = _connect()
        if "CLEAN" in os.environ:
            clean(run)
            run.state.remove()
            return 0
        _begin(run)
        status = _test(run)
        if status not in ENDED:
            _interrupted(run, stays=stays)
            return status
        run.state.remove()
    if run.state.failed:
        return 1
    return _compare(OUTPUT / run.where) if run.is_sandbox else 0


def _check_what_to_clean() -> None:
    """Exit unless the environment says which run to delete, and where: a new sandbox has nothing of any run."""
    if not os.environ.get("RUN"):
        sys.exit("Name the run to delete: make acceptance-clean RUN=... PROFILE=... REGION=...")
    if "PROFILE" not in os.environ and SANDBOX not in os.environ:
        sys.exit(f"Name where the run is: make acceptance-clean RUN={os.environ['RUN']} PROFILE=... REGION=...")


def _connect() -> Run:
    """Return the run in this account and Region. Exit if it has begun elsewhere, or the profile does not exist."""
    try:
        run = Run()
    except ProfileNotFound as error:
        sys.exit(str(error))
    if run.state.place and run.state.place != run.place:
        sys.exit(f"Run {run.id} has begun in {run.state.place}, not in {run.place}.")
    os.environ["RUN"] = run.id
    return run


def _test(run: Run) -> int:
    """Run the tests that are left, then delete everything unless they were interrupted, and return how they ended."""
    tests = (str(FOLDER / name) for name in ORDER)
    try:
        status = int(pytest.main([*PYTEST, *tests], plugins=[Continuing(run.state)]))
        if status in ENDED:
            try:
                clean(run)
            finally:
                _write(run)
    except BaseException as error:
        if not is_interruption(error):
            raise
        return int(pytest.ExitCode.INTERRUPTED)
    return status


def _write(run: Run) -> None:
    """Write what the run found, and say what is not as believed."""
    state, made = run.state, OUTPUT / run.where
    for file in made.glob("*.json"):
        file.unlink()
    policy = plan.policy(state.calls)
    write(made, {"calls": sorted(state.calls), "policy": policy, "facts": state.facts, **state.answers})
    _say(state)


def _say(state: State) -> None:
    """Print each fact that AWS answered in another way than the product relies on, or did not answer."""
    for name, fact in sorted(state.facts.items()):
        if fact["as_believed"] is False:
            sys.stdout.write(f"{name}: {fact['asked']} {fact['answer']}, not {fact['believed']}\n")
        elif str(fact["answer"]).startswith("no answer"):
            sys.stdout.write(f"{name}: {fact['answer']}\n")


def _compare(made: Path) -> int:
    """Show where the facts and the calls of a run in the sandbox differ from the recorded ones, and return 1 if they do."""
    equal = [are_equal(RECORDED / name, made / name) for name in ("calls.json", "facts.json")]  # both are shown
    if all(equal):
        return 0
    sys.stderr.write(f"If that is right: rm {RECORDED}/*; cp {made}/* {RECORDED}\n")
    return 1


def _interrupted(run: Run, *, stays: bool) -> None:
    """Say how to go on, or forget the run if its sandbox ends with it."""
    if stays:
        sys.stderr.write(
            f"The run is interrupted. What it made stays{'' if run.is_sandbox else ', and costs'}.\n"
            f"To continue:         {run.command('acceptance')}\n"
            f"To delete all of it: {run.command('acceptance-clean')}\n"
        )
    else:
        run.state.remove()
        sys.stderr.write("The run is interrupted, and so is its sandbox. Nothing of it is left.\n")


@contextmanager
def _environment() -> Iterator[bool]:
    """Lead to the account that PROFILE names, to a sandbox that runs already, or else to a new one, which does not stay."""
    if "PROFILE" in os.environ:
        os.environ.pop(SANDBOX, None)
        region = os.environ.get("REGION", "us-east-1")
        os.environ |= {"AWS_PROFILE": os.environ["PROFILE"], "AWS_DEFAULT_REGION": region}
        yield True
    elif SANDBOX in os.environ:
        yield True
    else:
        with in_a_process("demo.local_aws", json.dumps(plan.policies())) as environment:
            for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
                os.environ.pop(name, None)
            os.environ |= environment
            yield False


def _begin(run: Run) -> None:
    """Continue the run if it has begun, or check what it needs, show what it costs, and ask.

    Exit if it cannot begin, or if the answer is not yes.
    """
    where = f"Run {run.id} in {run.place} ({run.where})"
    if run.state.place:
        sys.stdout.write(f"{where} continues.\n")
        return
    if found := problems(run):
        sys.exit("\n".join(["Nothing was made, because the run could not end:", *found]))
    sys.stdout.write(f"{where}.\n{plan.COSTS}")
    asks = not run.is_sandbox and "YES" not in os.environ
    if asks and (not sys.stdin.isatty() or input("Begin? [y/N] ").lower() != "y"):
        sys.exit("Nothing was made. To begin without a question, set YES=1.")
    run.state.place = run.place
    run.state.keep("alone", run.is_alone)


if __name__ == "__main__":
    sys.exit(main())
