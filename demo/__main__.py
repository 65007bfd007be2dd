"""The demonstration, `make demo`: the rule and the runbooks on the sandbox, without an AWS account.

The exit status is 0 if every verdict and plan was as expected, 1 if not, 2 if the demonstration could not run, and 130
if it was interrupted.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack

from rich.console import Console

from config_rule_sandbox.aws_lambda.emulator import RuntimeStartError
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.iam.unchecked import unchecked
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from demo.by_hand import fix_by_hand
from demo.deployment import deploy
from demo.function import BuildError, in_lambda_runtime, in_this_process, runs_on_lambda_runtime
from demo.healing import Healing
from demo.output import Narrator, Stopwatch
from demo.runbooks import Runbooks
from demo.situations import familiar, owned_by_a_stack, remove_default_vpc, without_endpoint
from demo.stage import Stage

STORY = """\
Three private subnets in three Availability Zones reach the internet through a NAT gateway, which charges for every \
byte. The VPC has a gateway endpoint for S3 ("s3"), but that endpoint does not serve S3 Express. It also has one for \
S3 Express ("s3express"), but that one is associated with the main route table, which no subnet uses. There are also a \
public subnet and an isolated subnet."""

IN_RUNTIME = """\
Both functions run from one artifact. It is built for this machine's Python and processor by the Makefile that also \
builds it for AWS, and runs in AWS's own Lambda runtime (the Runtime Interface Emulator)."""

IN_PROCESS = "The functions are called in this process. They return what they return in Lambda; start and speed differ."

PEOPLE = """\
From here on, the sandbox checks every permission. A person with deployer-policy.json deployed the stack, and one with \
the policy of docs/troubleshoot.md starts the runbooks. The functions and the runbooks act with the stack's roles."""

TWO_MORE = """\
"data" has no endpoint for S3 Express. "reports" has one, but on the wrong route table, and a CloudFormation stack \
owns it. The runbooks are the files in the folder runbooks. The sandbox runs them like Systems Manager, with shorter \
waits."""


INTERRUPTED = 130
"""The exit status that shells use for a program that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration and return its exit status; `arguments` are those of the command line unless given."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="Show what the rule and the runbooks do.")
    parser.add_argument(
        "--in-process",
        action="store_true",
        help="call the functions in this process, without the Lambda runtime, which needs Linux",
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
    """Run the demonstration; return whether every verdict and plan was as expected."""
    stopwatch = Stopwatch()
    narrator.headline("express-path: find and fix subnets that reach S3 Express One Zone through a NAT")
    with ExitStack() as stack:
        with narrator.step("A local AWS with a typical VPC", "starting it and building the VPC"):
            sandbox = stack.enter_context(Sandbox())
            automation = stack.enter_context(Automation(sandbox))
            remove_default_vpc(sandbox)
            situation = familiar(sandbox)
        narrator.say(STORY)
        with narrator.step("The stack, with the rule and the runbooks", "deploying it, and starting its functions"):
            deployed = deploy(sandbox)
            run = in_this_process if in_process else in_lambda_runtime
            functions = stack.enter_context(run(sandbox, deployed))
            stack.enter_context(enforced(sandbox))
        narrator.say(IN_PROCESS if in_process else IN_RUNTIME)
        narrator.say(PEOPLE)
        stage = Stage(narrator, sandbox, functions.evaluate, deployed)
        fix_by_hand(stage, situation)
        with narrator.step("Two more VPCs", "building them"), unchecked():
            data, reports = without_endpoint(sandbox), owned_by_a_stack(sandbox)
            runbooks = Runbooks(sandbox, automation, functions.plan, deployed)
        narrator.say(TWO_MORE)
        Healing(stage, runbooks, data, reports).run()
    narrator.headline(f"Done in {stopwatch}." if stage.fine else "Not everything was as expected.")
    return stage.fine


if __name__ == "__main__":
    sys.exit(main())
