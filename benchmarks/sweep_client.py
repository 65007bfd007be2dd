"""One measured run of the sweep benchmark, a process of its own, which reads an event from standard input.

    python -m benchmarks.sweep_client bare|verdicts|sweep

`bare` describes everything, page by page, and throws it away: the floor. `verdicts` reads the same and judges every
subnet. `sweep` is the function as the schedule invokes it, cold. Prints, last, its peak of memory in MiB.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

# The pages that express-path asks for, so that the number of calls is the same.
BARE = {
    "describe_subnets": ("Subnets", 1000),
    "describe_route_tables": ("RouteTables", 100),
    "describe_vpc_endpoints": ("VpcEndpoints", 1000),
    "describe_nat_gateways": ("NatGateways", 1000),
    "describe_prefix_lists": ("PrefixLists", None),
}


def bare(_event: dict[str, str]) -> int:
    """Describe all, keeping one kind at a time, as `for page in paginator.paginate()` does."""
    import boto3

    ec2 = boto3.Session().client("ec2")
    found = {}
    for operation, (field, size) in BARE.items():
        paging = {"PaginationConfig": {"PageSize": size}} if size else {}
        found[field] = [
            row for page in ec2.get_paginator(cast("Any", operation)).paginate(**paging) for row in page[field]
        ]
    return len(found["Subnets"])


def verdicts(event: dict[str, str]) -> int:
    """Read the snapshot of the account and judge every subnet."""
    from express_path.adapters.aws import Aws
    from express_path.adapters.network_reader import SnapshotReader
    from express_path.domain.path.tracing import Tracer
    from express_path.domain.verdict.evaluator import Evaluator
    from express_path.domain.verdict.parameters import RuleParameters

    parameters = RuleParameters()
    snapshot = SnapshotReader(Aws.connect()).read(event["accountId"], None, parameters)
    evaluator = Evaluator(Tracer(snapshot), parameters)
    return len([evaluator.verdict(subnet_id) for subnet_id in snapshot.subnets])


def sweep(event: dict[str, str]) -> int:
    """Invoke the function with an event of the schedule; returns how many verdicts it posted."""
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from express_path.handlers.evaluate import handler

    context = LambdaContext()
    for name in ("function_name", "function_version", "invoked_function_arn", "aws_request_id"):
        setattr(context, f"_{name}", name)
    context._memory_limit_in_mb = 1024  # noqa: SLF001  # Lambda makes contexts, nobody else can
    return int(handler(event, context)["posted"])


def peak() -> float:
    """The most memory that this program held, in MiB; ru_maxrss would begin with that of the process it came from."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


WAYS: dict[str, Callable[[dict[str, str]], int]] = {"bare": bare, "verdicts": verdicts, "sweep": sweep}

if __name__ == "__main__":
    os.environ.setdefault("POWERTOOLS_LOG_LEVEL", "CRITICAL")
    os.environ.setdefault("POWERTOOLS_METRICS_DISABLED", "true")
    WAYS[sys.argv[1]](json.load(sys.stdin))
    print(peak())
