"""Read the prefix lists of a dump from three commands, and check them: a wrong list could hide every NAT path."""

from collections.abc import Iterable
from pathlib import Path

from express_path.adapters.prefix_list_records import PrefixLists, entry_blocks, prefix_lists, shows_express_lists
from express_path.domain.network.resources import PrefixList
from express_path.domain.network.snapshot import Snapshot
from express_path.errors import DumpError
from express_path_cli.sources.dump import files


def read_prefix_lists(folder: Path, region: str) -> PrefixLists:
    """Read the prefix lists of one folder. Each file is checked on its own, so that an error names the right file.

    Raise DumpError, also if a file has AWS-managed prefix lists but none of the Region.
    """
    plain = files.read_required(folder, files.PREFIX_LISTS)
    if not plain:
        raise _fault(folder, files.PREFIX_LISTS, "has no prefix list, but every Region has some", region)
    managed = files.read_optional(folder, files.MANAGED_PREFIX_LISTS) or []
    responses = files.read_folder(folder / files.ENTRIES_FOLDER, "Entries", files.ENTRIES_COMMAND)
    entries = {list_id: response["Entries"] for list_id, response in responses.items()}
    _check(folder, files.PREFIX_LISTS, region, (prefix_lists([row]).popitem()[1] for row in plain))
    _check(folder, files.MANAGED_PREFIX_LISTS, region, (prefix_lists([], [row]).popitem()[1] for row in managed))
    for list_id, listed in entries.items():
        with files.faults_of(folder / files.ENTRIES_FOLDER / f"{list_id}.json"):
            entry_blocks(listed, list_id)
    return PrefixLists(prefix_lists(plain, managed, entries), shows_express_lists(managed, region))


def _check(folder: Path, file: files.DumpFile, region: str, records: Iterable[PrefixList]) -> None:
    path = folder / file.name
    with files.faults_of(path):
        lists = files.by_id(path, records).values()
    names = sorted(prefix_list.name for prefix_list in lists if prefix_list.aws_owned)
    if names and not any(_is_of_region(name, region) for name in names):
        fault = f"has {', '.join(names[:3])} and no prefix list of {region}, the Region in {files.IDENTITY}"
        raise _fault(folder, file, fault, region)


def _is_of_region(name: str, region: str) -> bool:
    """Return whether an AWS-managed prefix list belongs to a Region, such as com.amazonaws.us-east-1.s3.

    Global prefix lists belong to no Region
    (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html).
    """
    return region in name.split(".")


def check_express_lists(folder: Path, snapshot: Snapshot) -> None:
    """Raise DumpError if there is a gateway endpoint of S3 Express, but no prefix list of S3 Express."""
    if snapshot.express_prefix_lists:
        return
    for endpoint in snapshot.vpc_endpoints.values():
        if endpoint.endpoint_type == "gateway" and endpoint.service_name.endswith(".s3express"):
            fault = f"has no s3express prefix list, although {endpoint.id} is a gateway endpoint of S3 Express"
            raise _fault(folder, files.PREFIX_LISTS, fault, snapshot.region)


def _fault(folder: Path, file: files.DumpFile, fault: str, region: str) -> DumpError:
    remedy = (
        f"create it again in {region} with: {file.command} > {file.name}; or correct the Region in {files.IDENTITY}"
    )
    return DumpError(str(folder / file.name), fault, remedy)
