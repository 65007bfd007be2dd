"""The scenarios: test networks and their expected verdicts.

A network is a file in tests/networks, or a recording: a folder in tests/recordings with the AWS CLI's own output.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.support.network_files import copy_with_aws_ids, read, write_dump

TESTS = Path(__file__).parents[1]
NETWORKS, RECORDINGS = TESTS / "networks", TESTS / "recordings"
EXPECTED = "expected.yaml"
_ABOUT = {"title", "source", "expected", "with_parameters"}
"""The keys of a network file that are no part of the network."""
_EXPANDED = TemporaryDirectory(prefix="express-path-networks-")


class Expected(NamedTuple):
    """The expected verdict of a subnet, and the evidence that it must name.

    The annotation names one of the routes, each a destination and a target. The path has the hops in through, in order.
    """

    compliance: str
    reason: str
    table: str | None
    routes: list[tuple[str, str]]
    through: list[str]


class Run(NamedTuple):
    """One run of the command on a scenario: rule parameters and the expected verdict of each subnet.

    The keys of subnets are ids or, in a scenario of several accounts, account/id.
    """

    parameters: dict[str, str]
    subnets: Mapping[str, Expected]

    @property
    def exit_status(self) -> int:
        """Return the expected exit status of the command: 1 if a subnet is NON_COMPLIANT."""
        return int(any(expected.compliance == "NON_COMPLIANT" for expected in self.subnets.values()))


def names() -> list[str]:
    """Return the name of every scenario. Raises ValueError if a network file and a recording have the same name."""
    found = [file.stem for file in NETWORKS.glob("*.yaml")]
    found += [folder.name for folder in RECORDINGS.iterdir() if folder.is_dir()]
    if len(set(found)) < len(found):
        raise ValueError(f"{NETWORKS} and {RECORDINGS} share a name")
    return sorted(found)


@cache
def document(name: str) -> dict[str, Any]:
    """Return the contents of a scenario's file. Raises FileNotFoundError if there is no such file."""
    file = NETWORKS / f"{name}.yaml"
    return read(file if file.exists() else RECORDINGS / name / EXPECTED)


@cache
def dump_of(name: str) -> Path:
    """Return the folder with a scenario's dump, which tests must not change; a network file is expanded once."""
    if not (NETWORKS / f"{name}.yaml").exists():
        return RECORDINGS / name
    network = {key: value for key, value in document(name).items() if key not in _ABOUT}
    folder = Path(_EXPANDED.name) / name
    dumps = network["folders"] if network.keys() == {"folders"} else {".": network}
    for below, dump in dumps.items():
        write_dump(folder / below, dump)
    return folder


@cache
def dump_with_aws_ids(name: str) -> Path:
    """Return a scenario's dump with ids of AWS's length that no other scenario has."""
    dump = dump_of(name)
    if dump.is_relative_to(RECORDINGS):
        return dump
    folder = Path(_EXPANDED.name) / "aws-ids" / name
    copy_with_aws_ids(dump, folder)
    return folder


def runs(name: str) -> Iterator[Run]:
    """Return each expected run of a scenario, starting with the one without parameters."""
    scenario = document(name)
    expected = {key: _expected(**row) for key, row in scenario["expected"].items()}
    yield Run({}, expected)
    for more in scenario.get("with_parameters", []):
        changed = {key: _expected(**row) for key, row in more["changed"].items()}
        if not changed.keys() <= expected.keys():
            raise ValueError(f"{name}: {more['parameters']} changes subnets that are not expected above")
        yield Run(more["parameters"], expected | changed)


def _expected(
    *,
    verdict: str,
    table: str | None = None,
    route: str = "",
    any_route: Sequence[str] = (),
    through: Sequence[str] = (),
) -> Expected:
    compliance, reason = verdict.split()
    routes = [text.split(" -> ") for text in any_route or ([route] if route else [])]
    return Expected(compliance, reason, table, [(destination, target) for destination, target in routes], list(through))
