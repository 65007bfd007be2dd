"""Terraform plans once more, with ids of our own for what does not exist yet, and so resolves its own unknown values.

This is a run of `terraform test` with `command = plan`: https://developer.hashicorp.com/terraform/language/tests. It applies
nothing, and mocks stand in for all providers: https://developer.hashicorp.com/terraform/language/tests/mocking. It has no state:
what exists appears as created, so only values that the first plan does not know are taken from it.

Terraform makes up every other attribute of a resource that has an id of our own: texts are random, collections are empty. So a
resource gets no id if something depends on such an attribute by name; then whatever follows from it stays unknown. Where only
the whole resource is named (`aws_nat_gateway.n[each.key].public_ip`), the values differ from order to order of ids.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from express_path.errors import ExpressPathError, RecordError
from express_path_cli.sources.change.document import fault_of
from express_path_cli.sources.change.resource import (
    ID_PREFIXES,
    KIND_OF_TYPE,
    MADE_WITH,
    OPEN,
    WITH_IDS,
    NewId,
    Possible,
    Values,
    has_unknown,
    made_id,
    with_unknown,
)
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
BUILTIN = "terraform.io/builtin/terraform"
FIREWALL, STATUS = "aws_networkfirewall_firewall", "firewall_status"
ARN = "arn:aws:ec2:us-east-1:000000000000:id/new"
SHAPES = {kind: prefix for prefix, kind in reversed(ID_PREFIXES.items())}
"""How the ids of each kind begin: configurations and providers check some of them."""
ORDERS = ((0x00E59AC0DE000000, 1), (0xFFE59AC0DE000000, -1), (0x7FE59AC0DE000000, 0x9E3779B1))
"""The orders of ids: below nearly all real ids and ascending, above them and descending, between them and mixed."""
OWN = re.compile(r"id|arn|default_\w+_id|network_interface_id")
"""Attributes that name something new, besides those of MADE_WITH."""
TEXT = re.compile(r"\w+_(id|ip|dns|address)")
COLLECTION = re.compile(r"\w+_(ips|addresses|prefixes|blocks|interface_ids)")
FLAG = re.compile(r"\w+_(enabled|association|propagation)")
"""Attributes of what is new that are texts, collections of texts, and flags: AWS leaves some of them empty or false."""
IPV6 = "::/56"
"""Stands for an IPv6 block that AWS assigns, and ends it: each order has another one."""
RANDOM = re.compile(r"[0-9a-z]{8}")
"""A text that Terraform makes up."""


class NotResolvedError(ExpressPathError):
    """Terraform was not asked for the values that a plan does not know, or its answer is not believed. The text says why."""


def resolve(document: PlanDocument, folder: Path, program: str) -> Sequence[Mapping[str, Values]]:
    """Return the values that the arguments of each resource have after the apply, by address, for each order of ids.

    document: a plan. folder: its initialized configuration, whose providers are run. program: the path of Terraform, relative to
    the current folder, or empty for the one on PATH.
    A value that stays unknown is OPEN, and the id of what does not exist yet is a NewId. If the configuration sets nothing
    and the provider computes the value, a collection is empty, and anything else is OPEN or differs from order to order.
    Raises NotResolvedError for every reason not to ask Terraform, or not to believe its answer.
    """
    try:
        with tempfile.TemporaryDirectory() as scratch:
            resolution = _Resolution(document, folder.absolute(), program, Path(scratch))
            with tempfile.TemporaryDirectory(prefix=".express-path-", dir=folder) as made:
                return resolution.plan(Path(made))
    except OSError as error:
        raise NotResolvedError(f"a file for Terraform could not be written or read ({error.strerror})") from None


def _rows(document: PlanDocument) -> Iterator[ResourceChange]:
    """Yield every data source of the state, and every resource and data source that exists after the apply."""
    yield from (row for row in document.state if row.mode == "data")
    yield from (row for row in document.changes if row.after is not None and not row.is_deposed)


def _known(row: ResourceChange) -> dict[str, Any]:
    """Return the values that are known, not secret, and no templates. Versions of Terraform differ in what a template is."""
    values = row.after or {}
    marked = with_unknown(with_unknown(values, row.unknown), row.hidden)
    if isinstance(marked, Possible):  # all of it is secret
        return {}
    return {
        name: value
        for name, value in values.items()
        if not has_unknown(marked[name]) and not re.search(rb"[$%]\{", orjson.dumps(value))
    }


def _without_keys(value: object) -> str:
    """Return JSON as text, without the keys of count and for_each in addresses."""
    return re.sub(r'\[(\d+|\\"[^"]*\\")\]', "", orjson.dumps(value).decode())


def _asked(document: PlanDocument) -> Mapping[str, set[str]]:
    """Return the attributes on which something depends, by type and name of the resource.

    `relevant_attributes` also names those that are only outputs of modules.
    """
    used = "".join(_without_keys([module.resources, *module.calls]) for module in document.modules)
    exported = "".join(_without_keys(module.outputs) for module in document.modules)
    asked = defaultdict(set)
    for resource, name in document.used:
        block = ".".join(_without_keys(resource).strip('"').split(".")[-2:])
        reference = f'"{block}.{name}"'
        if reference in used or reference not in exported:
            asked[block].add(name)
    return asked


class _Resolution:
    """A plan, and what Terraform says about it.

    _given: the values of each resource that gets an override, with a NewId for each id of our own. _data: overrides.
    _shapes: how the text of each of these begins. The status of a firewall whose endpoints may become known is STATUS.
    _path: PATH without relative folders, in which the folder of the configuration would decide what runs.
    """

    def __init__(self, document: PlanDocument, folder: Path, program: str, scratch: Path) -> None:
        """Find what mocks must stand in for, and check whether to ask Terraform at all."""
        # A data source of the state may be read again during the apply.
        self._rows = {row.address: row for row in _rows(document)}
        self._document, self._folder, self._scratch = document, folder, scratch
        self._deadline = time.monotonic() + SECONDS
        self._given: dict[str, dict[str, Any]] = {}
        self._data: list[Values] = []
        self._shapes: dict[NewId, str] = {}
        asked = _asked(document)
        for row in self._rows.values():
            self._find_override(row, asked[f"{row.type}.{row.name}"])
        self._mocks: defaultdict[str, list[Values]] = defaultdict(list)
        mocked = {BUILTIN}
        own = False
        for provider in document.providers.values():
            # A module that only says which version of a provider it requires gets the one of its caller.
            if provider.module:
                own = own or bool(provider.expressions)
            elif provider.full_name != BUILTIN:
                mocked.add(provider.full_name)
                self._mocks[provider.name].append({"alias": provider.alias} if provider.alias else {})
        self._path = os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))
        found = shutil.which(program or "terraform", path=self._path)
        self._program = str(Path(found).absolute()) if found else ""
        data = folder / os.environ.get("TF_DATA_DIR", ".terraform")
        reasons = {
            f"{program or 'terraform on PATH'} is not a program": not self._program,
            f"{folder} is not initialized (terraform init)": not (
                data.is_dir() or "TF_REATTACH_PROVIDERS" in os.environ
            ),
            "the plan is of a part of the configuration (-target)": not document.is_complete,
            "a module configures a provider, or only a module requires it": (
                own or {row.provider_name for row in self._rows.values()} - mocked
            ),
        }
        for reason, holds in reasons.items():
            if holds:
                raise NotResolvedError(reason)
        number = re.match(rb"Terraform v(\d+)\.(\d+)", self._run("version"))
        # https://github.com/hashicorp/terraform/blob/v1.11/CHANGELOG.md: the first that has override_during.
        if not number or (int(number[1]), int(number[2])) < (1, 11):
            raise NotResolvedError("Terraform 1.11 or newer is needed")

    def _find_override(self, row: ResourceChange, asked: set[str]) -> None:
        """Find what is given of a resource or data source. asked: the attributes on which something depends."""
        address, kind, after, unknown, given = row.address, row.type, row.after or {}, row.unknown, _known(row)
        if row.mode == "data":
            # What is not given would be made up. Without an override, all of it stays unknown, and what is built in is read.
            if given.keys() >= after.keys() | unknown.keys():
                self._data.append({"target": address, "values": given})
            elif row.provider_name == BUILTIN:
                raise NotResolvedError("terraform_remote_state is read during the apply, or has secrets")
            return
        is_new = "create" in row.actions
        if row.provider_name == BUILTIN or (is_new and kind not in WITH_IDS):
            return
        shapes = {}
        for name in unknown if is_new else ():
            made = MADE_WITH.get((kind, name)) or (KIND_OF_TYPE.get(kind) if name == "id" else None)
            if unknown[name] is True and name != STATUS and (made or OWN.fullmatch(name)):
                given[name] = NewId(address) if name == "id" else made_id(address, name)
                shapes[given[name]] = ARN if name == "arn" else SHAPES[made] if made else "new"
        if kind == "aws_vpc" and unknown.get("ipv6_cidr_block"):
            names = ("assign_generated_ipv6_cidr_block", "ipv6_ipam_pool_id")
            given["ipv6_cidr_block"] = IPV6 if any(given.get(name, True) for name in names) else ""
        mappings = _mappings(after)
        if is_new and kind == FIREWALL and mappings and not any(mappings):
            given[STATUS] = STATUS
            shapes |= {NewId(f"{address}.endpoint[{number}]"): "vpce" for number in range(len(mappings))}
        # A default resource does not say its VPC.
        configured = () if kind.startswith("aws_default") else ("vpc_id",)
        if not asked - given.keys() - {*configured}:
            self._given[address] = given
            self._shapes |= shapes

    def _override(
        self, address: str, order: int, texts: Mapping[str, str], places: Sequence[tuple[str, str]]
    ) -> Values:
        """Return the values of a resource in an order of ids. places: the subnets and zones of a firewall's endpoints."""
        values = {
            name: texts[value] if isinstance(value, NewId) else f"2001:db8:{order}{IPV6}" if value == IPV6 else value
            for name, value in self._given[address].items()
        }
        states = []
        for number, (subnet, zone) in enumerate(places):
            attachment = {"endpoint_id": texts[f"{address}.endpoint[{number}]"], "subnet_id": texts[subnet]}
            states.append({"availability_zone": zone, "attachment": [attachment]})
        if states:
            values[STATUS] = [{"sync_states": states}]
        for name, unknown in self._rows[address].unknown.items():
            if unknown is True and name not in values:
                if COLLECTION.fullmatch(name):
                    values[name] = ["0"] * order
                elif FLAG.fullmatch(name):
                    values[name] = order == 1
                elif TEXT.fullmatch(name) and not order:
                    values[name] = ""
        return {"target": address, "override_during": "plan", "values": values}

    def plan(self, made: Path) -> Sequence[Mapping[str, Values]]:
        """Plan in every order, first in one of them if that says which subnets the endpoints of firewalls are in."""
        wanted = sorted((shape, name) for name, shape in self._shapes.items())
        firewalls = [address for address, given in self._given.items() if given.get(STATUS) == STATUS]
        expected: list[str] = []
        runs: list[dict[str, Any]] = []
        ids: list[dict[str, str]] = []
        for order, (start, factor) in enumerate(ORDERS):
            ids.append({})
            for rank, (shape, name) in enumerate(wanted, 1):
                ids[order][name] = f"{shape}-0{start + rank * factor % 2**32:016x}"
            rows = [
                self._override(address, order, ids[order], ()) for address in self._given if address not in firewalls
            ]
            runs.append({"command": "plan", "expect_failures": expected, "override_resource": rows})
        for planned in self._test(made, runs[:1]) if firewalls else ():
            for address in firewalls:
                places = self._places(address, planned, ids[0])
                for order, run in enumerate(runs if places else ()):
                    run["override_resource"].append(self._override(address, order, ids[order], places))
        return [self._found(planned, ids[order]) for order, planned in enumerate(self._test(made, runs))]

    def _places(
        self, address: str, planned: Mapping[str, ResourceChange], texts: Mapping[str, str]
    ) -> Sequence[tuple[str, str]]:
        """Return the subnets and zones of a firewall's endpoints, none if one is not known.

        https://docs.aws.amazon.com/network-firewall/latest/developerguide/vpc-config.html: one endpoint per subnet mapping.
        """
        if address not in planned:
            raise _differing(address)
        mappings = _mappings(planned[address].after or {})
        # The subnets are new, so that the network has them in this order, too, or in none.
        subnets = sorted(name for name, text in texts.items() if text in mappings and name in planned)
        zones = [(planned[name].after or {}).get("availability_zone") or "unknown0" for name in subnets]
        is_known = len(subnets) == len(mappings) == len(_mappings(self._rows[address].after or {}))
        is_told = all(isinstance(zone, str) and not RANDOM.fullmatch(zone) for zone in zones)
        return [*zip(subnets, zones, strict=True)] if is_known and is_told else []

    def _test(self, made: Path, runs: Sequence[dict[str, Any]]) -> list[dict[str, ResourceChange]]:
        """Return what each run plans, by address. A check that fails or is unknown is expected the next time."""
        test, variables = made / "ids.tftest.json", self._scratch / "variables.tfvars.json"
        contents = {
            test: {
                "mock_provider": self._mocks,
                "override_data": self._data,
                "run": dict(zip("abc", runs, strict=False)),
            },
            variables: self._document.variables,
        }
        for file, content in contents.items():
            file.touch(0o600)
            file.write_bytes(orjson.dumps(content))
        output = self._run(
            *("test", "-json", "-verbose", f"-test-directory={made.name}"),
            *(f"-filter={made.name}/{test.name}", f"-var-file={variables}"),
        )
        lines = output.splitlines()
        try:
            plans = [read_test_plan(line) for line in lines if b'"type":"test_plan"' in line]
        except RecordError as error:
            raise NotResolvedError(f"Terraform's answer has an unexpected form: {fault_of(error)}") from None
        failed = [re.search(rb'"context":"check \\"([\w-]+)', line) for line in lines if b'"@level":"error"' in line]
        if len(plans) < len(runs):
            checks = [f"check.{check[1].decode()}" for check in failed if check]
            if len(checks) < len(failed) or {*checks} <= {*runs[0]["expect_failures"]}:
                raise NotResolvedError("Terraform's second plan failed")
            runs[0]["expect_failures"] += checks
            return self._test(made, runs)
        return [{row.address: row for row in rows if row.mode == "managed" and row.after is not None} for rows in plans]

    def _found(self, planned: Mapping[str, ResourceChange], ids: Mapping[str, str]) -> Mapping[str, Values]:
        """Return the values of a plan, if it has the instances and the plain values of the first."""
        expected = {address: row for address, row in self._rows.items() if row.mode != "data"}
        differing = [*(expected.keys() ^ planned.keys())]
        for address in expected.keys() & planned.keys():
            before, after = expected[address].before or {}, planned[address].after or {}
            for name, value in _known(expected[address]).items():
                other = after.get(name)
                texts = str(value).casefold(), str(other).casefold()
                # What the plan leaves as it was may be ignored. Providers write documents and blocks in their own way.
                is_set = value != before.get(name) and None not in (value, other)
                if is_set and texts[0] != texts[1] and not texts[0].startswith(("{", "[")):
                    differing.append(f"{address}.{name}")
        if differing:
            raise _differing(min(differing))
        names = {text: NewId(name) for name, text in ids.items()}
        return {address: _named(with_unknown(row.after or {}, row.unknown), names) for address, row in planned.items()}

    def _run(self, *arguments: str) -> bytes:
        """Run Terraform, and return what it writes. Nothing of it is left in any case."""
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"PATH": self._path}
        output = self._scratch / "output"
        with output.open("wb") as written:
            process = subprocess.Popen(  # noqa: S603  # no shell expands anything, and the user named the program
                ["sh", "-c", NO_NETWORK, "sh", self._program, *arguments],  # noqa: S607
                cwd=self._folder,
                env=passed_on | SETTINGS | {"HOME": str(self._scratch)},
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


def _differing(place: str) -> NotResolvedError:
    return NotResolvedError(f"the configuration is not that of the plan: {place} differs")


def _mappings(values: Values) -> list[object]:
    """Return the subnet of each mapping of a firewall, None where it is not known."""
    mappings = values.get("subnet_mapping")
    return [row.get("subnet_id") for row in mappings if isinstance(row, Mapping)] if isinstance(mappings, list) else []


def _named(value: Any, names: Mapping[str, NewId]) -> Any:  # noqa: ANN401  # any JSON
    """Return a value with names for ids of our own, and OPEN for what may be made up."""
    if isinstance(value, dict):
        return {name: _named(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [_named(inner, names) for inner in value]
    if isinstance(value, str) and not RANDOM.fullmatch(value):
        return names.get(value, value)
    return OPEN if value is not None else None
