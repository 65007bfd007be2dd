"""Measure S3 downloads through a NAT and through an endpoint's route on one machine: `make path-lab`."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from express_path_instrument.bench.compare import Comparison
from express_path_instrument.bench.tables import print_comparison
from express_path_instrument.lab.claims import Outcome, claims
from express_path_instrument.lab.isolation import IsolatedError, run_isolated
from express_path_instrument.lab.needs import find_server, missing
from express_path_instrument.lab.results import LabResult, write_results
from express_path_instrument.lab.settings import QUICK, Settings

REFUTED, IMPOSSIBLE, NOT_SHOWN = 1, 2, 3
"""The exit statuses if a claim is refuted, if the machine lacks something or the run failed, and if a claim is not shown."""


def main() -> int:
    """Run the lab. Return 0 if it shows everything that it must show, and otherwise what the statuses above say."""
    options = _options()
    server, reasons = find_server(), missing()
    if reasons or not server:
        reasons = reasons or ["The S3 server is not built: make build/lab/versitygw"]
        _say("The lab cannot run on this machine:", *(f"- {reason}." for reason in reasons))
        return IMPOSSIBLE
    settings = QUICK if options.quick else Settings()
    command = [
        sys.executable,
        "-m",
        "express_path_instrument.lab.inside",
        str(server),
        json.dumps(asdict(settings)),
    ]
    try:
        printed = run_isolated(command, settings.seconds_limit)
    except IsolatedError as error:
        _say(str(error))
        return IMPOSSIBLE
    return _report(write_results(printed, options.output))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m express_path_instrument.lab", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about two minutes instead of ten")
    parser.add_argument("--output", type=Path, default=Path("build/path-lab"), help="the folder for results and charts")
    return parser.parse_args()


def _report(result: LabResult) -> int:
    """Print everything, and return the exit status."""
    console = Console(highlight=False, soft_wrap=True)
    print_comparison(console, result.comparison)
    for change in result.route_changes:
        console.print(f"\n{_sentence(change)}")
    console.print()
    found = list(claims(result.comparison, result.bits_per_second))
    for claim in found:
        console.print(f"{claim.outcome.upper():9}  {claim.text}: {claim.measured}")
    outcomes = {claim.outcome for claim in found}
    if Outcome.REFUTED in outcomes:
        return REFUTED
    if Outcome.NOT_SHOWN in outcomes:
        _say("This machine is too busy to show what is not shown: stop other work, and run the lab again")
        return NOT_SHOWN
    return 0


def _sentence(change: Comparison) -> str:
    """Return what a new route did to the downloads."""
    [run] = change.runs
    [step] = run.result.steps
    errors = ", ".join(f"{count} x {error}" for error, count in step.errors.items()) or "no download failed"
    answers = step.answers
    silent = sum("200" not in answers.get(second, ()) for second in range(int(step.seconds)))
    return f"{run.name}, {step.connections} downloads: {errors}; in {silent} of {step.seconds:g} seconds, none ended."


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
