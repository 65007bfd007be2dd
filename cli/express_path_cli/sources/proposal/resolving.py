"""Terraform plans once more, with ids of our own for what does not exist yet, and so resolves its own unknown values.

This is a run of `terraform test` with `command = plan`: https://developer.hashicorp.com/terraform/language/tests. It applies
nothing, and mocks stand in for all providers: https://developer.hashicorp.com/terraform/language/tests/mocking. It has no state:
what exists appears as created, so only values that the first plan does not know are taken from it.

A resource that has an id of our own needs a value for each attribute that is not known. Each order of ids has other values for
them, so that whatever depends on one of them is OPEN, or not the same in all orders.
"""

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from express_path.errors import ExpressPathError
from express_path_cli.sources.proposal.resource import KIND_OF_TYPE, MADE_WITH, OPEN, Kind, NewId, Values

SECONDS = 120
"""The longest that a run may take."""
OUTPUT_BYTES = 256 << 20
"""The most that a run may write. The schemas of the AWS provider alone are 14 MB."""
OLDEST = (1, 11)
"""The first version that has override_during: https://github.com/hashicorp/terraform/blob/v1.11/CHANGELOG.md."""
PASSED_ON = (
    *("PATH", "TMPDIR", "LANG", "SYSTEMROOT"),
    *("TF_DATA_DIR", "TF_PLUGIN_CACHE_DIR", "TF_REATTACH_PROVIDERS", "TF_WORKSPACE"),
)
"""The environment variables that Terraform gets. Credentials, arguments, logs, and variables are none of them."""
SETTINGS = {
    "CHECKPOINT_DISABLE": "1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_CONFIG_FILE": os.devnull,
    "TF_IN_AUTOMATION": "1",
    "TF_INPUT": "0",
}
NO_NETWORK = ["unshare", "--map-current-user", "--net"]
BUILTIN = "terraform.io/builtin/terraform"
FIREWALL = "aws_networkfirewall_firewall"

SHAPES = {
    Kind.VPC: "vpc",
    Kind.SUBNET: "subnet",
    Kind.TABLE: "rtb",
    Kind.ENDPOINT: "vpce",
    Kind.NAT: "nat",
    Kind.GATEWAY: "igw",
    Kind.EGRESS_ONLY: "eigw",
    Kind.INTERFACE: "eni",
    Kind.TRANSIT_GATEWAY: "tgw",
    Kind.ATTACHMENT: "tgw-attach",
    Kind.TRANSIT_TABLE: "tgw-rtb",
    Kind.PREFIX_LIST: "pl",
}
"""How the ids of each kind begin: providers check some of them."""
ARN = "arn:aws:ec2:us-east-1:000000000000:id/"
STARTS = (0x00E59AC0DE000000, 0xFFE59AC0DE000000, 0x7FE59AC0DE000000)
"""The number in the first id of each order: below that of nearly every real id, above it, and between them."""
NEW_TYPES = {*KIND_OF_TYPE, *(kind for kind, _ in MADE_WITH)}
"""The types whose new resources get ids of our own."""
ALWAYS_SET = (
    "id",
    "arn",
    "default_network_acl_id",
    "default_security_group_id",
    "dhcp_options_id",
    "network_interface_id",
)
"""Attributes whose value is never empty."""
SAME = {
    "main_route_table_id": "default_route_table_id",
    "propagation_default_route_table_id": "association_default_route_table_id",
}
"""Attributes that name the same new table."""
TEXTS = {
    "cidr": "2001:db8:e59a:c{}00::/56",
    "ip": "198.51.100.20{}",
    "arn": ARN + "e59ac0de{}",
    "json": '{{"e59ac0de": {}}}',
}
"""Made-up texts that pass the checks of providers, by what the name of an attribute contains."""
MADE_UP = re.compile(r"e59ac0de|2001:db8:e59a|198\.51\.100\.20")
KEY = re.compile(r'\[(?:\d+|"(?:[^"\\]|\\.)*")\]')
LAST_KEY = re.compile(KEY.pattern + "$")


class NotResolvedError(ExpressPathError):
    """Terraform was not asked for the values that a plan does not know, or its answer is not believed. The text says why."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A resource or data source of the first plan, with its values that are known and not secret."""

    address: str
    mode: str
    type: str
    provider: str
    is_new: bool
    before: Values
    known: Values
    unknown: Values

    @property
    def is_made(self) -> bool:
        """Whether its ids are our own."""
        return self.mode == "managed" and self.is_new and self.type in NEW_TYPES

    def ids(self) -> Iterator[tuple[str, str, str]]:
        """Yield each attribute that gets an id of our own, how that id begins, and its name."""
        for attribute in (*ALWAYS_SET, *(name for kind, name in MADE_WITH if kind == self.type)):
            if self.is_made and self.unknown.get(attribute) is True and attribute != "firewall_status":
                kind = KIND_OF_TYPE.get(self.type) if attribute == "id" else MADE_WITH.get((self.type, attribute))
                shape = ARN if attribute == "arn" else SHAPES[kind] if kind else "new"
                name = f"{self.address}.{SAME.get(attribute, attribute)}"
                yield attribute, shape, self.address if attribute == "id" else name


def resolve(document: Values, folder: Path, program: str | None) -> Sequence[Mapping[str, Values]]:
    """Return the values that the arguments of each AWS resource have after the apply, by address, for each order of ids.

    document: a plan as JSON. folder: its initialized configuration. program: the path of Terraform, None for the one on PATH.
    A value that stays unknown is OPEN, and the id of what does not exist yet is a NewId. If the configuration sets nothing
    and the provider computes the value, a collection is None, and anything else is OPEN.
    Raises NotResolvedError for every reason not to ask Terraform, or not to believe its answer.
    """
    try:
        # A data source of the state may be read again during the apply.
        rows = [*{row.address: row for row in _rows(document)}.values()]
        terraform = _Terraform(document, rows, folder.absolute(), program)
        with tempfile.TemporaryDirectory() as scratch:
            terraform.start(Path(scratch))
            dropped = _asked_for(document, rows, terraform.schemas)
            firewalls = {row.address for row in rows if row.is_made and row.type == FIREWALL} - dropped
            statuses: Mapping[str, Any] = {}
            if firewalls:
                found = terraform.plan(rows, dropped | firewalls, {}, orders=1)[0]
                statuses = dict(_mappings(found, firewalls))
            return terraform.plan(rows, dropped | (firewalls - statuses.keys()), statuses)
    except OSError as error:
        raise NotResolvedError(f"a file for Terraform could not be written or read ({error.strerror})") from None
    except (AttributeError, LookupError, TypeError, ValueError):
        raise NotResolvedError("the plan or Terraform's answer has an unexpected form") from None


def _rows(document: Values) -> Iterator[_Row]:
    """Yield every resource that exists after the apply, and every data source."""
    modules = [document.get("prior_state", {}).get("values", {}).get("root_module", {})]
    for module in modules:
        modules += module.get("child_modules", ())
        for row in module.get("resources", ()):
            if row["mode"] == "data":
                yield _row(row, {"after": row["values"], "after_sensitive": row.get("sensitive_values")})
    for row in document.get("resource_changes", ()):
        if row["change"].get("after") is not None and "deposed" not in row:
            yield _row(row, row["change"])


def _row(row: Values, change: Values) -> _Row:
    unknown, secret = change.get("after_unknown") or {}, change.get("after_sensitive") or {}
    known = {
        name: value
        for name, value in change["after"].items()
        # Versions of Terraform differ in whether these are templates.
        if not (_has_true(unknown.get(name)) or _has_true(secret is True or secret.get(name)) or _has_template(value))
    }
    is_new = "create" in change.get("actions", ())
    before = change.get("before") or {}
    return _Row(row["address"], row["mode"], row["type"], row["provider_name"], is_new, before, known, unknown)


def _has_true(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_true, value.values() if isinstance(value, dict) else value))
    return value is True


def _has_template(value: object) -> bool:
    text = orjson.dumps(value)
    return b"${" in text or b"%{" in text


def _modules(module: Values, prefix: str = "") -> Iterator[tuple[str, Values]]:
    """Yield each module of a configuration with how addresses in it begin, those that call others first."""
    yield prefix, module
    for name, call in module.get("module_calls", {}).items():
        yield from _modules(call.get("module", {}), f"{prefix}module.{name}.")


def _references(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        yield from (KEY.sub("", name) for name in value.get("references", ()) if isinstance(name, str))
        for name, item in value.items():
            if name != "module":
                yield from _references(item)


def _set(document: Values) -> Mapping[str, Values]:
    """Return the arguments that the configuration sets, by address without keys."""
    root = document.get("configuration", {}).get("root_module", {})
    return {
        prefix + row["address"]: row.get("expressions", {})
        for prefix, module in _modules(root)
        for row in module.get("resources", ())
    }


def _asked_for(document: Values, rows: Iterable[_Row], schemas: Values) -> set[str]:
    """Return the resources that get no override, because something depends on what only AWS knows of them.

    That is what `relevant_attributes` of the plan names: an attribute that is not known, and that gets no id. It also names
    attributes that are only outputs of modules, on which nothing depends.
    """
    used: set[str] = set()
    exported: set[str] = set()
    for prefix, module in _modules(document.get("configuration", {}).get("root_module", {})):
        used.update(prefix + name for name in _references([module.get("resources"), module.get("module_calls")]))
        for name, output in module.get("outputs", {}).items():
            (used if prefix + name in used else exported).update(prefix + found for found in _references(output))
    asked: dict[str, set[str]] = {}
    for one in document.get("relevant_attributes", ()):
        name = one["attribute"][0] if one["attribute"] else ""
        reference = f"{KEY.sub('', one['resource'])}.{name}"
        if reference in used or reference not in exported:
            asked.setdefault(one["resource"], set()).add(name)
    configured = _set(document)
    dropped = set()
    for row in rows:
        block = KEY.sub("", row.address)
        given = {*row.known, *_certain(row), *configured.get(block, ()), *(attribute for attribute, *_ in row.ids())}
        computed = {*_computed(row, schemas)} - given - {"firewall_status", "ipv6_cidr_block"}
        # An index that is not constant leaves the address without it.
        places = (row.address, LAST_KEY.sub("", row.address), block)
        if row.mode == "managed" and any(computed & asked.get(place, set()) for place in places):
            dropped.add(row.address)
    return dropped


def _certain(row: _Row) -> Values:
    """Return what AWS is sure to set: a new VPC has no IPv6 block unless the configuration asks for one."""
    asked = ("assign_generated_ipv6_cidr_block", "ipv6_ipam_pool_id")
    if row.type != "aws_vpc" or not row.is_new or any(row.known.get(name, True) for name in asked):
        return {}
    return {"ipv6_cidr_block": "", "ipv6_association_id": ""}


def _computed(row: _Row, schemas: Values) -> dict[str, Any]:
    """Return the types of the attributes that a provider computes, and those of nested blocks by the name of the block."""
    kind = "resource_schemas" if row.mode == "managed" else "data_source_schemas"
    schema = schemas.get(row.provider, {}).get(kind, {}).get(row.type)
    return _types(schema["block"]) if schema else {}


def _types(block: Values) -> dict[str, Any]:
    attributes = block.get("attributes", {}).items()
    types = {name: one["type"] for name, one in attributes if one.get("computed") and "type" in one}
    for name, nested in block.get("block_types", {}).items():
        if inner := _types(nested["block"]):
            types[name] = ["object", inner]
    return types


def _sample(kind: Any, name: str, order: int) -> Any:  # noqa: ANN401  # any JSON
    """Return a made-up value of a type: empty in the first order if it can be, and different in each of them."""
    match kind:
        case ["list" | "set", inner]:
            return [_sample(inner, name, order + number) for number in range(order)]
        case ["map", inner]:
            return {"e59ac0de": _sample(inner, name, order)} if order else {}
        case ["object", inner]:
            return {field: _sample(one, field, order) for field, one in inner.items()}
        case "number":
            return order
        case "bool":
            return order == 1
    shape = next((text for part, text in TEXTS.items() if part in re.split("_|(?=cidr)", name)), "")
    return (shape or ("e59ac0de-{}" if order else "")).format(order)


def _mappings(values: Mapping[str, Values], firewalls: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield each firewall with the subnet and zone of each of its endpoints, if they are known.

    https://docs.aws.amazon.com/network-firewall/latest/developerguide/vpc-config.html: one endpoint per subnet mapping.
    """
    zones = {row["id"]: row.get("availability_zone") for row in values.values() if isinstance(row.get("id"), str)}
    for address in firewalls:
        mappings = values.get(address, {}).get("subnet_mapping")
        subnets = [row.get("subnet_id") for row in mappings] if isinstance(mappings, list) else []
        found = [(subnet, zones.get(subnet)) for subnet in subnets if isinstance(subnet, str)]
        # Several endpoints are told apart by their zones.
        if (
            found
            and len(found) == len(subnets)
            and (len(found) == 1 or all(isinstance(zone, str) for _, zone in found))
        ):
            yield address, found


@dataclass(slots=True)
class _Order:
    """The overrides of one order of ids. names: what each id of our own names. samples: every value that is made up."""

    overrides: dict[str, list[Values]]
    names: dict[str, NewId]
    samples: dict[tuple[str, str], Any] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, order: int, rows: Sequence[_Row], schemas: Values, dropped: set[str], statuses: Mapping[str, Any]
    ) -> "_Order":
        """Give ids and samples to what is not known."""
        wanted = {(shape, name) for row in rows if row.address not in dropped for _, shape, name in row.ids()}
        endpoints = {
            address: [f"{address}.endpoint[{n}]" for n in range(len(all_))] for address, all_ in statuses.items()
        }
        wanted |= {("vpce", name) for names in endpoints.values() for name in names}
        # The numbers with their bits reversed: what is between two others at the same distance is not between them anymore.
        numbers = range(len(wanted))
        ranks = [numbers, numbers[::-1], [int(f"{number:024b}"[::-1], 2) for number in numbers]][order]
        texts = {
            name: f"{shape}-0{STARTS[order] + rank:016x}"
            for rank, (shape, name) in zip(ranks, sorted(wanted), strict=True)
        }
        self = cls({"managed": [], "data": []}, {text: NewId(name) for name, text in texts.items()})
        for row in rows:
            is_mocked = row.mode == "data" or (row.provider != BUILTIN and (row.is_made or not row.is_new))
            if not is_mocked or row.address in dropped:
                continue
            types = _computed(row, schemas)
            # Terraform keeps nothing else. The schema of builtin data sources is not asked for.
            given = {name: value for name, value in row.known.items() if name in types or row.provider == BUILTIN}
            given.update(_certain(row), **{attribute: texts[name] for attribute, _, name in row.ids()})
            if row.address in statuses:
                states = [
                    {
                        "availability_zone": zone if isinstance(zone, str) else _sample("string", "zone", order),
                        "attachment": [{"endpoint_id": texts[endpoint], "subnet_id": texts.get(subnet, subnet)}],
                    }
                    for endpoint, (subnet, zone) in zip(endpoints[row.address], statuses[row.address], strict=True)
                ]
                given["firewall_status"] = [{"sync_states": states}]
            for name in types.keys() - given.keys():
                given[name] = self.samples[row.address, name] = _sample(types[name], name, order)
            self.overrides[row.mode].append({"target": row.address, "override_during": "plan", "values": given})
        return self

    def named(self, value: Any, unknown: object = False) -> Any:  # noqa: ANN401  # any JSON
        """Return a value with OPEN for what is unknown or made up, and names for ids of our own."""
        if unknown is True:
            return OPEN
        if isinstance(value, dict) or (unknown and isinstance(unknown, dict)):
            values = value if isinstance(value, dict) else {}
            more = unknown if isinstance(unknown, dict) else {}
            return {name: self.named(values.get(name), more.get(name)) for name in values | more}
        if isinstance(value, list):
            parts = unknown if isinstance(unknown, list) else []
            return [self.named(item, part) for item, part in itertools.zip_longest(value, parts)]
        if isinstance(value, str):
            return self.names.get(value, OPEN if MADE_UP.search(value) else value)
        return value


class _Terraform:
    """The program, and the configuration that it plans once more. schemas: by the full name of the provider."""

    def __init__(self, document: Values, rows: Sequence[_Row], folder: Path, program: str | None) -> None:
        """Check whether to ask it at all."""
        found = shutil.which(program or "terraform")
        self._document, self._folder, self._command = document, folder, [found or ""]
        self._data = folder / os.environ.get("TF_DATA_DIR", ".terraform")
        configured = document.get("configuration", {}).get("provider_config", {})
        # A module that only says which version of a provider it requires gets the one of its caller.
        own = [one for one in configured.values() if "module_address" not in one or one.get("expressions")]
        self._providers = [one for one in own if one.get("full_name") != BUILTIN]
        mocked = {BUILTIN, *(one.get("full_name") for one in self._providers if "module_address" not in one)}
        reasons = {
            f"{program or 'terraform on PATH'} is not a program": not found,
            f"{folder} is not initialized (terraform init)": not (
                self._data.is_dir() or "TF_REATTACH_PROVIDERS" in os.environ
            ),
            "the plan is of a part of the configuration (-target)": document.get("complete") is False,
            "a module configures a provider, or only a module requires it": (
                any("module_address" in one for one in self._providers) or {row.provider for row in rows} - mocked
            ),
            "terraform_remote_state is read during the apply": any(
                row.provider == BUILTIN and row.mode == "data" and row.unknown for row in rows
            ),
        }
        for reason, holds in reasons.items():
            if holds:
                raise NotResolvedError(reason)

    def start(self, scratch: Path) -> None:
        """Read the version and the schemas. These come from an empty configuration, so that no backend is asked."""
        self._scratch = scratch
        probe = [*NO_NETWORK, "true"]
        if shutil.which("unshare") and not subprocess.run(probe, capture_output=True, check=False).returncode:  # noqa: S603
            self._command = [*NO_NETWORK, *self._command]
        [version] = self._run([["version"]], scratch)
        number = re.match(rb"Terraform v(\d+)\.(\d+)", version)
        if not number or (int(number[1]), int(number[2])) < OLDEST:
            raise NotResolvedError("Terraform 1.11 or newer is needed")
        (scratch / "data").mkdir()
        (scratch / "data" / "providers").symlink_to(self._data / "providers")
        if (lock := self._folder / ".terraform.lock.hcl").exists():
            shutil.copy(lock, scratch)
        required = {one["name"]: {"source": one["full_name"]} for one in self._providers}
        self._write(scratch / "main.tf.json", {"terraform": {"required_providers": required}})
        [schemas] = self._run([["providers", "schema", "-json"]], scratch, TF_DATA_DIR=str(scratch / "data"))
        self.schemas: Values = orjson.loads(schemas or b"{}").get("provider_schemas", {})

    def plan(
        self, rows: Sequence[_Row], dropped: set[str], statuses: Mapping[str, Any], orders: int = len(STARTS)
    ) -> list[dict[str, dict[str, Any]]]:
        """Plan in each order of ids, and return the values by address."""
        every = [_Order.of(order, rows, self.schemas, dropped, statuses) for order in range(orders)]
        changes = self._test(every)
        found = []
        for order, planned in zip(every, changes, strict=True):
            _believe(self._document, rows, planned)
            # A default route table is the main table of its VPC.
            for row in planned.values():
                main = row["after"].get("default_route_table_id")
                if row["type"] == "aws_default_route_table" and main in order.names:
                    order.names[row["after"].get("id")] = order.names[main]
            found.append(
                {
                    address: order.named(row["after"], row["after_unknown"])
                    for address, row in planned.items()
                    if row["type"].startswith("aws_")
                }
            )
        # In the first order, what is made up is empty: so it shows, too, where the configuration sets null.
        for (address, name), sample in every[0].samples.items():
            if address in found[0] and changes[0][address]["after"].get(name, OPEN) == sample:
                for values in found:
                    values[address][name] = None if isinstance(sample, list | dict) else OPEN
        return found

    def _test(self, every: Sequence[_Order]) -> list[dict[str, Any]]:
        """Return what each run plans, by address. A failing check hides the plan, so that it is expected in a second try."""
        planned: list[dict[str, Any]] = []
        for is_last in (False, True):
            planned = []
            for order, lines in zip(every, self._messages(every), strict=True):
                plan: Values = next((line["test_plan"] for line in lines if line["type"] == "test_plan"), {})
                errors = [
                    line["diagnostic"] for line in lines if line["type"] == "diagnostic" and line["@level"] == "error"
                ]
                checked = [re.fullmatch('check "(.+)"', str(one.get("snippet", {}).get("context"))) for one in errors]
                if (errors or not plan) and (is_last or not errors or not all(checked)):
                    place = next((f" in {one['range']['filename']}" for one in errors if "range" in one), "")
                    raise NotResolvedError(f"Terraform's second plan failed{place}")
                order.checks = [f"check.{match[1]}" for match in checked if match]
                rows = [row for row in plan.get("resource_changes", ()) if row["mode"] == "managed"]
                planned.append({row["address"]: {"type": row["type"], **row["change"]} for row in rows})
            if not any(order.checks for order in every):
                break
        return planned

    def _messages(self, every: Sequence[_Order]) -> list[list[Any]]:
        mocks: dict[str, list[Values]] = {}
        for one in self._providers:
            mocks.setdefault(one["name"], []).append({"alias": one["alias"]} if "alias" in one else {})
        variables = self._scratch / "variables.tfvars.json"
        given = self._document.get("variables", {})
        self._write(variables, {name: one.get("value") for name, one in given.items()})
        with contextlib.ExitStack() as stack:
            commands = []
            for order in every:
                made = stack.enter_context(tempfile.TemporaryDirectory(prefix=".express-path-", dir=self._folder))
                test = {
                    "mock_provider": mocks,
                    "override_resource": order.overrides["managed"],
                    "override_data": order.overrides["data"],
                    "run": {"ids": {"command": "plan", "expect_failures": order.checks}},
                }
                name = Path(made).name
                self._write(Path(made) / "ids.tftest.json", test)
                where = [f"-test-directory={name}", f"-filter={name}/ids.tftest.json", f"-var-file={variables}"]
                commands.append(["test", "-json", "-verbose", *where])
            outputs = self._run(commands, self._folder)
        return [[orjson.loads(line) for line in output.splitlines() if line.startswith(b"{")] for output in outputs]

    @staticmethod
    def _write(file: Path, content: object) -> None:
        file.touch(0o600)
        file.write_bytes(orjson.dumps(content))

    def _run(self, commands: Sequence[Sequence[str]], folder: Path, **settings: str) -> list[bytes]:
        """Run commands at the same time, and return what they write. Nothing of them is left in any case."""
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment = passed_on | SETTINGS | {"HOME": str(self._scratch)} | settings
        processes: list[subprocess.Popen[bytes]] = []
        outputs = [self._scratch / f"output-{number}" for number in range(len(commands))]
        deadline = time.monotonic() + SECONDS
        try:
            for command, output in zip(commands, outputs, strict=True):
                with output.open("wb") as written:
                    processes.append(
                        subprocess.Popen(  # noqa: S603  # no shell, and the program that the user named
                            [*self._command, *command],
                            cwd=folder,
                            env=environment,
                            stdin=subprocess.DEVNULL,
                            stdout=written,
                            stderr=subprocess.DEVNULL,
                            start_new_session=True,
                        )
                    )
            while any(process.poll() is None for process in processes):
                if time.monotonic() > deadline or any(output.stat().st_size > OUTPUT_BYTES for output in outputs):
                    raise NotResolvedError(f"Terraform took more than {SECONDS} seconds or wrote more than expected")
                time.sleep(0.05)
        finally:
            for process in processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        return [output.read_bytes() for output in outputs]


def _believe(document: Values, rows: Iterable[_Row], planned: Mapping[str, Any]) -> None:
    """Check that the second plan has the same instances as the first, and the same values of what the configuration sets."""
    expected = {row.address: row for row in rows if row.mode == "managed"}
    differing = sorted(expected.keys() ^ planned.keys())
    configured = _set(document)
    for address in expected.keys() & planned.keys():
        row, after = expected[address], planned[address]["after"]
        for name in configured.get(KEY.sub("", address), {}).keys() & row.known.keys():
            # What the plan leaves as it was may be what the configuration ignores.
            if row.before.get(name) != row.known[name] and _differ(row.known[name], after.get(name)):
                differing.append(f"{address}.{name}")
    if differing:
        raise NotResolvedError(f"the configuration is not that of the plan: {min(differing)} differs")


def _differ(first: object, second: object) -> bool:
    """Return whether two known values differ. Providers write documents and lists of blocks in their own way."""
    if isinstance(first, dict) and isinstance(second, dict):
        return any(_differ(first[name], second[name]) for name in first.keys() & second.keys())
    if first is None or second is None or isinstance(first, list):
        return False
    return not str(first).startswith(("{", "[")) and str(first).casefold() != str(second).casefold()
