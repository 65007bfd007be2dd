"""The demonstration, `make demo`: rule and runbooks at work on an AWS that runs on this machine, without an account.

Exit status 0 if every verdict and plan was as it must be, 1 if not, 2 if the demonstration could not run, 130 if
interrupted.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from rich.console import Console

from demo.by_hand import cure_by_hand
from demo.function import BuildError, in_lambda_runtime, in_this_process, runs_on_lambda_runtime
from demo.healing import Healing
from demo.output import Narrator, Stopwatch
from demo.runbooks import Runbooks
from demo.situations import familiar, owned_by_a_stack, remove_default_vpc, without_endpoint
from demo.stage import Stage
from sandbox.lambda_process import RuntimeStartError
from sandbox.server import Sandbox
from sandbox.ssm import Automation

STORY = """\
Three private subnets in three Availability Zones reach the internet through a NAT gateway, which charges for every \
byte. There is a gateway endpoint for S3 ("s3"), and people believe that it serves S3 Express, too: it does not. There \
even is one for S3 Express ("s3express"), but somebody associated it with the main route table, which no subnet uses. \
Then there are a public subnet and an isolated one."""

IN_RUNTIME = """\
One artifact holds both: built for the Python and the processor at hand, by the Makefile that also builds it for AWS, \
and started in AWS's own runtime for Lambda (the Runtime Interface Emulator)."""

IN_PROCESS = "Called in this process. Their answers are the same as in Lambda, their start and their speed are not."

TWO_MORE = """\
"data" has no endpoint for S3 Express. "reports" has one, on the wrong route table, and it belongs to a CloudFormation \
stack. The runbooks are those of the folder runbooks, run by an executor of Systems Manager's documents on this \
machine, whose waits are shorter."""


INTERRUPTED = 130
"""What shells report of a program that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration and return its exit status; `arguments` are those of the command line unless given."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="Show the rule and the runbooks at work.")
    parser.add_argument(
        "--in-process", action="store_true", help="call the functions without the Lambda runtime, which needs Linux"
    )
    options = parser.parse_args(arguments)
    narrator = Narrator(Console(file=sys.stdout))
    try:
        return 0 if demonstrate(narrator, in_process=options.in_process or not runs_on_lambda_runtime()) else 1
    except (BuildError, RuntimeStartError, LookupError, TimeoutError) as error:
        narrator.warn(str(error))
        return 2
    except KeyboardInterrupt:
        narrator.warn("Interrupted.")
        return INTERRUPTED


def demonstrate(narrator: Narrator, *, in_process: bool) -> bool:
    """Run the demonstration; return whether every verdict and plan was as it must be."""
    stopwatch = Stopwatch()
    narrator.headline("express-path: by which path does each subnet reach S3 Express One Zone?")
    with ExitStack() as stack:
        with narrator.step("An AWS on this machine, with a VPC like many", "starting it and building the VPC"):
            sandbox = stack.enter_context(Sandbox())
            automation = stack.enter_context(Automation(sandbox))
            remove_default_vpc(sandbox)
            situation = familiar(sandbox)
        narrator.say(STORY)
        with narrator.step("The function of the rule, and the one that plans heals", "building and starting them"):
            functions = stack.enter_context((in_this_process if in_process else in_lambda_runtime)(sandbox))
        narrator.say(IN_PROCESS if in_process else IN_RUNTIME)
        stage = Stage(narrator, sandbox, functions.evaluate)
        cure_by_hand(stage, situation)
        with narrator.step("Two more VPCs, and the runbooks", "building and storing them"):
            data, reports = without_endpoint(sandbox), owned_by_a_stack(sandbox)
            runbooks = Runbooks(sandbox, automation, functions.plan)
        narrator.say(TWO_MORE)
        Healing(stage, runbooks, data, reports).run()
    narrator.headline(f"Done in {stopwatch}." if stage.fine else "Not everything is as it must be.")
    return stage.fine


if __name__ == "__main__":
    sys.exit(main())
