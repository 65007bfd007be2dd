"""A scan split by owner: every number and finding is that of the scan, and no two files make the same change."""

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from config_rule_sandbox.pytest_plugin import emptied
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.grouping import Grouping
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Ignored, rows_of
from express_path_cli.findings.split import write_split
from express_path_cli.sources.network import View
from tests.cli.findings.results import FLAGGED, LINKING, LINKS, MADE_AT, result_of
from tests.support.command import invoke
from tests.support.heal_situation import EXPRESS_LIST_6
from tests.support.make import ACCOUNT, EXPRESS_LIST, by_id, route, snapshot, subnet, table
from tests.support.owned_network import SUBNETS, TABLES, dump_network, make_network
from tests.support.scenarios import dump_of

OWNER = Grouping("tag:owner")
NAT = str(dump_of("nat-gateway-zonal"))


@pytest.fixture(scope="module")
def scan(running_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the file of a scan of a network with many owners."""
    folder = tmp_path_factory.mktemp("owned")
    with pytest.MonkeyPatch.context() as changed, emptied(running_sandbox, changed):
        dump_network(make_network(running_sandbox), folder / "dump", changed)
    file = folder / "scan.json"
    invoke(["scan", "--from-dump", str(folder / "dump"), "--output", str(file)])
    return str(file)


@pytest.fixture(scope="module")
def split(scan: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with a folder for each owner."""
    folder = tmp_path_factory.mktemp("owners")
    assert invoke(["scan", "--from", scan, "--split-by", "tag:owner", "--output", str(folder)]).exit_code == 1
    return folder


def rows_in(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline="")))


def test_the_index_counts_the_findings_of_each_owner(scan: str, split: Path) -> None:
    """The numbers are those of the scan, and of the CSV files; a table whose subnets have several owners is unowned."""
    rows = json.loads(Path(scan).read_text(encoding="utf-8"))["subnets"]
    by_table: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        by_table[row["routeTableId"]].add(row.get("tableTags", {}).get("owner", row["tags"].get("owner", "")))
    flagged = [row["routeTableId"] for row in rows if row["compliance"] == "NON_COMPLIANT"]
    assert (len(rows), len(set(flagged))) == (SUBNETS, TABLES)
    found = Counter("unowned" if len(owners) > 1 else min(owners) for owners in map(by_table.__getitem__, flagged))
    assert len(found) == 4
    index = (split / "index.md").read_text(encoding="utf-8")
    cells = [line.strip("| ").split(" | ") for line in index.splitlines() if line.endswith("ticket.txt) |")]
    pages = {cell[-1]: int(cell[2]) for cell in cells if cell[2].isdecimal()}
    assert sorted(pages.values()) == sorted(found.values())
    for link, number in pages.items():
        rows_of_owner = rows_in(split / re.findall(r"\((.*)/ticket.txt\)", link)[0] / "subnets.csv")
        assert sum(row["compliance"] == "NON_COMPLIANT" for row in rows_of_owner) == number


def test_every_finding_is_in_one_folder(scan: str, split: Path) -> None:
    """The files of all owners together have each finding once. A ticket names its subnets, or 40 and the file with the rest."""
    rows = json.loads(Path(scan).read_text(encoding="utf-8"))["subnets"]
    expected = Counter(row["subnetId"] for row in rows if row["compliance"] == "NON_COMPLIANT")
    found: Counter[str] = Counter()
    for file in split.glob("*/subnets.csv"):
        own = [row["subnetId"] for row in rows_in(file) if row["compliance"] == "NON_COMPLIANT"]
        found.update(own)
        ticket = file.with_name("ticket.txt").read_text(encoding="utf-8")
        assert sum(subnet_id in ticket for subnet_id in own) == min(len(own), 40)
        assert (f"and {len(own) - 40} more in subnets.csv" in ticket) is (len(own) > 40)
    assert found == expected


def test_a_ticket_says_all_that_its_reader_needs(tmp_path: Path) -> None:
    """Why, when, what to change, what breaks, how to verify, and every subnet that moves, in text that needs no renderer."""
    data, web = (replace(FLAGGED, subnet_id=f"subnet-{owner}", tags={"owner": owner}) for owner in ("data_1", "web"))
    ignored = replace(web, subnet_id="subnet-ignored", ignored=Ignored("moves in March", date(2026, 3, 31)))
    write_split(replace(result_of(data, web), unlisted=[ignored]), OWNER, tmp_path)
    ticket = (tmp_path / "unowned" / "ticket.txt").read_text(encoding="utf-8")
    for text in (
        "charges for every byte",
        f"Scan of {MADE_AT:%Y-%m-%d %H:%M} UTC",
        "What to change:",
        "1 finding ignored",
    ):
        assert text in ticket
    assert f"express-path scan --region us-east-1 --vpc {FLAGGED.vpc_id}" in ticket
    moved = [line.split() for line in ticket.splitlines() if "subnet-" in line]
    assert {(cells[4], cells[-1]) for cells in moved} == {
        ("subnet-data_1", "data_1"),
        ("subnet-web", "web"),
        ("subnet-ignored", "web"),
    }
    assert "\\" not in ticket
    write_split(result_of(replace(data, vpc_id="vpc-$(reboot)")), OWNER, tmp_path / "forged")
    forged = (tmp_path / "forged" / "data_1" / "ticket.txt").read_text(encoding="utf-8")
    assert "--vpc 'vpc-$(reboot)'" in forged


def test_every_route_table_is_changed_once(scan: str, split: Path) -> None:
    """In each language, one file changes a table, and one creates an endpoint for a VPC that has none."""
    rows = json.loads(Path(scan).read_text(encoding="utf-8"))["subnets"]
    tables = sorted({row["routeTableId"] for row in rows if row["compliance"] == "NON_COMPLIANT"})
    commands = "\n".join(file.read_text(encoding="utf-8") for file in split.rglob("commands.sh"))
    terraform = "\n".join(file.read_text(encoding="utf-8") for file in split.rglob("vpc-*.tf"))
    templates = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in split.rglob("*.yaml")]
    assert sorted(re.findall(r"\brtb-\w+", commands)) == tables
    assert sorted(re.findall(r'route_table_id  = "(.*)"', terraform)) == tables
    listed = [
        table for made in templates for table in made["Resources"]["S3ExpressEndpoint"]["Properties"]["RouteTableIds"]
    ]
    assert Counter(listed) >= Counter(tables)
    assert max(Counter(listed).values()) == 1
    created = re.findall(r"create-vpc-endpoint .*--vpc-id (\S+)", commands)
    assert sorted(created) == sorted(re.findall(r'resource "aws_vpc_endpoint" ".*\n  vpc_id +.= "(.*)"', terraform))
    assert len(created) == len(set(created)) == 8
    for file in split.rglob("provider.tf"):
        account = file.parent.name[:12]
        assert f'allowed_account_ids = ["{account}"]' in file.read_text(encoding="utf-8")


def test_an_owner_knows_what_the_others_do(split: Path) -> None:
    """Who does not create the endpoint of a VPC finds it by its VPC."""
    tickets = {file.parent.name: file.read_text(encoding="utf-8") for file in split.glob("*/ticket.txt")}
    waiting = {file.parent.parent.name for file in split.rglob("*-second/commands.sh")}
    assert waiting
    for name in waiting:
        assert re.search(r"First, .* creates the endpoint, because one serves the VPC\.", tickets[name])
    assert "(data-team-" in (split / "index.md").read_text(encoding="utf-8")


def test_nobody_waits_for_an_unowned_table(tmp_path: Path) -> None:
    """An owner creates the endpoint, even if most route tables of the VPC have none."""
    row = two_types().rows[0]
    unowned = [replace(row, subnet_id=name, route_table_id=name, tags={}) for name in "ab"]
    write_split(result_of(row, *unowned), OWNER, tmp_path)
    assert not list(tmp_path.glob("web/*-second"))


def test_accounts_are_owners_too(scan: str, tmp_path: Path) -> None:
    """A VPC is of one account, so none waits for another."""
    folder = tmp_path / "accounts"
    invoke(["scan", "--from", scan, "--split-by", "account", "--output", str(folder)])
    assert sorted(path.name for path in folder.iterdir()) == [
        "111111111111",
        "222222222222",
        "333333333333",
        "444444444444",
        "index.md",
    ]
    assert len(list(folder.rglob("vpc-*.tf"))) == len(list(folder.rglob("vpc-*.yaml"))) == 12
    assert list(folder.rglob("*-second")) == []


TEXTS = st.text(max_size=90) | st.sampled_from(
    [
        "",
        "..",
        "../x",
        "/etc",
        "a/b",
        "CON",
        "nul.txt",
        "Data",
        "data",
        "DATA",
        "-rf",
        ".git",
        "x" * 300,
        "\u00fc",
        "a\nb",
        "_",
        "unowned",
        "index.md",
        "INDEX.MD",
        "ticket.txt",
        "commands.sh",
        ".",
        "a/b",
        "a\x1b",
        "a\x07",
        "com1.txt",
        "a.",
    ]
)


def test_owners_like_files_have_folders_of_their_own(tmp_path: Path) -> None:
    """The names of our own files, of other owners' folders, of devices, and of folders above, also in another case."""
    own = [
        "index.md",
        "Index.MD",
        "ticket.txt",
        "subnets.csv",
        "commands.sh",
        "provider.tf",
        ".",
        "..",
        "CON",
        "a\x1b",
        "a\x07",
    ]
    names = [path.name for path in split_of([*own, "a/b"], tmp_path / "first")]
    assert not {*own} & {*names}
    [taken] = [name for name in names if name.startswith("a-b-")]
    again = split_of(["a/b", taken, taken.upper()], tmp_path / "second")
    assert len({path.name.casefold() for path in again}) == 3
    assert taken in [path.name for path in again]
    assert all("Paths to S3 Express One Zone: a/b" in read(path) for path in again if path.name == taken)


def split_of(owners: Sequence[str], folder: Path) -> list[Path]:
    """Split a finding of each owner, and return the folders of the owners."""
    rows = [
        replace(FLAGGED, subnet_id=f"subnet-{number}", route_table_id=f"rtb-{number}", table_tags={"owner": owner})
        for number, owner in enumerate(owners)
    ]
    write_split(result_of(*rows), OWNER, folder)
    found = [path for path in folder.iterdir() if path.is_dir()]
    assert len(found) == len(owners)
    return found


def read(folder: Path) -> str:
    """Return the ticket in the folder of an owner."""
    return (folder / "ticket.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("odd", LINKING)
def test_a_ticket_links_to_nothing_that_people_wrote(odd: str, tmp_path: Path) -> None:
    """Nor does it mention anybody, wherever it is pasted; the marks are in brackets. Our own link and commands stay."""
    row = replace(FLAGGED, subnet_name=odd, vpc_name=odd, table_tags={"owner": odd}, remedy=two_types().rows[0].remedy)
    write_split(result_of(row, settings=[f"express-path.toml sets x: {odd}"]), OWNER, tmp_path)
    [ticket] = tmp_path.glob("*/ticket.txt")
    text = ticket.read_text(encoding="utf-8")
    assert re.sub(r"\[(.)\]", r"\1", text).count(odd) >= 3
    assert text.count("(https://docs.aws.amazon.com/") == 1
    assert [line for line in text.replace("(https://docs.aws.amazon.com/", "").splitlines() if LINKS.search(line)] == []
    assert "aws ec2 create-vpc-endpoint" in text


@settings(max_examples=30)  # each writes many files
@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_any_owner_has_a_safe_folder_of_its_own(tmp_path_factory: pytest.TempPathFactory, owners: list[str]) -> None:
    """No tag leaves the folder, hides files, or shares them with another owner, also where case does not count."""
    rows = [
        *(
            replace(FLAGGED, subnet_id=f"subnet-{number}", route_table_id=f"rtb-{number}", table_tags={"owner": owner})
            for number, owner in enumerate(owners)
        ),
        replace(FLAGGED, subnet_id="subnet-nobody"),
    ]
    folder = tmp_path_factory.mktemp("split")
    write_split(result_of(*rows), OWNER, folder)
    names = [path.name for path in folder.iterdir() if path.is_dir()]
    assert len(names) == len({name.casefold() for name in names}) == len({*owners, None})
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,80}", name) for name in names)
    assert len(list(folder.glob("*/ticket.txt"))) == len(names)
    found = [row["subnetId"] for file in folder.glob("*/subnets.csv") for row in rows_in(file)]
    assert sorted(found) == sorted(row.subnet_id for row in rows)


def two_types() -> Result:
    """Return a result with an IPv4 table and a dual-stack table in one VPC without an endpoint."""
    subnets = by_id(subnet("subnet-1", tags={"owner": "web"}), subnet("subnet-2", has_ipv6=True, tags={"owner": "web"}))
    tables = [table(f"rtb-{n}", route("0.0.0.0/0", "nat-1"), subnets=(f"subnet-{n}",)) for n in (1, 2)]
    found = snapshot(subnets=subnets, route_tables=by_id(*tables), prefix_lists=by_id(EXPRESS_LIST, EXPRESS_LIST_6))
    view = View(Account(ACCOUNT), Tracer(found), tuple(found.subnets))
    evaluator = view.evaluator(RuleParameters())
    rows = rows_of(map(evaluator.verdict, found.subnets), [evaluator])
    return Result(rows, MADE_AT)


def test_endpoints_of_two_types_in_a_vpc_have_files_of_their_own(tmp_path: Path) -> None:
    """Their resources have different names, so both can be in one configuration."""
    write_split(two_types(), OWNER, tmp_path)
    files = sorted(path for path in (tmp_path / "web").glob("*/vpc-*"))
    assert [file.name for file in files] == [
        *("vpc-1-dualstack.tf", "vpc-1-dualstack.yaml", "vpc-1-ipv4.tf", "vpc-1-ipv4.yaml"),
    ]
    names = re.findall(r'resource "\S+" "(\S+)"', "".join(file.read_text(encoding="utf-8") for file in files))
    assert len(names) == len(set(names)) == 4


def test_other_work_is_only_in_the_ticket(tmp_path: Path) -> None:
    """A route that may have other users is deleted by a person, not by a script."""
    row = replace(FLAGGED, reason=Reason.PARTLY_NAT, tags={"owner": "web"})
    write_split(result_of(row), OWNER, tmp_path)
    assert sorted(path.name for path in (tmp_path / "web").iterdir()) == ["subnets.csv", "ticket.txt"]
    assert "aws ec2" in (tmp_path / "web" / "ticket.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--split-by", "tag:owner"], "--split-by writes several files"),
        (["--split-by", "tag:owner", "-o", "-"], "--split-by writes several files"),
        (["--split-by", "owner", "-o", "{new}"], "--split-by owner: subnets cannot be split by this"),
        (["--split-by", "account", "-o", "{full}"], "is not empty (use a new or empty folder)"),
        (["--split-by", "account", "-o", "{file}"], "Not a directory"),
        (["--split-by", "account", "-o", "{file}/new"], "Not a directory"),
        *(
            (["--split-by", "account", "-o", "{new}", *option], f"--split-by and {option[0]} cannot be used together")
            for option in (["--format", "csv"], ["--show", "COMPLIANT"])
        ),
    ],
)
def test_what_cannot_be_split_is_refused(options: list[str], says: str, tmp_path: Path) -> None:
    """Nothing is written, and files of an earlier split do not stay among new ones."""
    places: dict[str, Any] = {"new": tmp_path / "new", "full": tmp_path, "file": tmp_path / "file"}
    places["file"].touch()
    result = invoke(["scan", "--from-dump", NAT, *(option.format(**places) for option in options)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
