"""Reading prefix lists, and remembering them between warm invocations: AWS's own, and one version of a customer's."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from express_path.adapters.aws import pages, unless_denied
from express_path.adapters.fields import Description
from express_path.adapters.prefix_list_records import prefix_lists
from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import PrefixList, Subnet
from express_path.domain.network.snapshot import is_express_service

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

REMEMBERED_SECONDS = 15 * 60
_Version = tuple[object, object, object]


class PrefixListReader:
    """The Region's prefix lists, read as far as they are asked for and remembered for 15 minutes.

    Customers change theirs when they like, so those are described anew each time, and their entries read again once
    there is another version: adding or removing entries makes one
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyManagedPrefixList.html).
    """

    def __init__(self, ec2: "EC2Client", region: str, clock: Callable[[], float] = time.time) -> None:
        """Read nothing yet; clock counts seconds, also those in which Lambda keeps the function frozen."""
        self._ec2 = ec2
        self._region = region
        self._clock = clock
        self._forget()

    def _forget(self) -> None:
        self._read_at = self._clock()
        self._plain: list[Description] | None = None
        self._managed: list[Description] = []
        self._entries: dict[_Version, list[Description] | None] = {}

    def read(self, wanted: Iterable[str], families: Iterable[Family]) -> Mapping[str, PrefixList]:
        """Every list of AWS's own, and those among wanted that can be seen, by id; families as the subnets have them.

        DescribePrefixLists alone costs one call. Only where a wanted list, or S3 Express's list of one of the families,
        is not among AWS's own does it ask DescribeManagedPrefixLists and GetManagedPrefixListEntries too.
        """
        if not 0 <= self._clock() - self._read_at <= REMEMBERED_SECONDS:
            self._forget()
        if self._plain is None:
            self._plain = pages(self._ec2, "ec2", "describe_prefix_lists", "PrefixLists")
        plain = prefix_lists(self._plain)
        if self._lacks(prefix_lists(self._plain, self._managed), wanted, families):
            self._managed = pages(self._ec2, "ec2", "describe_managed_prefix_lists", "PrefixLists")
        self._read_entries(plain, set(wanted), set(families))
        found = {str(each.get("PrefixListId")): self._entries.get(_version(each)) for each in self._managed}
        entries = {list_id: rows for list_id, rows in found.items() if rows is not None}
        return prefix_lists(self._plain, self._managed, entries)

    def _lacks(self, known: Mapping[str, PrefixList], wanted: Iterable[str], families: Iterable[Family]) -> bool:
        """Whether a wanted list is a customer's or not known yet, or no list of S3 Express's of a family was found."""
        express = {each.family for each in known.values() if is_express_service(each.name, self._region)}
        unasked = bool(express) and not self._managed and not set(families) <= express
        return unasked or any(each not in known or not known[each].aws_owned for each in wanted)

    def _read_entries(self, plain: Mapping[str, PrefixList], wanted: set[str], families: set[Family]) -> None:
        """The entries of lists that are wanted, or of S3 Express's of a wanted family, where no blocks are known."""
        for description in self._managed:
            list_id, version = str(description.get("PrefixListId")), _version(description)
            is_express = is_express_service(str(description.get("PrefixListName")), self._region)
            asked = list_id in wanted or (is_express and description.get("AddressFamily") in families)
            readable = list_id in plain and plain[list_id].cidrs is not None
            if asked and not readable and version not in self._entries:
                self._entries[version] = unless_denied(partial(self._entries_of, list_id))

    def _entries_of(self, list_id: str) -> list[Description]:
        return pages(self._ec2, "ec2", "get_managed_prefix_list_entries", "Entries", PrefixListId=list_id)


def _version(description: Description) -> _Version:
    """A list as it is now; a change that is under way may yet show in its entries."""
    return description.get("PrefixListId"), description.get("Version"), description.get("State")


def families_of(subnets: Iterable[Subnet]) -> set[Family]:
    """The families whose lists decide the paths of subnets: IPv4, which NAT64 needs too, and IPv6 where one has it."""
    return {Family.IPV4, Family.IPV6} if any(each.has_ipv6 for each in subnets) else {Family.IPV4}
