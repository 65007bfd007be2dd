"""The local AWS of `make sandbox` and of the acceptance run, on which the functions of express-path run from this checkout.

`python -m demo.local_aws` prints the environment that leads to it, and runs until it is ended. With a list of policies as
JSON, permissions are enforced, and the environment is that of a person who has these policies and no others.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import boto3

from config_rule_sandbox.local_aws import LocalAws, serve
from demo.function import EVALUATE, HEALTH, PLAN, handler_of


def local_aws() -> LocalAws:
    """Return the local AWS. What is deployed there as express-path's code is not run: this checkout's code is."""

    def made(name: str, variables: Mapping[str, str]) -> Callable[..., Any]:
        # A session of its own has the credentials of the function's role; boto3's default one keeps those that it had first.
        account_id = boto3.Session().client("sts").get_caller_identity()["Account"]
        return handler_of(name, os.environ | dict(variables), account_id)

    return LocalAws(handlers={name: partial(made, name) for name in (EVALUATE, HEALTH, PLAN)})


if __name__ == "__main__":
    serve(local_aws(), sys.argv[1:])
