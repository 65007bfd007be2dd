"""Join EC2's two descriptions of prefix lists: one has the blocks of AWS's lists, the other has all lists' owners."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import PrefixList
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import RecordError
from express_path.fields import Description, block, free_text, identifier, number, optional_free_text


@dataclass(frozen=True, slots=True)
class PrefixLists:
    """The prefix lists of a Region by id; are_all_listed is true if DescribeManagedPrefixLists was read."""

    by_id: Mapping[str, PrefixList]
    are_all_listed: bool


def prefix_lists(
    plain: Iterable[Description],
    managed: Iterable[Description] = (),
    entries: Mapping[str, Sequence[Description]] | None = None,
) -> dict[str, PrefixList]:
    """Join DescribePrefixLists, DescribeManagedPrefixLists and the Entries by list id into records by id.

    Entries alone are enough to know what a route matches, even if their list may not be described.
    """
    listed = entries or {}
    found = {record.id: record for record in map(_plain, plain)}
    for description in managed:
        record = _managed(description, listed.get(str(description.get("PrefixListId"))))
        known = found.get(record.id)
        if record.cidrs is None and known:
            record = replace(record, cidrs=known.cidrs)
        found[record.id] = record
    return {list_id: _undescribed(list_id, rows) for list_id, rows in listed.items()} | found


def shows_express_lists(managed: Iterable[Description], region: str) -> bool:
    """Return whether an answer of DescribeManagedPrefixLists contains S3 Express's lists, so that it shows all of them.

    One that is filtered, such as by its owner, does not.
    """
    return any(is_express_service(str(row.get("PrefixListName")), region) for row in managed)


def _plain(description: Description) -> PrefixList:
    """Return the record of an entry of DescribePrefixLists: an AWS-managed list with blocks but without a family.

    A list without any blocks counts as unreadable, because its addresses are unknown.
    """
    list_id = identifier(description, "PrefixListId", "PrefixLists")
    found = description.get("Cidrs")
    if not isinstance(found, list):
        raise RecordError(list_id, "Cidrs", found, "a list of CIDR blocks")
    cidrs = tuple(block(cidr, "Cidrs", list_id) for cidr in found)
    name = free_text(description, "PrefixListName", list_id)
    return PrefixList(list_id, name, _family(name, cidrs), cidrs or None)


def _family(name: str, cidrs: Iterable[Cidr]) -> Family:
    return next((cidr.family for cidr in cidrs), Family.IPV6 if ".ipv6." in name else Family.IPV4)


def _managed(description: Description, entries: Sequence[Description] | None) -> PrefixList:
    list_id = identifier(description, "PrefixListId", "PrefixLists")
    family = description.get("AddressFamily")
    if family not in tuple(Family):
        raise RecordError(list_id, "AddressFamily", family, "IPv4 or IPv6")
    cidrs = None if entries is None else entry_blocks(entries, list_id)
    aws_owned = identifier(description, "OwnerId", list_id) == "AWS"
    if aws_owned and not cidrs:
        cidrs = None
    name = optional_free_text(description, "PrefixListName", list_id)
    return PrefixList(list_id, name, Family(family), cidrs, aws_owned, number(description, "MaxEntries", list_id))


def _undescribed(list_id: str, entries: Sequence[Description]) -> PrefixList:
    """Return a list of which only the entries are known; without a name and an owner it is not AWS-managed."""
    cidrs = entry_blocks(entries, list_id)
    return PrefixList(list_id, "", _family("", cidrs), cidrs, aws_owned=False)


def entry_blocks(entries: Iterable[Description], list_id: str) -> tuple[Cidr, ...]:
    """Return the blocks of GetManagedPrefixListEntries' Entries."""
    return tuple(block(entry.get("Cidr"), "Cidr", list_id) for entry in entries)
