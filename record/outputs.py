"""Record what the command writes, and compare two trees. See README.md.

python record/outputs.py record TREE FILE runs a fixed list of command lines with the code of TREE. It knows only the
command line, and test support by the names of its classes and functions, because modules move.
"""

import difflib
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FORMATS = ("table", "json", "csv", "markdown", "html", "junit", "sarif", "asff", "ocsf")
CLOSELY = (
    "appliance-loop",
    "customer-list-to-nat",
    "directory-buckets-none",
    "dual-stack-nat-and-egress-only",
    "equal-static-route-beats-the-prefix-list",
    "exclude-tag-key-and-value",
    "firewall-then-endpoint-and-nat",
    "halves-of-everything",
)
"""Networks that are recorded in every format and with every option, beside all recordings."""
NORMALIZED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?"), "<time>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b(?! [A-Z]{2})"), "<clock>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d\b"), "<date>"),
    (re.compile(r"(?<=time\":)( ?)\d{13}\b"), r"\g<1>0"),
    (re.compile(r"\blast ran \d+ (minutes?|hours?) ago"), "last ran <time> ago"),
    (re.compile(r"\bin \d+(\.\d+)? (ms|s|seconds?)\b"), "in <seconds>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<sandbox>"),
    (re.compile(r"express-path/[\w.+]+"), "express-path/<version>"),
)


class Recorder:
    """Runs command lines in one folder and keeps what they wrote."""

    def __init__(self, tree: Path, folder: Path) -> None:
        """Prepare to run the command of a tree."""
        self.tree, self.folder = tree, folder
        self.records: dict[str, dict[str, Any]] = {}
        self.sandbox: Any = None
        self.where = ""
        from typer.testing import CliRunner  # noqa: PLC0415  # the tree's path comes first

        self._invoke = CliRunner().invoke
        self._app = importlib.import_module("express_path_cli.main").app

    def run(self, *words: str, calls: str = "counted") -> str:
        """Run a command line, record it, and return its standard output as it is."""
        before = self._files()
        if self.sandbox:
            self.sandbox.calls.clear()
        result = self._invoke(self._app, list(words))
        record = {
            "exit": int(result.exit_code),
            "stdout": result.stdout,
            "stderr": result.stderr,
            "files": {name: text for name, text in self._files().items() if before.get(name) != text},
        }
        if result.exception and not isinstance(result.exception, SystemExit):
            record["exception"] = repr(result.exception)
        if self.sandbox:
            record["calls"] = self._calls(calls)
        line = self._normalized(" ".join([self.where, "$ express-path", *words]))
        while line in self.records:
            line += " (again)"
        self.records[line] = self._normalized(record)
        return result.stdout

    def _files(self) -> dict[str, str]:
        found = [file for file in self.folder.rglob("*") if file.is_file() and "dumps" not in file.parts]
        return {str(file.relative_to(self.folder)): file.read_text("utf-8", "replace") for file in sorted(found)}

    def _calls(self, how: str) -> list[str]:
        """Return the AWS calls, sorted as threads make them in any order.

        They are counted, or `some` as a run is looked at until it ends, or counted `anywhere`, as any account will do.
        """
        made = Counter(
            f"{call.service}:{call.operation}" + (f" {call.account_id} {call.region}" if how != "anywhere" else "")
            for call in self.sandbox.calls
        )
        return [f"{'some' if how == 'some' else number} {call}" for call, number in sorted(made.items())]

    def _normalized(self, record: Any) -> Any:  # JSON
        if isinstance(record, dict):
            return {key: self._normalized(value) for key, value in record.items()}
        if isinstance(record, list):
            return [self._normalized(value) for value in record]
        if isinstance(record, str):
            record = record.replace(str(self.folder), "<folder>")
            for pattern, word in NORMALIZED:
                record = pattern.sub(word, record)
            if self.where == "heals":  # threads draw random numbers in any order
                record = re.sub(r"\bvpce-[0-9a-f]{17}\b", "<endpoint>", record)
        return record

    @contextmanager
    def scene(self, name: str) -> Iterator[None]:
        """Record why a scene cannot be set up, so that this does not go unnoticed."""
        self.where = name
        print(name, file=sys.stderr, flush=True)
        try:
            yield
        except Exception:  # noqa: BLE001  # recorded
            traceback.print_exc()
            self.records[f"{name} cannot be set up"] = {"stderr": traceback.format_exc(limit=-1)}
        finally:
            self.where = ""

    def the(self, name: str, near: str = "", has: str = "") -> Any:  # whatever it is
        """Return a class or function of the tree's test support or sandbox, wherever it is now."""
        pattern = re.compile(rf"^(?:class|def) {name}\b|^{name}(?::.*)? = ", re.MULTILINE)
        for root in ("tests", "sandbox", "instrument", "integrations"):
            for file in sorted((self.tree / root).rglob("*.py")):
                text = file.read_text(encoding="utf-8") if near in file.stem else ""
                if has in text and pattern.search(text):
                    parts = file.relative_to(self.tree).with_suffix("").parts
                    parts = parts[1:] if parts[0] == parts[1] else parts
                    return getattr(importlib.import_module(".".join(parts)), name)
        raise LookupError(name)


def dumps(recorder: Recorder) -> None:
    """Scan every network and recording; look closely at some."""
    scenarios = importlib.import_module("tests.support.scenarios")
    for name in scenarios.names():
        shutil.copytree(scenarios.dump_of(name), recorder.folder / "dumps" / name)
        source = ("--from-dump", f"dumps/{name}")
        recorder.run("scan", *source)
        document = recorder.run("scan", *source, "--format", "json")
        if name not in CLOSELY and scenarios.dump_of(name).parent.name != "recordings":
            continue
        for form in FORMATS[2:]:
            recorder.run("scan", *source, "--format", form)
        for options in (
            ("--details",),
            ("--details", "--verdict", "COMPLIANT"),
            *(("--group-by", by) for by in ("table", "vpc", "account", "region", "reason", "tag:owner")),
            ("--tags", "owner,Name"),
            ("--tags", "Name", "--format", "csv"),
            ("--fail-on", "never"),
            ("--fail-on", "COMPLIANT"),
            ("--fail-on", "NAT_GATEWAY"),
            ("--verdict", "NON_COMPLIANT"),
            ("--vpc", "vpc-0none"),
            ("--parameter", "unresolvedEgress=NON_COMPLIANT"),
            ("--parameter", "nonsense=1"),
            ("--output", f"{name}.md"),
            ("--quiet", "--output", f"{name}.html"),
        ):
            recorder.run("scan", *source, *options)
        (recorder.folder / "before.json").write_text(document or "{}", encoding="utf-8")
        for options in ((), ("--fail-on", "new"), ("--format", "json"), ("--format", "markdown")):
            recorder.run("scan", *source, "--baseline", "before.json", *options)
        (recorder.folder / "history").mkdir(exist_ok=True)
        (recorder.folder / "history" / "first.json").write_text(document or "{}", encoding="utf-8")
        recorder.run("report", *source, "--output", f"{name}-report.html")
        recorder.run("report", *source, "--tags", "owner", "--history", "history", "--output", f"{name}-trend.html")
        for subnet in [row["subnetId"] for row in json.loads(document or '{"subnets": []}')["subnets"]][:6]:
            recorder.run("explain", subnet, *source)
            recorder.run("explain", subnet, *source, "--format", "json")
        for file in recorder.folder.glob("*.*"):
            file.unlink()


def refusals(recorder: Recorder) -> None:
    """Run wrong command lines, help, and the version."""
    paths = ["scan", "explain", "report", "cost", "diagnose", "heal", "undo", "heals", "doctor", "org", "org check"]
    paths += [
        "org status",
        "collect",
        "bench",
        *(f"bench {name}" for name in ("put", "get", "open", "sync", "compare")),
    ]
    for path in ["", *paths]:
        recorder.run(*path.split(), "--help")
    for words in (
        [],
        ["--version"],
        ["nonsense"],
        ["scan", "--format", "yaml"],
        ["scan", "--from-dump", "none"],
        ["scan", "--from-dump", "none", "--region", "us-east-1"],
        ["scan", "--group-by", "color"],
        ["scan", "--fail-on", "NOTHING"],
        ["scan", "--baseline", "none.json"],
        ["explain"],
        ["explain", "nonsense"],
        ["heal"],
        ["heal", "--from", "none.json"],
        ["undo"],
        ["undo", "nonsense"],
        ["cost", "--days", "0"],
        ["diagnose", "--hours", "0"],
        ["bench", "compare"],
        ["bench", "compare", "none.json", "other.json"],
        ["org", "check"],
        ["org", "status"],
    ):
        recorder.run(*words)


def benches(recorder: Recorder) -> None:
    """Compare the recorded measurements."""
    found = sorted(recorder.tree.glob("**/tests/**/bench/recorded/*.json")) or sorted(
        recorder.tree.glob("**/recorded/published-*.json")
    )
    for file in found:
        shutil.copy(file, recorder.folder / file.name)
    pairs = (
        ("published-nat-gateway", "published-endpoint"),
        ("lab-nat", "lab-endpoint"),
        ("throttled", "published-nat-gateway"),
    )
    for pair in pairs:
        files = [f"{name}.json" for name in pair]
        for options in (
            (),
            ("--format", "json"),
            ("--chart", "chart.svg"),
            ("--cost-per-hour", "0.1", "--cost-per-hour", "0.2"),
        ):
            recorder.run("bench", "compare", *files, *options)
    recorder.run("bench", "compare", "lab-nat.json")


def network(recorder: Recorder) -> None:
    """Look at an account with every kind of path."""
    recorder.the("Everything")(recorder.the("Account", has="def nat_gateway")(recorder.sandbox))
    for form in FORMATS:
        recorder.run("scan", "--format", form)
    document = json.loads(recorder.run("scan", "--format", "json"))
    for options in (
        ("--details",),
        ("--tags", "Name"),
        ("--all-regions",),
        ("--region", "us-east-1", "--region", "eu-west-1"),
        ("--group-by", "reason"),
        ("--profile", "none"),
        ("--vpc", document["subnets"][0]["vpcId"]),
        ("--tag", "express-path:exclude"),
        ("--aggregator", "none"),
        ("--organization", "--role-name", "none"),
    ):
        recorder.run("scan", *options)
    for row in document["subnets"][::5]:
        recorder.run("explain", row["subnetId"])
    recorder.run("explain", document["subnets"][0]["subnetId"], "--format", "json")
    recorder.run("explain", "subnet-0a1b2c3d4e5f60718")
    recorder.run("report", "--output", "live.html")
    recorder.run("collect", "collected")
    recorder.run("collect", "collected")
    recorder.run("scan", "--from-dump", "collected")
    for words in (["cost"], ["diagnose"], ["doctor"], ["heals"], ["heal", document["subnets"][0]["subnetId"]]):
        recorder.run(*words)
        recorder.run(*words, *(() if words[0] == "heal" else ("--format", "json")))
    for service, operation in (
        ("ec2", "DescribeRouteTables"),
        ("ec2", "DescribeSubnets"),
        ("ec2", "DescribePrefixLists"),
        ("ec2", "DescribeTransitGatewayAttachments"),
        ("ec2", "GetManagedPrefixListEntries"),
        ("network-firewall", "DescribeFirewall"),
        ("s3", "ListDirectoryBuckets"),
        ("sts", "GetCallerIdentity"),
    ):
        recorder.where = f"network, {operation} denied"
        recorder.sandbox.faults.deny(service, operation)
        recorder.run("scan", "--format", "json")
        recorder.sandbox.faults.clear()


def traffic(recorder: Recorder) -> None:
    """Price and diagnose the traffic of a NAT gateway."""
    vpc = recorder.the("BehindNatGateway")(recorder.the("Account", has="def nat_gateway")(recorder.sandbox))
    yesterday = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    place = (recorder.sandbox.account_id, recorder.sandbox.region)
    for share, metric in enumerate(
        ("BytesInFromSource", "BytesOutToDestination", "BytesInFromDestination", "BytesOutToSource"), 1
    ):
        points = [(yesterday + timedelta(hours=hour), share * 1e9) for hour in range(24)]
        recorder.sandbox.metrics.record(vpc.nat, metric, points, None, place)
    for options in (
        ("--days", "3"),
        ("--days", "3", "--price-per-gb", "0.05"),
        ("--days", "3", "--format", "json"),
    ):
        recorder.run("cost", *options)
    (recorder.folder / "cost.json").write_text(
        recorder.run("cost", "--days", "3", "--format", "json"), encoding="utf-8"
    )
    recorder.run("report", "--cost", "cost.json", "--output", "costs.html")
    during = ("--from", f"{yesterday:%Y-%m-%d}T06:00", "--to", f"{yesterday:%Y-%m-%d}T18:00")
    for options in ((), ("--format", "json"), (vpc.subnet,), ("--period", "300"), ("--chart", "chart.svg")):
        recorder.run("diagnose", *during, *options)


def health(recorder: Recorder) -> None:
    """Examine a deployment that is healthy, and one that is not."""
    with recorder.the("healthy_stack")(recorder.sandbox) as stack:
        seed()
        _examine(recorder, stack)


def _examine(recorder: Recorder, stack: Any) -> None:  # the tree's class
    for what, break_it in (
        ("healthy", lambda: None),
        ("partial recorder", lambda: stack.set_recorder({"resourceTypes": ["AWS::EC2::Subnet"]})),
        ("rule being deleted", lambda: stack.set_rule("DELETING")),
        ("failed function", lambda: stack.set_function("EvaluateFunction", "Failed")),
        ("stack rolling back", lambda: stack.set_stack("UPDATE_ROLLBACK_COMPLETE")),
        ("no stack", stack.delete_stack),
        ("no rule", stack.delete_rule),
    ):
        recorder.where = f"health, {what}"
        break_it()
        recorder.run("doctor")
        recorder.run("doctor", "--format", "json")
    recorder.run("doctor", "--stack", "other")


def heals(recorder: Recorder) -> None:
    """Heal, list, and undo."""
    import pytest  # noqa: PLC0415  # its patches end with the scene

    with pytest.MonkeyPatch.context() as patches, recorder.the("deployed", "healing_stack")(recorder.sandbox, patches):
        builder = recorder.the("Builder", "network")(recorder.sandbox)
        vpc = recorder.the("Vpc", "heals")(builder)
        recorder.run("heals")
        recorder.run("heal", vpc.subnet, calls="some")
        recorder.run("heal", vpc.table, calls="some")
        recorder.run("heal", vpc.subnet, "--apply", calls="some")
        (recorder.folder / "scan.json").write_text(recorder.run("scan", "--format", "json"), encoding="utf-8")
        recorder.run("heal", "--from", "scan.json", calls="some")
        healed = recorder.run("heal", vpc.subnet, "--apply", "--yes", calls="some")
        recorder.run("heal", vpc.subnet, "--apply", "--yes", calls="some")
        recorder.run("explain", vpc.subnet)
        recorder.run("heals")
        recorder.run("heals", "--format", "json")
        runs = re.findall(r"undo ([0-9a-f-]{36})", healed)
        recorder.run("heals", "--vpc", "vpc-0none")
        for run in runs[:1]:
            recorder.run("undo", run, calls="some")
            recorder.run("undo", run, "--yes", calls="some")
            recorder.run("undo", run, "--yes", calls="some")
        recorder.run("heals")
        recorder.run("undo", "4105a4fc-f944-11e6-9d32-0a1b2c3d4958", "--yes", calls="some")
        recorder.run("explain", vpc.subnet)


def organizations(recorder: Recorder) -> None:
    """Check an organization, and show the rule's results there."""
    # Their set-up is also that of the pages in docs/.
    recorder.the("_before_a_roll_out")(recorder.sandbox)
    check = ("org", "check", "--role-name", recorder.the("ROLE", "organizations"))
    recorder.where = "before a roll-out"
    for options in (
        (),
        ("--format", "json"),
        ("--region", "us-east-1"),
        ("--artifact-bucket-prefix", "example-artifacts"),
    ):
        recorder.run(*check, *options, calls="anywhere")
    recorder.sandbox.reset()
    seed()
    aggregator = recorder.the("Aggregator", "config_aggregator")(recorder.sandbox)
    recorder.where = "after a roll-out"
    with recorder.the("answering", "config_aggregator")(aggregator):
        recorder.the("_after_a_roll_out")(recorder.sandbox, aggregator)
        status = ("org", "status", "--aggregator", "organization")
        for options in ((), ("--format", "json"), ("--role-name", recorder.the("ROLE", "organizations"))):
            recorder.run(*status, *options, calls="anywhere")


def aggregated(recorder: Recorder) -> None:
    """Scan what an aggregator has of an account."""
    recorder.the("Everything")(recorder.the("Account", has="def nat_gateway")(recorder.sandbox))
    aggregator = recorder.the("Aggregator", "config_aggregator")(recorder.sandbox)
    aggregator.copy()
    with recorder.the("answering", "config_aggregator")(aggregator):
        for options in ((), ("--format", "json"), ("--details",), ("--vpc", "vpc-0none"), ("--region", "eu-west-1")):
            recorder.run("scan", "--aggregator", "organization", *options)
        recorder.run("report", "--aggregator", "organization", "--output", "aggregated.html")


def seed() -> None:
    """Let the sandbox give the same ids each time."""
    random.seed(1)
    importlib.import_module("moto.moto_api._internal").mock_random.seed(1)


def live(recorder: Recorder) -> None:
    """Run the scenes in the sandbox, each in an empty one."""
    scenes: tuple[tuple[str, Callable[[Recorder], None]], ...] = (
        ("network", network),
        ("aggregated", aggregated),
        ("traffic", traffic),
        ("health", health),
        ("heals", heals),
        ("organizations", organizations),
    )
    with recorder.the("Sandbox", "server")() as sandbox:
        os.environ.update(sandbox.environment())
        recorder.sandbox = sandbox
        for name, scene in scenes:
            sandbox.reset()
            seed()
            with recorder.scene(name):
                scene(recorder)
            recorder.where = ""
    recorder.sandbox = None


def record(tree: Path, out: Path) -> None:
    """Write what all command lines give in a tree."""
    with tempfile.TemporaryDirectory(prefix="express-path-outputs-") as name:
        folder = Path(name).resolve()
        os.chdir(folder)
        os.environ |= {
            "COLUMNS": "100",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "TZ": "UTC",
            "HOME": name,
            "LC_ALL": "C.UTF-8",
        }
        for variable in [found for found in os.environ if found.startswith("AWS_")]:
            del os.environ[variable]
        os.environ |= {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": f"{name}/none", "AWS_MAX_ATTEMPTS": "1"}
        os.environ["AWS_SHARED_CREDENTIALS_FILE"] = f"{name}/none"
        recorder = Recorder(tree, folder)
        for scene in (refusals, benches, dumps, live):
            with recorder.scene(scene.__name__):
                scene(recorder)
            for file in folder.glob("*.*"):
                file.unlink()
        out.write_text(json.dumps(recorder.records, indent=1), encoding="utf-8")
        print(len(recorder.records), "command lines", flush=True)
        os.chdir("/")


def compare(base: str, only: str) -> int:
    """Print the differences between a commit and this tree. Return 1 if there are any."""
    sys.path.insert(0, str(HERE))
    from mutants import environment, worktree  # noqa: PLC0415  # not in the tree that is recorded

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="express-path-compare-")))
        trees = {"before": stack.enter_context(worktree(base)), "after": ROOT}
        records = {}
        for name, tree in trees.items():
            command = [
                sys.executable,
                "-W",
                "ignore",
                str(HERE / "outputs.py"),
                "record",
                str(tree),
                f"{folder}/{name}",
            ]
            subprocess.run(command, cwd=tree, env=environment(tree), check=True)
            records[name] = json.loads((folder / name).read_text(encoding="utf-8"))
    before, after = records["before"], records["after"]
    different = 0
    for line in dict.fromkeys([*before, *after]):
        texts = [_text(found.get(line)) for found in (before, after)]
        if texts[0] != texts[1]:
            different += 1
            if only in line:
                print(*difflib.unified_diff(*texts, f"before {line}", f"after {line}", n=1, lineterm=""), "", sep="\n")
    print(f"{len(before)} command lines before, {len(after)} after: {different} different")
    return int(different > 0)


def _text(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return ["(no such record)"]
    lines = [f"exit {found.get('exit')}", *(["exception", found["exception"]] if "exception" in found else [])]
    for name in ("stdout", "stderr"):
        lines += [f"--- {name}", *_lines(found.get(name, ""))]
    for name, text in found.get("files", {}).items():
        lines += [f"--- {name}", *_lines(text)]
    return [*lines, "--- calls", *found.get("calls", [])]


def _lines(text: str) -> list[str]:
    """Return the lines of a text. JSON documents are compared by their content, however they are laid out."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False).splitlines()
    except ValueError:
        return text.splitlines()


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve())
    else:
        sys.exit(
            compare(sys.argv[2] or (HERE / "base.txt").read_text(encoding="utf-8").strip(), "".join(sys.argv[3:4]))
        )
