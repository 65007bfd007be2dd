"""What functions print is in their log groups, also if their handlers run in this process."""

import io
import json
import logging
import sys
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from config_rule_sandbox.aws_lambda.executions import Executions
from config_rule_sandbox.server import Sandbox

TRUST = {
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]
}
HANDLER = "app.handler"


def deploy(sandbox: Sandbox) -> str:
    """Create the function, whose code is not run, and return its ARN."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("app.py", "")
    role = sandbox.client("iam").create_role(RoleName="greets", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]
    made = sandbox.client("lambda").create_function(
        FunctionName="greeter",
        Runtime="python3.13",
        Handler=HANDLER,
        Role=role["Arn"],
        Code={"ZipFile": archive.getvalue()},
    )
    return str(made["FunctionArn"])


def test_handlers_of_this_process_log_in_each_sandbox(sandbox: Sandbox) -> None:
    """A logger is made when its module is imported: before all sandboxes of the process, or in the first one."""
    loggers = {name: logging.getLogger(f"greeter-{name}") for name in ("before", "first")}

    def log_to_output(logger: logging.Logger) -> None:
        if not logger.handlers:
            logger.addHandler(logging.StreamHandler(sys.stdout))

    def make(_variables: Mapping[str, str]) -> Callable[..., Any]:
        log_to_output(loggers["first"])
        return lambda event, _context: [logger.warning(event["name"]) for logger in loggers.values()]

    log_to_output(loggers["before"])
    for name in ("Ada", "Grace"):
        sandbox.reset()
        arn = deploy(sandbox)
        Executions(sandbox, {HANDLER: make}).invoke(arn, {"name": name})
        events = sandbox.client("logs").filter_log_events(logGroupName="/aws/lambda/greeter")["events"]
        assert [event["message"] for event in events] == [name, name]
