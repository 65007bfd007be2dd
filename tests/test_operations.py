"""functions/operations.json against the code: every operation that the functions call, and none that they do not."""

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from botocore import xform_name
from botocore.session import get_session

FUNCTIONS = Path(__file__).parents[1] / "functions"
OPERATIONS: dict[str, list[str]] = json.loads((FUNCTIONS / "operations.json").read_bytes())
CALLERS = [path for folder in ("adapters", "handlers") for path in (FUNCTIONS / "express_path" / folder).rglob("*.py")]
# Allowed where the stack names a networkRoleArn, before anything assumes it; to be dropped from here when it does.
AHEAD = {("sts", "AssumeRole")}


@cache
def methods() -> dict[str, tuple[str, str]]:
    """Return the operation behind each method of the clients of all services in use, by the method's name."""
    session = get_session()
    return {
        xform_name(operation): (service, operation)
        for service in OPERATIONS
        for operation in session.get_service_model(service).operation_names
    }


def words(source: str) -> Iterator[str]:
    """Yield what may name a client's method: attributes that are used, and strings such as a paginator's name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def called(source: str) -> set[tuple[str, str]]:
    """Return the operations that a module names."""
    return {methods()[word] for word in words(source) if word in methods()}


def test_calls_are_found_as_methods_and_as_names_of_paginators() -> None:
    """Both ways to call an operation are seen; other names are not taken for one."""
    source = "ec2.get_paginator('describe_subnets'); config.put_evaluations(); subnets.describe_everything()"
    assert called(source) == {("ec2", "DescribeSubnets"), ("config", "PutEvaluations")}


def test_list_of_operations_is_what_the_functions_call() -> None:
    """Nothing is missing and nothing to spare in the list that the role and the artifact are held equal to."""
    listed = {(service, operation) for service, operations in OPERATIONS.items() for operation in operations}
    found = set().union(*(called(path.read_text(encoding="utf-8")) for path in CALLERS))
    assert not found & AHEAD
    assert found | AHEAD == listed


def test_list_of_operations_is_sorted() -> None:
    """The list has one order, so that two changes of it do not collide without need."""
    assert list(OPERATIONS) == sorted(OPERATIONS)
    assert all(operations == sorted(set(operations)) for operations in OPERATIONS.values())
