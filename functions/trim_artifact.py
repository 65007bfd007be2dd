"""Leave in an artifact only what the functions use of botocore's data: operations.json says what each of them calls.

Run by functions/Makefile as `python3 trim_artifact.py ARTIFACTS_DIR OPERATIONS`; standard library only. The reasons, and what
each step saves, are in docs/decisions/0002-trimmed-service-models.md.
"""

import gzip
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OPERATIONS = Path(__file__).with_name("operations.json")
DATA = Path("botocore", "data")
# What an installer leaves and a running function never reads; package metadata and licences stay, because Amazon
# Inspector finds a function's packages by them: https://docs.aws.amazon.com/inspector/latest/user/scanning-lambda.html
CLUTTER = (
    "bin",
    ".lock",
    "boto3/data",
    "boto3/examples",
    "*.dist-info/INSTALLER",
    "*.dist-info/RECORD",
    "*.dist-info/REQUESTED",
    "*.dist-info/uv_cache.json",
    "**/__pycache__",
)


class UnknownOperationError(Exception):
    """operations.json names an operation that botocore's newest model of the service does not have."""


def remove_clutter(artifact: Path) -> None:
    """Delete what an installation leaves and the functions never read."""
    for pattern in CLUTTER:
        for path in sorted(artifact.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def read_json(path: Path) -> dict[str, Any]:
    """Read one of botocore's data files, plain or gzipped, with the SDK's extras merged in as its loader does."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    content: dict[str, Any] = json.loads(text)
    for extras in path.parent.glob(f"{path.name.split('.')[0]}.sdk-extras.json"):
        merge(content, json.loads(extras.read_bytes())["merge"])
    return content


def merge(content: dict[str, Any], extras: dict[str, Any]) -> None:
    """Merge `extras` into `content`, key by key, in place."""
    for key, value in extras.items():
        if isinstance(value, dict) and isinstance(content.get(key), dict):
            merge(content[key], value)
        else:
            content[key] = value


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write `content` without white space: Lambda's zip compresses it, and plain JSON is the quickest to read back."""
    path.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")


def without_documentation(node: Any) -> Any:  # noqa: ANN401  # JSON
    """Copy a model without its prose: `documentation` keys that hold text (a shape's member may have that name).

    Of the parameters of a client, of which there are few, botocore wants it to be there.
    """
    if isinstance(node, dict):
        return {
            key: value if key == "clientContextParams" else without_documentation(value)
            for key, value in node.items()
            if not (key == "documentation" and isinstance(value, str))
        }
    return [without_documentation(item) for item in node] if isinstance(node, list) else node


def shape_names(node: Any) -> Iterator[str]:  # noqa: ANN401  # JSON
    """Yield the name of every shape that a part of a model refers to."""
    if isinstance(node, dict):
        if isinstance(node.get("shape"), str):
            yield node["shape"]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from shape_names(item)


def reachable_shapes(operations: dict[str, Any], shapes: dict[str, Any]) -> dict[str, Any]:
    """Pick the shapes that the operations refer to, directly or through other shapes, in the model's order."""
    reached: set[str] = set()
    waiting = set(shape_names(operations))
    while waiting:
        reached |= waiting
        waiting = {name for shape in waiting for name in shape_names(shapes[shape])} - reached
    return {name: shape for name, shape in shapes.items() if name in reached}


def trim_service(folder: Path, operations: list[str]) -> str:
    """Reduce one service's folder to its newest model with `operations` alone, their paginators, and its endpoints.

    Returns the name that endpoints.json has for the service; raises UnknownOperationError where the model lacks one.
    """
    newest = max(path for path in folder.iterdir() if path.is_dir())
    model_path = newest / "service-2.json.gz"
    model = without_documentation(read_json(model_path))
    for operation in operations:
        if operation not in model["operations"]:
            raise UnknownOperationError(
                f"{OPERATIONS.name}: {folder.name} has no operation {operation} in {model_path}"
            )
    model["operations"] = {name: model["operations"][name] for name in operations}
    model["shapes"] = reachable_shapes(model["operations"], model["shapes"])
    paginators = read_json(newest / "paginators-1.json")["pagination"]
    endpoints = read_json(newest / "endpoint-rule-set-1.json.gz")
    shutil.rmtree(folder)
    newest.mkdir(parents=True)
    write_json(newest / "service-2.json", model)
    write_json(
        newest / "paginators-1.json",
        {"pagination": {name: paginators[name] for name in operations if name in paginators}},
    )
    write_json(newest / "endpoint-rule-set-1.json", endpoints)
    return str(model["metadata"]["endpointPrefix"])


def trim_endpoints(path: Path, services: set[str]) -> None:
    """Keep the endpoints of `services` alone: every client reads this file of all partitions, Regions and services."""
    endpoints = read_json(path)
    for partition in endpoints["partitions"]:
        partition["services"] = {name: at for name, at in partition["services"].items() if name in services}
    write_json(path, endpoints)


def trim_models(artifact: Path, operations: dict[str, list[str]]) -> None:
    """Delete the services that are not used, and trim those that are; files beside them concern all services."""
    used: set[str] = set()
    for folder in sorted(path for path in (artifact / DATA).iterdir() if path.is_dir()):
        if folder.name in operations:
            used.add(trim_service(folder, operations[folder.name]))
        else:
            shutil.rmtree(folder)
    trim_endpoints(artifact / DATA / "endpoints.json", used)


def operations_of_all(functions: dict[str, dict[str, list[str]]]) -> dict[str, list[str]]:
    """Unite what the functions call, by service: each artifact holds the whole package, so it serves them all."""
    called: dict[str, set[str]] = {}
    for services in functions.values():
        for service, operations in services.items():
            called.setdefault(service, set()).update(operations)
    return {service: sorted(called[service]) for service in sorted(called)}


def main(artifact: Path, operations: Path) -> None:
    """Trim the artifact folder in place, to what a file lists by function."""
    remove_clutter(artifact)
    trim_models(artifact, operations_of_all(json.loads(operations.read_bytes())))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
