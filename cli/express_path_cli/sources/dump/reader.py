"""Read a dump: a folder of one account and Region, or a folder of such folders."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from express_path.adapters.memory import gc_paused
from express_path.domain.network.merging import merged
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.evaluator import Account
from express_path.errors import DumpError
from express_path_cli.sources.dump import files
from express_path_cli.sources.dump.folder import Folder, read_folder
from express_path_cli.sources.dump.interfaces import check_used


@dataclass(frozen=True, slots=True)
class DumpedAccount:
    """One account's folder: the account, and the subnets that it lists."""

    account: Account
    subnet_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DumpedRegion:
    """The network of one Region, merged from all accounts of the dump, and those accounts."""

    network: Snapshot
    accounts: tuple[DumpedAccount, ...]


@gc_paused()
def read_dump(folder: Path) -> list[DumpedRegion]:
    """Read a dump of one or several accounts and Regions. The folders of one Region are one network.

    Raise DumpError, which names the file and its fault.
    """
    return _read_regions(_folders(folder))


def _read_regions(folders: Sequence[Path]) -> list[DumpedRegion]:
    paths: dict[tuple[str, str], Path] = {}
    by_region: dict[str, list[Folder]] = {}
    for path in folders:
        folder = read_folder(path)
        snapshot = folder.snapshot
        other = paths.setdefault((snapshot.region, snapshot.account_id), path)
        if other != path:
            fault = f"has account {snapshot.account_id} in {snapshot.region}, as {other} does"
            raise DumpError(str(path), fault, "keep one of the two")
        by_region.setdefault(snapshot.region, []).append(folder)
    return [_region(by_region[region]) for region in sorted(by_region)]


def _region(folders: Sequence[Folder]) -> DumpedRegion:
    by_account = sorted(folders, key=lambda folder: folder.snapshot.account_id)
    snapshots = [folder.snapshot for folder in by_account]
    network = merged(snapshots)
    check_used(network, [interface for folder in by_account for interface in folder.incomplete])
    accounts = (DumpedAccount(Account.of(snapshot), tuple(snapshot.subnets)) for snapshot in snapshots)
    return DumpedRegion(network, tuple(accounts))


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DumpError(str(folder), "this folder does not exist", "use the folder that express-path collect wrote")
    subfolders = sorted(
        path
        for path in folder.iterdir()
        if path.is_dir() and path.name not in files.FOLDERS and not path.name.startswith(".")
    )
    names = (files.IDENTITY, *(file.name for file in files.REQUIRED))
    if not any((folder / name).exists() for name in names):
        if subfolders:
            return subfolders
        raise DumpError(
            str(folder), "contains no dump", f"create one with: express-path collect {shlex.quote(str(folder))}"
        )
    mixed = [subfolder for subfolder in subfolders if (subfolder / files.IDENTITY).exists()]
    if mixed:
        raise DumpError(str(folder), f"is a dump and contains another, {mixed[0].name}", "keep them side by side")
    return [folder]
