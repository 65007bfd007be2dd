"""Reading a dump: a folder for one account and Region, or such folders side by side, into snapshots."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from express_path.adapters.memory import gc_paused
from express_path.domain.network.merging import merged
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.evaluator import Account
from express_path.errors import DumpError
from express_path_cli.dump import files
from express_path_cli.dump.folder import Folder, read_folder
from express_path_cli.dump.interfaces import check_used


class DumpedAccount(NamedTuple):
    """One account's folder: for whom it was made, and the subnets it lists."""

    account: Account
    subnet_ids: tuple[str, ...]


class DumpedRegion(NamedTuple):
    """The whole network of one Region, as all accounts of the dump together show it, and those accounts."""

    network: Snapshot
    accounts: tuple[DumpedAccount, ...]


@gc_paused()
def read_dump(folder: Path) -> list[DumpedRegion]:
    """Read a dump of one or several accounts and Regions; the folders of one Region are one network.

    Raises DumpError naming the file and its fault.
    """
    return _read_regions(_folders(folder))


def _read_regions(folders: Sequence[Path]) -> list[DumpedRegion]:
    read: dict[tuple[str, str], tuple[Path, Folder]] = {}
    for each in folders:
        held = read_folder(each)
        snapshot = held.snapshot
        region_and_account = (snapshot.region, snapshot.account_id)
        if region_and_account in read:
            other = read[region_and_account][0]
            fault = f"holds account {snapshot.account_id} in {snapshot.region}, as {other} does"
            raise DumpError(str(each), fault, "keep one of the two")
        read[region_and_account] = (each, held)
    regions = sorted({region for region, _ in read})
    return [_region([read[key][1] for key in sorted(read) if key[0] == region]) for region in regions]


def _region(folders: Sequence[Folder]) -> DumpedRegion:
    snapshots = [each.snapshot for each in folders]
    network = merged(snapshots)
    check_used(network, [each for folder in folders for each in folder.incomplete])
    return DumpedRegion(network, tuple(DumpedAccount(Account.of(each), tuple(each.subnets)) for each in snapshots))


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DumpError(str(folder), "there is no such folder", "name the folder that express-path collect wrote")
    known = {files.ENTRIES_FOLDER, files.ROUTES_FOLDER}
    below = sorted(
        each for each in folder.iterdir() if each.is_dir() and each.name not in known and not each.name.startswith(".")
    )
    here = [each.name for each in (*files.REQUIRED,) if (folder / each.name).exists()]
    if not here and not (folder / files.IDENTITY).exists():
        if below:
            return below
        raise DumpError(str(folder), "holds no dump", "make one with: express-path collect " + str(folder))
    mixed = [each for each in below if (each / files.IDENTITY).exists()]
    if mixed:
        raise DumpError(str(folder), f"is a dump and also holds one, {mixed[0].name}", "keep them side by side")
    return [folder]
