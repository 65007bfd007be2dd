"""The artifact that functions/Makefile builds is reproducible, compiled, and trimmed without changing any call.

The builds work offline: what they install is in uv's cache, because .venv has the same locked packages.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel, Shape
from botocore.regions import EndpointResolver

import compile_artifact
import trim_artifact
from config_rule_sandbox.aws_lambda.runtime import LambdaRuntime
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.event_bus import ATTEMPTS
from express_path.adapters.heal_requests import CONTRACT
from express_path.domain.heal.records import FULL_ACCESS
from tests.support.ledgers import LEDGER, LedgerTable, heal_id
from tests.support.network import Builder, Private
from tests.support.rule import RULE

pytestmark = pytest.mark.slow

FUNCTIONS = Path(__file__).parents[1] / "functions"
LISTED: dict[str, dict[str, list[str]]] = json.loads((FUNCTIONS / "operations.json").read_bytes())
OPERATIONS = trim_artifact.operations_of_all(LISTED)
PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
ENTRY = """
from express_path.handlers import plan_heal

def handler(event, context):
    context.invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:plan"
    return plan_heal.handler(event, context)
"""
POLICY = FULL_ACCESS
DIRECTORY = {
    "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
    "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
}
TARGET = [f"PYTHON_VERSION={PYTHON_VERSION}", "PLATFORM=x86_64-manylinux_2_28"]


def make(artifact: Path, *settings: str) -> "subprocess.CompletedProcess[str]":
    """Build the function's artifact as `sam build` does, for the interpreter that runs this test."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["make", "-C", str(FUNCTIONS), "build-EvaluateFunction", f"ARTIFACTS_DIR={artifact}", *TARGET, *settings]
    environment = {**os.environ, "PATH": path, "UV_OFFLINE": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an artifact built for the interpreter that runs this test."""
    folder = tmp_path_factory.mktemp("artifact") / "EvaluateFunction"
    built = make(folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def trimmed(artifact: Path) -> Loader:
    """Return a botocore loader that has only the artifact's data."""
    return Loader([str(artifact / "botocore" / "data")], include_default_search_paths=False)


@pytest.fixture(scope="module")
def full() -> Loader:
    """Return a botocore loader that has all of botocore's data."""
    return Loader()


def operation(loader: Loader, service: str, name: str) -> OperationModel:
    """Return an operation's model from a loader."""
    return ServiceModel(loader.load_service_model(service, "service-2"), service).operation_model(name)


def described(shape: Shape | None, seen: frozenset[str] = frozenset()) -> Any:
    """Return everything that botocore needs to serialize or parse a shape, with its members, without prose."""
    if shape is None or shape.name in seen:
        return None if shape is None else shape.name
    seen |= {shape.name}
    inner = {name: described(member, seen) for name, member in getattr(shape, "members", {}).items()}
    parts = {part: described(getattr(shape, part), seen) for part in ("member", "key", "value") if hasattr(shape, part)}
    return shape.name, shape.type_name, shape.serialization, shape.metadata, inner, parts


def files(folder: Path) -> dict[str, tuple[bytes | None, float]]:
    """Return each path below a folder with its content (None for a folder) and its modification time."""
    return {
        str(path.relative_to(folder)): (path.read_bytes() if path.is_file() else None, path.stat().st_mtime)
        for path in folder.rglob("*")
    }


@pytest.mark.long
def test_two_builds_are_equal_to_the_byte(artifact: Path, tmp_path: Path) -> None:
    """The same input builds the same files with the same times, so an unchanged artifact is not deployed again."""
    again = tmp_path / "again"
    assert make(again).returncode == 0
    assert files(again) == files(artifact)


def test_artifact_holds_the_package_and_no_clutter(artifact: Path) -> None:
    """The artifact has the package and its licenses, but no leftovers of an installer or a build."""
    found = files(artifact)
    assert any(name.startswith("boto3-") and name.endswith("METADATA") for name in found)
    assert any(name.startswith("boto3-") and "LICENSE" in name for name in found)
    assert not [name for name in found if name.endswith(("RECORD", ".lock", "trim_artifact.py", "requirements.txt"))]
    assert not [name for name in found if name.split("/")[0] in {"bin", "tests", "tests.py"}]


def test_artifact_has_the_whole_package(artifact: Path) -> None:
    """Every file of the source package is in the artifact, unchanged."""
    source = FUNCTIONS / "express_path"
    for path in source.rglob("*.py"):
        assert (artifact / "express_path" / path.relative_to(source)).read_bytes() == path.read_bytes()


def test_every_module_is_compiled_for_a_clock_that_lambda_resets(artifact: Path) -> None:
    """Each module has a .pyc that ignores modification times and names the source file as Lambda does."""
    sources = [path for path in artifact.rglob("*.py") if path.parent.name != "__pycache__"]
    assert len(sources) > 100
    for path in sources:
        compiled = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
        content = compiled.read_bytes()
        assert content[4:8] == b"\x01\0\0\0"  # PEP 552: bit 0 is "by hash", bit 1 would be "check the source"
        assert f"/var/task/{path.relative_to(artifact)}".encode() in content


def test_without_the_right_interpreter_the_build_says_what_it_costs(
    artifact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without that Python version, the build compiles nothing and warns about slower cold starts."""
    before = files(artifact)
    compile_artifact.main(artifact, "3.99")
    assert "no Python 3.99 was found" in capsys.readouterr().err
    assert files(artifact) == before


def test_a_shim_that_does_not_start_is_no_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A python on PATH that fails or has another version is skipped."""
    shim = tmp_path / f"python{PYTHON_VERSION}"
    shim.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent)]))
    found = compile_artifact.find_interpreter(PYTHON_VERSION)
    assert found is not None
    assert found != str(shim)
    assert not compile_artifact.is_version(str(shim), PYTHON_VERSION)


def test_only_the_services_and_operations_in_use_are_left(trimmed: Loader) -> None:
    """Botocore's models have exactly the operations of operations.json, for all functions together."""
    assert OPERATIONS.keys() == {service for services in LISTED.values() for service in services}
    assert set(trimmed.list_available_services("service-2")) == OPERATIONS.keys()
    for service, operations in OPERATIONS.items():
        assert sorted(trimmed.load_service_model(service, "service-2")["operations"]) == operations


@pytest.mark.parametrize(
    ("service", "name"), [(service, name) for service, names in OPERATIONS.items() for name in names]
)
def test_an_operation_is_written_and_parsed_as_before(service: str, name: str, trimmed: Loader, full: Loader) -> None:
    """The input, output, and errors of each operation are the same as in botocore, shape by shape."""
    ours, theirs = operation(trimmed, service, name), operation(full, service, name)
    assert ours.http == theirs.http
    assert ours.service_model.metadata == theirs.service_model.metadata
    assert described(ours.input_shape) == described(theirs.input_shape)
    assert described(ours.output_shape) == described(theirs.output_shape)
    assert [described(error) for error in ours.error_shapes] == [described(error) for error in theirs.error_shapes]
    for trait in ("auth_type", "unsigned_payload", "endpoint", "http_checksum", "static_context_parameters"):
        assert getattr(ours, trait) == getattr(theirs, trait)


@pytest.mark.parametrize("service", OPERATIONS)
def test_pagination_and_endpoints_are_as_before(service: str, trimmed: Loader, full: Loader) -> None:
    """Each operation's pagination and each service's endpoint are the same as in botocore."""
    paginators = full.load_service_model(service, "paginators-1")["pagination"]
    expected = {name: paginators[name] for name in OPERATIONS[service] if name in paginators}
    assert trimmed.load_service_model(service, "paginators-1")["pagination"] == expected
    rules = [loader.load_service_model(service, "endpoint-rule-set-1") for loader in (trimmed, full)]
    assert rules[0] == rules[1]
    models = [ServiceModel(loader.load_service_model(service, "service-2"), service) for loader in (trimmed, full)]
    assert models[0].client_context_parameters == models[1].client_context_parameters


@pytest.mark.parametrize("service", OPERATIONS)
def test_endpoints_of_every_region_are_as_before(service: str, trimmed: Loader, full: Loader) -> None:
    """Endpoints in every partition and Region are the same as in botocore."""
    ours, theirs = (EndpointResolver(loader.load_data("endpoints")) for loader in (trimmed, full))
    prefix = full.load_service_model(service, "service-2")["metadata"]["endpointPrefix"]
    assert ours.get_available_partitions() == theirs.get_available_partitions()
    for partition in theirs.get_available_partitions():
        regions = theirs.get_available_endpoints(prefix, partition)
        assert ours.get_available_endpoints(prefix, partition) == regions
        for region in [*regions, "xx-new-1"]:
            ours_at, theirs_at = (resolver.construct_endpoint(prefix, region, partition) for resolver in (ours, theirs))
            assert ours_at == theirs_at


@pytest.fixture
def artifact_of_the_account(artifact: Path, tmp_path: Path) -> Path:
    """Return the artifact with its own entry point, because the emulator gives all functions the same account."""
    folder = tmp_path / "artifact"
    shutil.copytree(artifact, folder, copy_function=os.link)
    (folder / "entry.py").write_text(ENTRY, encoding="utf-8")
    return folder


@pytest.mark.runtime
def test_artifact_plans_a_heal_in_the_lambda_runtime(artifact_of_the_account: Path, sandbox: Sandbox) -> None:
    """In Lambda's own runtime, the trimmed clients can make all calls of a plan."""
    settings = {"LEDGER_TABLE_NAME": LEDGER, "ENDPOINT_POLICY_PARAMETER": "/policy", "CHANGE_CALENDAR_NAME": "changes"}
    with Automation(sandbox) as automation:
        automation.knobs.open_calendars.add("changes")
        network = Private(Builder(sandbox))
        sandbox.client("ssm").put_parameter(Name="/policy", Value=POLICY, Type="String")
        sandbox.client("s3").create_bucket(Bucket="data--use1-az4--x-s3", CreateBucketConfiguration=DIRECTORY)
        claim = {"state": "CLAIMED", "runId": heal_id(1), "expiresAt": int(time.time()) + 600}
        LedgerTable(sandbox).write(f"TABLE#{network.table}", **claim)
        sandbox.calls.clear()
        question = {"contract": CONTRACT, "subnetId": network.subnet, "runId": heal_id(2), "startedBy": "PERSON"}
        with LambdaRuntime(artifact_of_the_account, "entry.handler", sandbox.environment() | settings) as runtime:
            answer = runtime.invoke(question | {"action": "plan", "dryRun": "true"})
            seen = {"routeTableId": network.table, "vpcId": network.vpc, "seenRun": "NONE", "seenState": "NONE"}
            turn = runtime.invoke(question | {"action": "turn"} | seen)
        called = {(call.service, call.operation) for call in sandbox.calls}
    assert (answer["details"]["verdict"]["reason"], turn["next"]) == ("NAT_GATEWAY", "CLAIM")
    assert called <= {(service, name) for service, names in LISTED["plan_heal"].items() for name in names}
    assert {("ssm", name) for name in ("GetParameter", "GetCalendarState", "GetAutomationExecution")} <= called
    assert {("dynamodb", "GetItem"), ("s3", "GetBucketPolicy"), ("ec2", "DescribeNetworkAcls")} <= called


@pytest.mark.runtime
def test_artifact_sweeps_in_the_lambda_runtime(artifact: Path, sandbox: Sandbox) -> None:
    """In Lambda's own runtime, the trimmed clients can make all calls of a sweep whose events cannot be published."""
    network = Private(Builder(sandbox))
    template = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
    made = sandbox.client("cloudformation").create_stack(StackName="express-path", TemplateBody=template)
    settings = {"STACK_ID": made["StackId"]}
    handler = "express_path.handlers.evaluate.handler"
    sandbox.eventbridge.fail_entries("InternalFailure", times=ATTEMPTS * 4)
    with (
        Automation(sandbox),
        LambdaRuntime(artifact, handler, sandbox.environment() | settings) as runtime,
    ):
        loop = ConfigLoop(sandbox, runtime.invoke, rule=RULE)
        delivery = loop.scheduled()
        lines = [line for line in runtime.logs().splitlines() if line.startswith("{")]
    assert (delivery.attempts, delivery.error) == (1, None)
    assert {result.resource[1] for result in loop.results.of_rule(RULE.name)} == {network.subnet, network.public_subnet}
    called = {(call.service, call.operation) for call in sandbox.calls}
    assert called >= {
        ("cloudwatch", "GetMetricData"),
        ("config", "PutEvaluations"),
        ("events", "PutEvents"),
        ("ssm", "DescribeAutomationExecutions"),
    }
    metrics = [json.loads(line) for line in lines if '"_aws"' in line]
    assert [line["NonCompliant"] for line in metrics if "NonCompliant" in line] == [1]
    assert any('"message":"events not published"' in line for line in lines)


def test_an_operation_that_botocore_does_not_have_stops_the_build(tmp_path: Path) -> None:
    """The build names a misspelled operation and its model, so it does not fail later in Lambda."""
    folder = tmp_path / "sts" / "2011-06-15"
    folder.mkdir(parents=True)
    loader = Loader()
    model = Path(loader.load_data_with_path("sts/2011-06-15/service-2")[1])
    (folder / "service-2.json.gz").write_bytes(model.with_suffix(".json.gz").read_bytes())
    with pytest.raises(trim_artifact.UnknownOperationError, match="sts has no operation AssumeRoll in "):
        trim_artifact.trim_service(folder.parent, ["AssumeRole", "AssumeRoll"])


def test_build_refuses_a_folder_that_is_not_empty(artifact: Path) -> None:
    """The build refuses a folder that is not empty, because old files would remain in it."""
    before = files(artifact)
    refused = make(artifact)
    assert refused.returncode != 0
    assert f"{artifact} is not empty" in refused.stderr
    assert files(artifact) == before
