"""EC2's two descriptions of prefix lists, joined."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path.adapters.records import prefix_lists
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList
from express_path.errors import RecordError
from tests.support.junk import spoilt

NAME = "com.amazonaws.us-east-1.s3express"
PLAIN = {"PrefixListId": "pl-1", "PrefixListName": NAME, "Cidrs": ["198.51.100.0/24"]}
MANAGED = {"PrefixListId": "pl-1", "PrefixListName": NAME, "AddressFamily": "IPv4", "OwnerId": "AWS"}
OWN = {
    "PrefixListId": "pl-2",
    "PrefixListName": "own",
    "AddressFamily": "IPv6",
    "OwnerId": "111122223333",
    "MaxEntries": 5,
}
ENTRIES = [{"Cidr": "2001:db8::/32", "Description": "documentation"}]
BLOCKS = (parse_cidr("198.51.100.0/24"),)


def test_awss_own_lists() -> None:
    """DescribePrefixLists returns blocks but no family: it follows from the blocks."""
    assert prefix_lists([PLAIN]) == {"pl-1": PrefixList("pl-1", NAME, Family.IPV4, BLOCKS)}
    other = prefix_lists([{**PLAIN, "Cidrs": ["2001:db8::/32"]}])["pl-1"]
    assert other.family is Family.IPV6


@pytest.mark.parametrize(("name", "family"), [(NAME, "IPv4"), ("com.amazonaws.us-east-1.ipv6.s3express", "IPv6")])
def test_a_list_without_blocks_is_unreadable(name: str, family: str) -> None:
    """Its addresses are unknown, but its name contains their family."""
    found = prefix_lists([{**PLAIN, "PrefixListName": name, "Cidrs": []}])["pl-1"]
    assert (found.cidrs, found.family) == (None, family)


def test_the_two_descriptions_of_one_list_are_joined() -> None:
    """Family and owner from the one, blocks from the other."""
    assert prefix_lists([PLAIN], [MANAGED])["pl-1"].cidrs == BLOCKS
    owned = prefix_lists([PLAIN], [{**MANAGED, "OwnerId": "111122223333"}])["pl-1"]
    assert not owned.aws_owned


def test_a_customers_list_needs_its_entries() -> None:
    """Without them it is unreadable; with none at all it matches nothing."""
    assert prefix_lists([], [OWN])["pl-2"].cidrs is None
    assert prefix_lists([], [OWN], {"pl-2": []})["pl-2"].cidrs == ()
    read = prefix_lists([], [OWN], {"pl-2": ENTRIES})["pl-2"]
    assert read.cidrs == (parse_cidr("2001:db8::/32"),)
    assert (read.aws_owned, read.family) == (False, "IPv6")


def test_entries_alone_are_a_list_of_nobody() -> None:
    """If lists may not be described, entries that were read still show what a route to them matches."""
    found = prefix_lists([PLAIN], [], {"pl-2": ENTRIES, "pl-3": []})
    assert found["pl-1"].cidrs == BLOCKS
    assert found["pl-2"] == PrefixList("pl-2", "", Family.IPV6, (parse_cidr("2001:db8::/32"),), aws_owned=False)
    assert found["pl-3"].cidrs == ()


def test_an_aws_list_without_entries_is_unreadable() -> None:
    """AWS publishes no empty list, so nothing was read."""
    assert prefix_lists([], [MANAGED], {"pl-1": []})["pl-1"].cidrs is None


@pytest.mark.parametrize(
    ("plain", "managed", "entries", "field"),
    [
        ([{**PLAIN, "Cidrs": None}], [], {}, "Cidrs"),
        ([{**PLAIN, "Cidrs": "198.51.100.0/24"}], [], {}, "Cidrs"),
        ([{**PLAIN, "Cidrs": ["198.51.100.0"]}], [], {}, "Cidrs"),
        ([{**PLAIN, "PrefixListName": ""}], [], {}, "PrefixListName"),
        ([{**PLAIN, "PrefixListId": None}], [], {}, "PrefixListId"),
        ([], [{**OWN, "AddressFamily": "IPv5"}], {}, "AddressFamily"),
        ([], [{**OWN, "PrefixListId": ""}], {}, "PrefixListId"),
        ([], [OWN], {"pl-2": [{"Description": "no block"}]}, "Cidr"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(plain: list, managed: list, entries: dict, field: str) -> None:
    """The error names the field."""
    with pytest.raises(RecordError) as raised:
        prefix_lists(plain, managed, entries)
    assert raised.value.field == field


@given(plain=spoilt(PLAIN), managed=spoilt(OWN), entry=spoilt(ENTRIES[0]), read=st.booleans())
def test_whatever_is_wrong_is_a_record_error(plain: dict, managed: dict, entry: dict, read: bool) -> None:
    """Descriptions spoilt anywhere give lists or a RecordError, and never another exception."""
    with suppress(RecordError):
        assert prefix_lists([plain], [managed], {"pl-2": [entry]} if read else None)
