"""Split a scan by owner: a folder for each, with a ticket, its subnets, commands, and patches.

Each route table is changed by one owner, and each endpoint is created by one, so that no two files make the same change.
"""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.heal.patches import fitting, join_patches
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.remedy.remedies import association
from express_path.domain.remedy.texts import BREAKS, Remedy
from express_path_cli.findings.formats.csv import as_csv
from express_path_cli.findings.formats.markdown import LINKING, plain, table
from express_path_cli.findings.grouping import UNOWNED, Grouping, Values, group_record, groups, owner_text, owners_of
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row, fix_key, worst_first
from express_path_cli.findings.worklist import fixes_of, worklist
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import to_json, write_file
from express_path_cli.terminal.tables import aligned, printable

INDEX = "index.md"
"""The page with all owners."""
_MAX_NAME = 48
"""The longest name of a folder, without what tells equal ones apart. Common file systems accept 255 bytes."""
_HASHED = re.compile(r".*-[0-9a-f]{32}", re.IGNORECASE)
"""A name that looks like one that is made from a hash."""
_SECOND = "-second"
"""The end of the name of a folder whose patches need endpoints that other owners create."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Names that are devices on Windows (https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file)."""


@dataclass(frozen=True, slots=True)
class _SharedEndpoint:
    """Route tables of a VPC that need the same endpoint, who changes each of them, and who creates the endpoint.

    rows: the worst first. creator: the owner who also has the CloudFormation template, because a template lists all route
    tables of an endpoint.
    """

    endpoint: VpcEndpoint
    rows: Sequence[Row]
    owners: Mapping[str, Values]
    creator: Values

    def others(self, values: Values) -> list[Values]:
        """Return the other owners who change route tables."""
        return sorted({*self.owners.values()} - {values}, key=owner_text)


@dataclass(frozen=True, slots=True)
class _Patch:
    """The patches of one owner for one endpoint, and the place that they are for. waits: another owner creates it."""

    account_id: str
    region: str
    endpoint: VpcEndpoint
    remedy: Remedy
    waits: bool


def check_folder(folder: Path) -> None:
    """Raise OptionError unless a folder is new or empty: files of an earlier split would look like new ones."""
    try:
        is_free = not folder.exists() or not any(folder.iterdir())
    except OSError as error:
        raise OptionError(f"--output {folder}: {error.strerror}", "use a new folder") from error
    if not is_free:
        raise OptionError(f"--output {folder} is not empty", "use a new or empty folder")


def write_split(result: Result, grouping: Grouping, folder: Path) -> None:
    """Write an index and a folder for each owner with something to do. Raise OptionError if that is not possible."""
    for name, text in _Split(result, grouping).files():
        file = folder / name
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"{file.parent}: {error.strerror}", "use a folder that can be created") from error
        write_file(file, [text])


class _Split:
    """The owners of one result. What the configuration file ignores moves with its route table, so it counts here, too."""

    def __init__(self, result: Result, grouping: Grouping) -> None:
        self._result, self._grouping = result, grouping
        rows = [*result.rows, *result.unlisted]
        self._owners, self._groups = owners_of(rows, grouping), groups(rows, grouping)
        self._names = _folder_names([group.values for group in self._groups])
        self._shared_endpoints = dict(self._find_shared_endpoints())

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of each file. The index is the last one, so that it names only what exists."""
        for group in self._groups:
            if group.needs_work:
                yield from self._files_of(group.values, group.rows)
        yield INDEX, "\n".join(self._index())

    def _find_shared_endpoints(self) -> Iterator[tuple[Hashable, _SharedEndpoint]]:
        rows: defaultdict[Hashable, list[Row]] = defaultdict(list)
        for row in self._result.rows:
            if row.remedy and row.remedy.endpoint:
                rows[fix_key(row)].append(row)
        for key, unordered in rows.items():
            sharing = worst_first(unordered)
            owners = {str(row.route_table_id): self._owners[row.key] for row in sharing}
            counts = Counter(owners.values())
            # The owner of the most tables creates the endpoint: of several the first, and nobody only if there is no other.
            creator = min(counts, key=lambda values: (None in values, -counts[values], owner_text(values)))
            if sharing[0].remedy and sharing[0].remedy.endpoint:
                yield key, _SharedEndpoint(sharing[0].remedy.endpoint, sharing, owners, creator)

    def _files_of(self, values: Values, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
        patches = {
            key: self._patch(shared, values)
            for key, shared in self._shared_endpoints.items()
            if values in shared.owners.values()
        }
        shown = [replace(row, remedy=patches[key].remedy) if (key := fix_key(row)) in patches else row for row in rows]
        result = replace(self._result, rows=shown, unlisted=(), comparison=None)
        name = self._names[values]
        places: defaultdict[str, list[_Patch]] = defaultdict(list)
        for patch in patches.values():
            places[_file_name(f"{patch.account_id}-{patch.region}") + _SECOND * patch.waits].append(patch)
        files = {f"{place}/{file}": text for place, here in places.items() for file, text in _files_of_place(here)}
        yield f"{name}/{TICKET}", "\n".join(_ticket(result, owner_text(values), self._grouping.tag_keys, files))
        yield f"{name}/{SUBNETS}", "".join(as_csv(result))
        for file, text in files.items():
            yield f"{name}/{file}", text

    def _patch(self, shared: _SharedEndpoint, values: Values) -> _Patch:
        row, endpoint = shared.rows[0], shared.endpoint
        waits = endpoint.id == NEW_ENDPOINT and shared.creator != values
        return _Patch(row.account_id, row.region, endpoint, self._remedy(shared, values), waits)

    def _remedy(self, shared: _SharedEndpoint, values: Values) -> Remedy:
        """Return what an owner does about its route tables, with patches for these alone."""
        mine = [row for row in shared.rows if shared.owners[str(row.route_table_id)] == values]
        owned = next((row.remedy.owner for row in shared.rows if row.remedy and row.remedy.owner), "")
        remedy, other_owners = association(mine, shared.endpoint, owned), shared.others(values)
        if not other_owners or not remedy.patches:
            return remedy
        patches = {name: patch for name, patch in remedy.patches.items() if name != "cloudFormation"}
        if shared.creator == values:
            listed = ", ".join(map(self._owner, other_owners))
            after = f" {listed} also have route tables that need it; the CloudFormation template has these, too."
            patches = {**association(shared.rows, shared.endpoint, owned).patches, **patches}
            return replace(_with_words(remedy, after=after), patches=patches)
        before, after = "", f" The CloudFormation template of {self._owner(shared.creator)} has these route tables."
        if shared.endpoint.id == NEW_ENDPOINT:
            tables = list(dict.fromkeys(str(row.route_table_id) for row in mine))
            patches = fitting(join_patches(shared.endpoint, tables), owned)
            before = f"First, {self._owner(shared.creator)} creates the endpoint, because one serves the VPC. Then: "
        command = patches.get("cli", "").strip()
        return replace(_with_words(remedy, before, after), command=command, patches=patches)

    def _owner(self, values: Values) -> str:
        text, name = owner_text(values), self._names[values]
        return name if name == text else f"{text} ({name})"

    def _index(self) -> Iterator[str]:
        yield from (f"# Paths to S3 Express One Zone, by {plain(self._grouping.by)}", "")
        for line in self._result.settings:
            yield from (plain(line), "")
        yield from (f"**{plain(self._result.summary)}**", "")
        records = [group_record(group, self._grouping) for group in self._groups]
        pages = [self._link(group.values) for group in self._groups]
        cells = [
            [*(plain(value) for values in record.cells.values() for value in values), page if group.needs_work else ""]
            for record, page, group in zip(records, pages, self._groups, strict=True)
        ]
        titles = [
            *self._grouping.titles,
            *("Subnets", "NON_COMPLIANT", "Route tables", "DROPPED", "Unresolved"),
            "Page",
        ]
        yield from table(map(plain, titles), cells)
        shared = [row for row in self._shared_endpoints.values() if row.others(row.creator)]
        if shared:
            yield from ("", "## VPCs with route tables of several owners", "")
            yield "The first owner creates the endpoint, and keeps its list in CloudFormation. Then the others associate their route"
            yield from (
                f"tables: the folders that end with `{_SECOND}` need an endpoint that the first owner creates.",
                "",
            )
            links = (
                [
                    plain(row.endpoint.vpc_id),
                    self._link(row.creator),
                    ", ".join(map(self._link, row.others(row.creator))),
                ]
                for row in shared
            )
            yield from table(["VPC", "First", "Then"], links)
        yield ""

    def _link(self, values: Values) -> str:
        name = self._names[values]
        return f"[{plain(name)}]({name}/{TICKET})"


TICKET, SUBNETS, COMMANDS, PROVIDER = "ticket.txt", "subnets.csv", "commands.sh", "provider.tf"
_WRITTEN = (INDEX, TICKET, SUBNETS, COMMANDS, PROVIDER)
_MOST_ROWS = 40
"""How many subnets a ticket lists. The CSV file has all of them."""
_WHY = (
    "Traffic of these subnets to S3 Express One Zone crosses a NAT, which charges for every byte and limits the throughput. "
    "A gateway endpoint for S3 Express is free of charge, and takes the traffic off the NAT."
)


def _with_words(remedy: Remedy, before: str = "", after: str = "") -> Remedy:
    """Return a remedy with words before and after what it says."""
    text, instruction = (f"{before}{part}{after}" for part in (remedy.text, remedy.instruction))
    return replace(remedy, text=text, instruction=instruction)


def _ticket(own: Result, owner: str, tag_keys: Sequence[str], files: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a ticket, as plain text. own: the rows of one owner. files: what is beside the ticket."""
    to_do = worklist([row for row in own.rows if not row.ignored])
    fixes = fixes_of(to_do.flagged)
    yield from (f"Paths to S3 Express One Zone: {_unlinked(owner)}", "", _WHY, "")
    yield from map(_unlinked, own.settings)
    yield from (f"Scan of {own.made_at:%Y-%m-%d %H:%M} UTC. {_unlinked(own.summary)}", "")
    if fixes:
        yield "What to change:"
        for fix in fixes:
            text = fix.remedy.instruction or fix.remedy.text
            yield f"- {_unlinked(f'{fix.rows[0].reason}, {fix.counted(fix.rows[0].reason)}: {text}')}"
            yield from (f"  {printable(line)}" for line in fix.code.splitlines())
        yield ""
        if files := list(files):
            yield from (
                "Use the commands, Terraform, or CloudFormation; each folder is for one account and Region:",
                *files,
            )
            yield from (f"Folders that end with {_SECOND} need endpoints that other owners create first.", "")
        if any(fix.remedy.endpoint for fix in fixes):
            yield from (f"What breaks: {BREAKS} Choose a time with little traffic.", "")
        vpcs = sorted({(row.region, row.vpc_id) for fix in fixes for row in fix.rows})
        yield "How to verify: these print no NON_COMPLIANT subnet of this ticket, with credentials of its account:"
        yield from (
            f"  express-path scan {shlex.join(['--region', region, '--vpc', vpc_id])}" for region, vpc_id in vpcs
        )
        yield ""
    for title, items in {
        "AWS drops the traffic": to_do.dropped,
        "The path could not be followed": to_do.unresolved,
    }.items():
        if items:
            notes = (f"- {item.first.route_table_id or item.first.vpc_id}: {item.first.note}" for item in items)
            yield from (f"{title}:", *map(_unlinked, notes), "")
    tables = {table_id for fix in fixes for table_id in fix.route_table_ids}
    moving = [row for row in own.rows if row.route_table_id in tables]
    if moving:
        yield f"Subnets that move ({len(moving)}):"
        titles = (
            "Account",
            "Region",
            "VPC",
            "Route table",
            "Subnet",
            "Name",
            "Reason",
            *(f"Owner ({_unlinked(key)})" for key in tag_keys),
        )
        cells = (map(_unlinked, _moving_cells(row, tag_keys)) for row in worst_first(moving)[:_MOST_ROWS])
        yield from aligned([titles, *map(tuple, cells)])
        if len(moving) > _MOST_ROWS:
            yield f"and {len(moving) - _MOST_ROWS} more in {SUBNETS}"
    yield ""


def _moving_cells(row: Row, tag_keys: Sequence[str]) -> Iterator[str]:
    """Yield what a ticket says of a subnet that moves."""
    yield from (
        row.account_id,
        row.region,
        row.vpc_id,
        str(row.route_table_id),
        row.subnet_id,
        row.subnet_name,
        row.reason,
    )
    yield from (row.tags.get(key, UNOWNED) for key in tag_keys)


def _unlinked(text: str) -> str:
    """Return a text in one line of which no system makes a link or a mention, wherever a ticket is pasted."""
    return LINKING.sub(r"[\g<0>]", printable(text))


def _files_of_place(patches: Sequence[_Patch]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file for one account and Region."""
    account_id, region = patches[0].account_id, patches[0].region
    if commands := [patch.remedy.command for patch in patches if patch.remedy.command]:
        yield COMMANDS, "\n".join(["#!/bin/sh", "set -eu", *commands, ""])
    if any("terraform" in patch.remedy.patches for patch in patches):
        yield (
            PROVIDER,
            (
                f'provider "aws" {{\n  region              = {to_json(region).decode()}\n'
                f"  allowed_account_ids = [{to_json(account_id).decode()}]\n}}\n"
            ),
        )
    several = Counter(patch.endpoint.vpc_id for patch in patches)
    for patch in patches:
        endpoint = patch.endpoint
        kind = f"-{endpoint.ip_address_type}" if several[endpoint.vpc_id] > 1 else ""
        for suffix, tool in (("tf", "terraform"), ("yaml", "cloudFormation")):
            if tool in patch.remedy.patches:
                yield f"{_file_name(endpoint.vpc_id)}{kind}.{suffix}", patch.remedy.patches[tool]


def _folder_names(owners: Iterable[Values]) -> dict[Values, str]:
    """Return a folder name for each owner: its own text if that is safe and unlike all others, else with a hash.

    Names that differ only in case are alike. So is the name of a file that is written, or a name that looks made from a hash.
    """
    texts = {values: "/".join(UNOWNED if value is None else value for value in values) for values in owners}
    alike = Counter(_file_name(text).casefold() for text in texts.values())
    names = {}
    for values, text in texts.items():
        name = _file_name(text)
        is_free = alike[name.casefold()] == 1 and name.casefold() not in _WRITTEN and not _HASHED.fullmatch(name)
        names[values] = name if name == text and is_free else f"{name}-{_digest(values)}"
    return names


def _digest(values: Values) -> str:
    """Return a hash of exactly these values, also of characters that no file can contain."""
    return sha256(ascii(values).encode()).hexdigest()[:32]


def _file_name(text: str) -> str:
    """Return a text as the name of a file or folder on any system: ASCII, no separators, no leading or last dot."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:_MAX_NAME].strip("-.")
    return f"_{name}" if not name or _RESERVED.fullmatch(name) else name
