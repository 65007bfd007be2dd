"""The demonstration, `make demo`: the rule at work on an AWS that runs on this machine, without an account.

Exit status 0 if every verdict was as it must be, 1 if not, 2 if the demonstration could not run, 130 if interrupted.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from rich.console import Console

from sandbox import config_service
from sandbox.config_loop import ConfigLoop
from sandbox.demo_function import BuildError, Invoke, in_lambda_runtime, in_this_process, runs_on_lambda_runtime
from sandbox.demo_output import Narrator, Stopwatch
from sandbox.demo_verdicts import Row, rows
from sandbox.lambda_process import RuntimeStartError
from sandbox.server import Sandbox
from sandbox.situations import Situation, familiar, remove_default_vpc

Expected = Mapping[str, tuple[str, str]]

BEFORE: Expected = {
    "public-a": ("COMPLIANT", "INTERNET_GATEWAY"),
    "private-a": ("NON_COMPLIANT", "NAT_GATEWAY"),
    "private-b": ("NON_COMPLIANT", "NAT_GATEWAY"),
    "private-c": ("NON_COMPLIANT", "NAT_GATEWAY"),
    "isolated": ("NOT_APPLICABLE", "NO_ROUTE"),
}
"""The verdicts that must be: the endpoint exists, and helps nobody."""

AFTER: Expected = {
    **BEFORE,
    "private-a": ("COMPLIANT", "ENDPOINT"),
    "private-b": ("COMPLIANT", "ENDPOINT"),
    "private-c": ("COMPLIANT", "ENDPOINT"),
}
"""The verdicts that must be once the right route table is associated."""

STORY = """\
Three private subnets in three Availability Zones reach the internet through a NAT gateway, which charges for every \
byte. There is a gateway endpoint for S3 ("s3"), and people believe that it serves S3 Express, too: it does not. There \
even is one for S3 Express ("s3express"), but somebody associated it with the main route table, which no subnet uses. \
Then there are a public subnet and an isolated one."""

IN_RUNTIME = """\
Built for the Python and the processor at hand, by the Makefile that also builds it for AWS, and started in AWS's own \
runtime for Lambda (the Runtime Interface Emulator)."""

IN_PROCESS = "Called in this process. Its verdicts are the same as in Lambda, its start and its speed are not."

CURE = "A gateway endpoint is free of charge. Open connections to S3 Express drop at the moment it takes over."


INTERRUPTED = 130
"""What shells report of a program that Ctrl-C ended."""


class Demonstration:
    """The demonstration on one running sandbox."""

    def __init__(self, narrator: Narrator, sandbox: Sandbox, situation: Situation, invoke: Invoke) -> None:
        """Deploy the rule; nothing is evaluated yet."""
        self._narrator = narrator
        self._situation = situation
        self._invoke = invoke
        self._advance: Callable[[], None] = lambda: None
        self._loop = ConfigLoop(sandbox, self._invoke_and_advance)

    def run(self) -> bool:
        """Show the verdicts before and after the cure; return whether all were as they must be."""
        self._loop.baseline()
        before = self._deliver("AWS Config discovers the VPC and invokes the rule: {} events", BEFORE)
        self._cure()
        self._loop.notice()
        after = self._deliver("AWS Config notices and invokes the rule again: {} events", AFTER, before)
        return _fit(before, BEFORE) and _fit(after, AFTER) and not self._loop.on_failure

    def _deliver(self, title: str, expected: Expected, earlier: Sequence[Row] = ()) -> list[Row]:
        count = len(self._loop.queued)
        with self._narrator.counted_step(title.format(count), count) as self._advance:
            deliveries = self._loop.deliver()
        for delivery in deliveries:
            if delivery.error:
                self._narrator.warn(f"an invocation failed: {delivery.error}")
        found = rows(self._loop, self._situation)
        self._narrator.table(found, earlier)
        self._narrator.say(_summary(found))
        for row in found:
            if not _fit([row], expected):
                self._narrator.warn(f"{row.subnet} must be {' '.join(expected[row.subnet])}")
        return found

    def _cure(self) -> None:
        endpoint_id, table_id = self._situation["vpce-s3express"], self._situation["rtb-private"]
        with self._narrator.step(
            "The cure, by hand: the endpoint gets the route table that is in force", "associating it"
        ):
            ec2 = self._loop.sandbox.client("ec2")
            ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
        options = [f"--vpc-endpoint-id {endpoint_id}", f"--add-route-table-ids {table_id}"]
        self._narrator.command(["aws ec2 modify-vpc-endpoint", *options])
        self._narrator.say(CURE)

    def _invoke_and_advance(self, event: object) -> object:
        answer = self._invoke(event)
        self._advance()
        return answer


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration and return its exit status; `arguments` are those of the command line unless given."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.demo", description="Show the rule at work.")
    parser.add_argument(
        "--in-process", action="store_true", help="call the function without the Lambda runtime, which needs Linux"
    )
    options = parser.parse_args(arguments)
    narrator = Narrator(Console())
    try:
        return 0 if demonstrate(narrator, in_process=options.in_process or not runs_on_lambda_runtime()) else 1
    except (BuildError, RuntimeStartError, LookupError) as error:
        narrator.warn(str(error))
        return 2
    except KeyboardInterrupt:
        narrator.warn("Interrupted.")
        return INTERRUPTED


def demonstrate(narrator: Narrator, *, in_process: bool) -> bool:
    """Run the demonstration; return whether every verdict was as it must be."""
    stopwatch = Stopwatch()
    narrator.headline("express-path: by which path does each subnet reach S3 Express One Zone?")
    with ExitStack() as stack:
        with narrator.step("An AWS on this machine, with a VPC like many", "starting it and building the VPC"):
            sandbox = stack.enter_context(Sandbox())
            stack.enter_context(config_service.in_force())
            remove_default_vpc(sandbox)
            situation = familiar(sandbox)
        narrator.say(STORY)
        with narrator.step("The function of the rule", "building and starting it"):
            function = in_this_process if in_process else in_lambda_runtime
            invoke = stack.enter_context(function(sandbox.environment()))
        narrator.say(IN_PROCESS if in_process else IN_RUNTIME)
        fine = Demonstration(narrator, sandbox, situation, invoke).run()
    narrator.headline(f"Done in {stopwatch}." if fine else "Not every verdict is as it must be.")
    return fine


def _summary(found: Sequence[Row]) -> str:
    through_nat = [row.subnet for row in found if row.compliance == "NON_COMPLIANT"]
    if not through_nat:
        return "No subnet reaches S3 Express through a NAT."
    return f"{len(through_nat)} of {len(found)} subnets reach S3 Express through a NAT: {', '.join(through_nat)}."


def _fit(found: Sequence[Row], expected: Expected) -> bool:
    return all((row.compliance, row.reason) == expected[row.subnet] for row in found)


if __name__ == "__main__":
    sys.exit(main())
