"""Terraform plans once more, with ids of our own for what does not exist yet, and so resolves its own unknown values.

This is a run of `terraform test` with `command = plan`: https://developer.hashicorp.com/terraform/language/tests. It applies
nothing, and mocks stand in for all providers: https://developer.hashicorp.com/terraform/language/tests/mocking. It has no state:
what exists appears as created, so only values that the first plan does not know are taken from it.

What is given is true (overrides.py), but Terraform makes up every other attribute of a resource for which something is given,
and all of a data source for which nothing is. So nothing is believed that may follow from an attribute that is another one
than after the apply: what is made up, what the provider's defaults or `ignore_changes` make of it, and the order of ids in
sets and sorted lists, except where all of their orders say the same (configuration.py).
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import orjson

from express_path.errors import ExpressPathError, RecordError
from express_path_cli.sources.change.configuration import EVERY, Configuration, Value
from express_path_cli.sources.change.document import fault_of
from express_path_cli.sources.change.families import MODELLED
from express_path_cli.sources.change.overrides import (
    BUILTIN,
    IPV6,
    STATUS,
    Arn,
    Overrides,
    known_values,
    mappings_of,
)
from express_path_cli.sources.change.references import block_of
from express_path_cli.sources.change.resource import OPEN, NewId, Values, with_unknown
from express_path_cli.sources.change.terraform_document import PlanDocument, ResourceChange, read_test_plan

SECONDS = 240
"""The longest that all runs may take."""
POLL = 0.05
"""How often a run is looked at, in seconds."""
OUTPUT_BYTES = 256 << 20
"""The most that a run may write."""
PASSED_ON = (
    *("TMPDIR", "LANG", "SYSTEMROOT"),
    *("TF_DATA_DIR", "TF_PLUGIN_CACHE_DIR", "TF_REATTACH_PROVIDERS", "TF_WORKSPACE"),
)
"""The environment variables that Terraform gets besides PATH. Credentials, arguments, logs, and variables are none of them."""
SETTINGS = {
    "CHECKPOINT_DISABLE": "1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_CONFIG_FILE": os.devnull,
}
NO_NETWORK = 'u="unshare --map-current-user --net"; $u true && exec $u "$@"; exec "$@"'
"""A shell's command that runs its arguments without a network, if the machine allows that."""
ORDERS = ((0x00E59AC0DE000000, 1), (0xFFE59AC0DE000000, -1), (0x7FE59AC0DE000000, 0x9E3779B1))
"""The orders of ids: below nearly all real ids and ascending, above them and descending, between them and mixed."""
MOST_SORTED = 3
"""How many ids may be in an order that matters: all of their orders are tried."""
_REWRITTEN = frozenset({"user_data", "user_data_base64", "user_data_replace_on_change", "password_data"})
"""The arguments of instances that the provider writes in its own way."""
_DOCUMENTS = {"mock_data": {"aws_iam_policy_document": {"defaults": {"json": "{}", "minified_json": "{}"}}}}
"""What a mock of AWS makes up of policies, whose form other resources check."""
_NOT_GIVEN = frozenset({"status_message", "capacity_usage_summary", "transit_gateway_attachment_sync_states"})
"""The parts of a firewall's status that Terraform makes up."""
INVENTED = re.compile(r"[0-9a-z]{8}")
"""A text that Terraform makes up."""


class NotResolvedError(ExpressPathError):
    """Terraform was not asked for the values that a plan does not know, or its answer is not believed. The text says why."""


def resolve(document: PlanDocument, overrides: Overrides, folder: Path, program: str) -> Sequence[Mapping[str, Values]]:
    """Return the values that the arguments of each resource have after the apply, by address, for each order of ids.

    document: a plan. overrides: what is given. folder: its initialized configuration, whose providers are run. program: the path
    of Terraform, relative to the current folder, or empty for the one on PATH.
    A value that stays unknown or is not believed is OPEN, and the id of what does not exist yet is a NewId.
    Raises NotResolvedError for every reason not to ask Terraform, or not to believe its answer.
    """
    mocks = _mocks(document)
    if any("terraform_remote_state" in block.split(".") for block in overrides.unread):
        raise NotResolvedError("terraform_remote_state is read during the apply, or has secrets")
    found = shutil.which(program or "terraform", path=_path())
    if found is None:
        raise NotResolvedError(f"{program or 'terraform on PATH'} is not a program")
    configuration = _read_configuration(folder.absolute())
    try:
        with tempfile.TemporaryDirectory() as scratch:
            terraform = _Terraform(Path(found).absolute(), folder.absolute(), Path(scratch))
            terraform.check_version()
            with tempfile.TemporaryDirectory(prefix=".express-path-", dir=folder) as made:
                tests = _Tests(terraform, Path(made), document, mocks, overrides)
                answer = _Answer(document, overrides, configuration)
                return answer.believed(tests.plan(answer.orders()))
    except OSError as error:
        raise NotResolvedError(f"a file for Terraform could not be written or read ({error.strerror})") from None


# --- whether to ask --------------------------------------------------------------------------------------------------


def _mocks(document: PlanDocument) -> Mapping[str, list[Values]]:
    """Return a mock for each provider of a plan. Raise NotResolvedError if one cannot be mocked."""
    if not document.is_complete:
        raise NotResolvedError("the plan is of a part of the configuration (-target)")
    mocks: defaultdict[str, list[Values]] = defaultdict(list)
    mocked, own = {BUILTIN}, False
    for provider in document.providers.values():
        # A module that only says which version of a provider it requires gets the one of its caller.
        if provider.module:
            own = own or bool(provider.expressions)
        elif provider.full_name != BUILTIN:
            mocked.add(provider.full_name)
            mock = {"alias": provider.alias} if provider.alias else {}
            mocks[provider.name].append(mock | (_DOCUMENTS if provider.name == "aws" else {}))
    rows = (*document.changes, *(row for row in document.state if row.mode == "data"))
    if own or {row.provider_name for row in rows if row.after is not None} - mocked:
        raise NotResolvedError("a module configures a provider, or only a module requires it")
    return mocks


def _path() -> str:
    """Return PATH without relative folders, in which the folder of the configuration would decide what runs."""
    return os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))


def _read_configuration(folder: Path) -> Configuration:
    """Read the sources. Raise NotResolvedError if they are not initialized, or depend on what the plan does not say."""
    data_folder = folder / os.environ.get("TF_DATA_DIR", ".terraform")
    if not data_folder.is_dir() and "TF_REATTACH_PROVIDERS" not in os.environ:
        raise NotResolvedError(f"{folder} is not initialized (terraform init)")
    configuration = Configuration(folder, data_folder)
    if configuration.names_workspace:
        raise NotResolvedError("the configuration depends on the workspace, which the plan does not say")
    return configuration


# --- the program -----------------------------------------------------------------------------------------------------


class _Terraform:
    """The program, which runs in the folder of a configuration. scratch: a folder for what only this user may read."""

    def __init__(self, program: Path, folder: Path, scratch: Path) -> None:
        self._program, self._folder, self.scratch = program, folder, scratch
        self._deadline = time.monotonic() + SECONDS

    def check_version(self) -> None:
        """Raise NotResolvedError if the version cannot override values while it plans."""
        number = re.match(rb"Terraform v(\d+)\.(\d+)", self.run("version"))
        # https://github.com/hashicorp/terraform/blob/v1.11/CHANGELOG.md: the first that has override_during.
        if not number or (int(number[1]), int(number[2])) < (1, 11):
            raise NotResolvedError("Terraform 1.11 or newer is needed")

    def run(self, *arguments: str) -> bytes:
        """Run Terraform, and return what it writes. Nothing of it is left in any case."""
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"PATH": _path()}
        output = self.scratch / "output"
        with output.open("wb") as written:
            process = subprocess.Popen(  # noqa: S603  # no shell expands anything, and the user named the program
                ["sh", "-c", NO_NETWORK, "sh", str(self._program), *arguments],  # noqa: S607
                cwd=self._folder,
                env=passed_on | SETTINGS | {"HOME": str(self.scratch)},
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            while process.poll() is None:
                if time.monotonic() > self._deadline or output.stat().st_size > OUTPUT_BYTES:
                    raise NotResolvedError(f"Terraform took more than {SECONDS} seconds or wrote more than expected")
                time.sleep(POLL)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return output.read_bytes()


class _Tests:
    """The file with tests, and its runs."""

    def __init__(
        self,
        terraform: _Terraform,
        made: Path,
        document: PlanDocument,
        mocks: Mapping[str, list[Values]],
        overrides: Overrides,
    ) -> None:
        self._terraform, self._made, self._mocks, self._overrides = terraform, made, mocks, overrides
        self._variables = document.variables
        self._expected: list[str] = []

    def plan(
        self, orders: Sequence[Mapping[NewId, str]]
    ) -> list[tuple[Mapping[NewId, str], dict[str, ResourceChange]]]:
        """Return what Terraform plans in each order of ids, first in one of them if that says where firewalls are."""
        places: dict[str, Sequence[tuple[str, str]]] = {}
        if self._overrides.firewalls:
            [planned] = self._run(orders[:1], places)
            for address in self._overrides.firewalls:
                places[address] = self._places(address, planned, orders[0])
        return list(zip(orders, self._run(orders, places), strict=True))

    def _places(
        self, address: str, planned: Mapping[str, ResourceChange], texts: Mapping[NewId, str]
    ) -> Sequence[tuple[str, str]]:
        """Return the subnets and zones of a firewall's endpoints, none if one is not known.

        https://docs.aws.amazon.com/network-firewall/latest/developerguide/vpc-config.html: one endpoint per subnet mapping.
        """
        if address not in planned:
            raise differing(address)
        mappings = mappings_of(planned[address].after or {})
        names = {text: name for name, text in texts.items()}
        # The network has them in the order of their addresses, too, or in none.
        subnets = sorted(names[text] for text in mappings if text in names)
        zones = [(planned[name].after or {}).get("availability_zone") for name in subnets if name in planned]
        is_known = len(subnets) == len(zones) == len(mappings) == len({*subnets})
        if not is_known or not all(isinstance(zone, str) and not INVENTED.fullmatch(zone) for zone in zones):
            return []
        return list(zip(subnets, map(str, zones), strict=True))

    def _run(
        self, orders: Sequence[Mapping[NewId, str]], places: Mapping[str, Sequence[tuple[str, str]]]
    ) -> list[dict[str, ResourceChange]]:
        """Return what each run plans, by address. A check that fails or is unknown is expected the next time."""
        runs: dict[str, Values] = {}
        for number, texts in enumerate(orders):
            rows = [
                self._override(address, number, texts, places.get(address, ())) for address in self._overrides.resources
            ]
            overrides = [row for row in rows if row]
            run = {"command": "plan", "expect_failures": self._expected, "override_resource": overrides}
            runs[f"order{number}"] = run
        lines = self._lines(runs)
        try:
            plans = [read_test_plan(line) for line in lines if b'"type":"test_plan"' in line]
        except RecordError as error:
            raise NotResolvedError(f"Terraform's answer has an unexpected form: {fault_of(error)}") from None
        if len(plans) >= len(runs):
            return [_existing(rows) for rows in plans[: len(runs)]]
        failed = [re.search(rb'"context":"check \\"([\w-]+)', line) for line in lines if b'"@level":"error"' in line]
        checks = [f"check.{check[1].decode()}" for check in failed if check]
        if len(checks) < len(failed) or {*checks} <= {*self._expected}:
            raise NotResolvedError("Terraform's second plan failed")
        self._expected += checks
        return self._run(orders, places)

    def _override(
        self, address: str, number: int, texts: Mapping[NewId, str], places: Sequence[tuple[str, str]]
    ) -> Values | None:
        """Return what is given of a resource, None for a firewall whose endpoints are not known."""
        values: dict[str, Any] = {}
        for name, value in self._overrides.resources[address].items():
            if isinstance(value, NewId):
                values[name] = texts[value]
            elif isinstance(value, Arn):
                values[name] = f"{value.start}{texts[value.id]}"
            else:
                values[name] = f"2001:db8:{number}{IPV6}" if value == IPV6 else value
        if address in self._overrides.firewalls:
            if not places:
                return None
            values[STATUS] = [_status(address, texts, places)]
        return {"target": address, "override_during": "plan", "values": values}

    def _lines(self, runs: Mapping[str, Values]) -> list[bytes]:
        """Return what Terraform writes about some runs."""
        test, variables = self._made / "ids.tftest.json", self._terraform.scratch / "variables.tfvars.json"
        content = {"mock_provider": self._mocks, "override_data": self._overrides.data, "run": runs}
        for file, document in ((test, content), (variables, self._variables)):
            file.touch(0o600)
            file.write_bytes(orjson.dumps(document))
        return self._terraform.run(
            *("test", "-json", "-verbose", f"-test-directory={self._made.name}"),
            *(f"-filter={self._made.name}/{test.name}", f"-var-file={variables}"),
        ).splitlines()


def _existing(rows: Iterable[ResourceChange]) -> dict[str, ResourceChange]:
    """Return the resources that exist after a plan, by address."""
    return {row.address: row for row in rows if row.mode == "managed" and row.after is not None}


def _status(address: str, texts: Mapping[NewId, str], places: Sequence[tuple[str, str]]) -> Values:
    """Return the status of a firewall that is ready, with its endpoints."""
    states = []
    for number, (subnet, zone) in enumerate(places):
        endpoint_id = texts[NewId(f"{address}.endpoint[{number}]")]
        attachment = {"endpoint_id": endpoint_id, "subnet_id": texts[NewId(subnet)], "status": "READY"}
        states.append({"availability_zone": zone, "attachment": [attachment]})
    return {"status": "READY", "configuration_sync_state_summary": "IN_SYNC", "sync_states": states}


# --- what to believe -------------------------------------------------------------------------------------------------


class _Answer:
    """What Terraform answers, and which of its values follow only from what is true."""

    def __init__(self, document: PlanDocument, overrides: Overrides, configuration: Configuration) -> None:
        self._overrides, self._configuration = overrides, configuration
        self._rows = _existing(document.changes)
        self._blocks = {address: block for module in document.modules for address, block in module.blocks.items()}
        self._roots = {
            _value_of(row.address, name)
            for row in self._rows.values()
            if row.type in MODELLED
            for name, mark in row.unknown.items()
            if mark
        }
        self._sorted = configuration.in_order(self._roots)

    def orders(self) -> list[dict[NewId, str]]:
        """Return the texts of our ids in each order that is tried: all orders of the few ids of which it may matter."""
        names = sorted(self._overrides.shapes, key=lambda name: (self._overrides.shapes[name], name))
        ranks = {name: rank for rank, name in enumerate(names, 1)}
        moved = sorted(self._moved())
        tried = list(permutations(moved)) if len(moved) <= MOST_SORTED else [tuple(moved)]
        orders = []
        for number in range(max(len(tried), len(ORDERS))):
            start, factor = ORDERS[number % len(ORDERS)]
            moved_ranks = dict(zip(moved, (ranks[name] for name in tried[number % len(tried)]), strict=True))
            order = {**ranks, **moved_ranks}
            if 1 < len(moved) <= MOST_SORTED:
                factor = 1
            orders.append(
                {name: f"{self._overrides.shapes[name]}-0{start + order[name] * factor % 2**32:016x}" for name in names}
            )
        return orders

    def _moved(self) -> set[NewId]:
        """Return the ids of our own whose order may matter."""
        blocks = {block for blocks in self._sorted.values() for block in blocks}
        values = (
            value
            for address, given in self._overrides.resources.items()
            if block_of(address) in blocks
            for value in given.values()
        )
        return {value for value in values if isinstance(value, NewId)}

    def _is_unordered(self, value: Value) -> bool:
        """Return whether not all orders of the ids from which a value follows are tried."""
        blocks = self._sorted.get(value)
        if not blocks:
            return False
        is_new = all("create" in row.actions for row in self._rows.values() if block_of(row.address) in blocks)
        return not is_new or len(self._moved()) > MOST_SORTED

    def believed(
        self, runs: Sequence[tuple[Mapping[NewId, str], Mapping[str, ResourceChange]]]
    ) -> Sequence[Mapping[str, Values]]:
        """Return the values of each run, OPEN for what is not believed. Raise NotResolvedError for another configuration."""
        for _, planned in runs:
            self._check(planned)
        untrue: defaultdict[str, set[str]] = defaultdict(set)
        for block in self._overrides.unread:
            untrue[block].add(EVERY)
        if self._configuration.says(self._roots, _NOT_GIVEN):
            for address in self._overrides.firewalls:
                untrue[block_of(address)].add(STATUS)
        for address, row in self._rows.items():
            answers = [planned[address] for _, planned in runs]
            for name in answers[0].after or {}:
                if not self._is_true(row, name, answers):
                    untrue[block_of(address)].add(name)
        doubtful = self._configuration.doubtful(self._roots, untrue, self._is_unordered)
        believed = {value for value in self._roots - doubtful if self._configuration.has(value)}
        results = []
        for texts, planned in runs:
            names = {text: name for name, text in texts.items()}
            values = {}
            for address, row in planned.items():
                marked = with_unknown(row.after or {}, row.unknown)
                values[address] = {
                    name: _named(value, names) if _value_of(address, name) in believed else OPEN
                    for name, value in marked.items()
                }
            results.append(values)
        return results

    def _check(self, planned: Mapping[str, ResourceChange]) -> None:
        """Raise NotResolvedError if a run does not plan the same resources of the network, with the values that are known."""
        others = [*(self._rows.keys() ^ planned.keys())]
        for address in self._rows.keys() & planned.keys():
            row = self._rows[address]
            if row.type not in MODELLED:
                continue
            before, after = row.before or {}, planned[address].after or {}
            for name, value in known_values(row).items():
                other = after.get(name)
                texts = str(value).casefold(), str(other).casefold()
                # What the plan leaves as it was may be ignored. Providers write documents and blocks in their own way.
                is_set = value != before.get(name) and None not in (value, other) and name not in _REWRITTEN
                if is_set and texts[0] != texts[1] and not texts[0].startswith(("{", "[")):
                    others.append(f"{address}.{name}")
        if others:
            raise differing(min(others))

    def _is_true(self, row: ResourceChange, name: str, answers: Sequence[ResourceChange]) -> bool:
        """Return whether an attribute is in each run what it is after the apply, or unknown."""
        if all(answer.unknown.get(name) is True for answer in answers):
            return True
        if name in self._overrides.true.get(row.address, ()) and row.unknown.get(name) is True:
            return True
        values = [(answer.after or {}).get(name) for answer in answers]
        if not row.unknown.get(name):
            return all(value == (row.after or {}).get(name) for value in values)
        block = self._blocks.get(block_of(row.address))
        if block is None or name not in block.expressions:
            return False
        return row.address not in self._overrides.resources or not any(map(_may_be_invented, values))


def _value_of(address: str, name: str) -> Value:
    return Value("argument", block_of(address), name)


def _may_be_invented(value: object) -> bool:
    """Return whether Terraform may have made up a value, because the configuration sets none."""
    return not value or value is True or bool(isinstance(value, str) and INVENTED.fullmatch(value))


def differing(place: str) -> NotResolvedError:
    """Return the error for a folder that has another configuration than the plan."""
    return NotResolvedError(f"the configuration is not that of the plan: {place} differs")


def _named(value: Any, names: Mapping[str, NewId]) -> Any:  # noqa: ANN401  # any JSON
    """Return a value with names for ids of our own, and OPEN for what may be made up."""
    if isinstance(value, dict):
        return {name: _named(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [_named(inner, names) for inner in value]
    if isinstance(value, str) and not INVENTED.fullmatch(value):
        return names.get(value, value)
    return OPEN if value is not None else None
