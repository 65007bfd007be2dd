"""Read prefix lists, and remember them between warm invocations: AWS-managed ones, and one version of customers'."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from express_path.adapters.aws import OptionalReads, pages
from express_path.adapters.prefix_list_records import PrefixLists, prefix_lists, shows_express_lists
from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList, Subnet
from express_path.domain.network.snapshot import is_express_service
from express_path.fields import Description

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

REMEMBERED_SECONDS = 15 * 60
_Version = tuple[object, object, object]


class PrefixListReader:
    """Reads the prefix lists of the Region that are needed, and remembers them for 15 minutes.

    Customers may change theirs at any time, so those are described every time, and their entries are read again if
    there is a new version, which adding or removing entries creates
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyManagedPrefixList.html).
    """

    def __init__(self, ec2: "EC2Client", region: str, clock: Callable[[], float] = time.time) -> None:
        """Read nothing yet. clock returns seconds, including those in which Lambda keeps the function frozen."""
        self._ec2 = ec2
        self._region = region
        self._clock = clock
        self._forget()

    def _forget(self) -> None:
        self._read_at = self._clock()
        self._plain: list[Description] | None = None
        self._managed: list[Description] | None = None
        self._entries: dict[_Version, list[Description] | None] = {}

    def read(self, wanted: Iterable[str], families: Iterable[Family], optional: OptionalReads) -> PrefixLists:
        """Return every AWS-managed list, and those among wanted that can be read.

        families are those of the subnets' addresses. Usually one call of DescribePrefixLists is enough. Only if it does
        not return a wanted list, or S3 Express's list of one of the families, DescribeManagedPrefixLists and
        GetManagedPrefixListEntries are called too, which may be denied.
        """
        if not 0 <= self._clock() - self._read_at <= REMEMBERED_SECONDS:
            self._forget()
        if self._plain is None:
            self._plain = pages(self._ec2, "ec2", "describe_prefix_lists", "PrefixLists")
        plain = prefix_lists(self._plain)
        if self._lacks(prefix_lists(self._plain, self._managed or ()), wanted, families):
            self._managed = optional.read(
                lambda: pages(self._ec2, "ec2", "describe_managed_prefix_lists", "PrefixLists")
            )
        managed = self._managed or []
        self._read_entries(managed, plain, set(wanted), set(families), optional)
        found = {
            str(description.get("PrefixListId")): self._entries.get(_version(description)) for description in managed
        }
        entries = {list_id: rows for list_id, rows in found.items() if rows is not None}
        are_all_listed = shows_express_lists(managed, self._region)
        return PrefixLists(prefix_lists(self._plain, managed, entries), are_all_listed)

    def _lacks(self, known: Mapping[str, PrefixList], wanted: Iterable[str], families: Iterable[Family]) -> bool:
        """Return whether a wanted list is a customer's or unknown, or S3 Express's list of a family is unknown."""
        express = {record.family for record in known.values() if is_express_service(record.name, self._region)}
        lacks_family = bool(express) and self._managed is None and not set(families) <= express
        return lacks_family or any(list_id not in known or not known[list_id].aws_owned for list_id in wanted)

    def _read_entries(
        self,
        managed: Iterable[Description],
        plain: Mapping[str, PrefixList],
        wanted: set[str],
        families: set[Family],
        optional: OptionalReads,
    ) -> None:
        """Read the entries of wanted lists, and of S3 Express's lists of the families, if their blocks are unknown."""
        for description in managed:
            list_id, version = str(description.get("PrefixListId")), _version(description)
            is_express = is_express_service(str(description.get("PrefixListName")), self._region)
            is_wanted = list_id in wanted or (is_express and description.get("AddressFamily") in families)
            readable = list_id in plain and plain[list_id].cidrs is not None
            if is_wanted and not readable and version not in self._entries:
                self._entries[version] = optional.read(partial(self._entries_of, list_id))

    def _entries_of(self, list_id: str) -> list[Description]:
        return pages(self._ec2, "ec2", "get_managed_prefix_list_entries", "Entries", PrefixListId=list_id)


def _version(description: Description) -> _Version:
    """Return what identifies a version of a list; while its state shows a change, its entries may still change."""
    return description.get("PrefixListId"), description.get("Version"), description.get("State")


def families_of(subnets: Iterable[Subnet]) -> set[Family]:
    """Return the families whose lists decide the subnets' paths: IPv4 (for NAT64 too), and IPv6 if a subnet has it."""
    return {Family.IPV4, Family.IPV6} if any(subnet.has_ipv6 for subnet in subnets) else {Family.IPV4}
