"""The sandbox to practice in, `make sandbox`: the stack of template.yaml on the sandbox, until Ctrl-C.

The stack is the real template. `make sandbox ORG=1` has an organization instead, to which nothing is deployed.
"""

import argparse
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from config_rule_sandbox.server import Sandbox
from demo.deployment import deploy
from demo.local_aws import local_aws
from demo.organization import PracticeOrganization
from demo.situations import familiar, owned_by_a_stack, remove_default_vpc, without_endpoint

GUIDE = """\
A local AWS runs until you press Ctrl-C. The stack express-path is deployed. Nothing here is in your AWS account.
Copy these lines into another terminal:

{variables}

Then try:

# Five subnets in three VPCs use a NAT
express-path scan
# Show the plan, ask, create an endpoint, verify
express-path heal {data}
# Past heals, and the command that undoes each
express-path heals
# Show what it changes, ask, and undo the heal
express-path undo RUN-ID
# Blocked, because a CloudFormation stack owns the endpoint
express-path heal {reports}
# No heal changes anything until express-path start
express-path stop --reason practice
# Check the stack
express-path doctor
"""


def main() -> None:
    """Start everything, print what to copy, and stay until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m demo.practice", description="Start a local AWS to practice in.")
    parser.add_argument("--organization", action="store_true", help="with an organization, for a roll-out")
    options = parser.parse_args()
    with suppress(KeyboardInterrupt), local_aws() as aws:
        sandbox = aws.sandbox
        remove_default_vpc(sandbox)
        guide = of_organization(sandbox) if options.organization else of_account(sandbox)
        aws.look()
        sys.stdout.write(guide)
        sys.stdout.flush()
        aws.run()


def of_organization(sandbox: Sandbox) -> str:
    """Create the organization, and return the guide."""
    return PracticeOrganization(sandbox).guide(exports(sandbox))


def of_account(sandbox: Sandbox) -> str:
    """Build the VPCs, deploy the stack, and return the guide."""
    familiar(sandbox)
    data, reports = without_endpoint(sandbox), owned_by_a_stack(sandbox)
    deploy(sandbox)
    names = {"data": data["data-private"], "reports": reports["reports-private"]}
    return GUIDE.format(variables="\n".join(exports(sandbox)), **names)


def exports(sandbox: Sandbox) -> list[str]:
    """Return the lines that point the command of this environment at the sandbox."""
    folder = shlex.quote(str(Path(sys.executable).parent))
    variables = [f"export {name}={value}" for name, value in sandbox.environment().items()]
    return [f"export PATH={folder}:$PATH", "export NO_PROXY=127.0.0.1", "unset AWS_PROFILE", *variables]


if __name__ == "__main__":
    main()
