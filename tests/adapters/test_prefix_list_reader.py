"""Prefix lists: the calls to read them, and how long they are cached."""

import time
from collections.abc import Mapping
from inspect import signature

import pytest

from express_path.adapters.aws import Aws, OptionalReads
from express_path.adapters.network_reader import REMEMBERED_SECONDS, PrefixListReader
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList
from express_path.errors import ApiError
from sandbox.server import Sandbox
from tests.support.network import Builder

IPV4 = {Family.IPV4}
BOTH = {Family.IPV4, Family.IPV6}
EXPRESS = "com.amazonaws.us-east-1.s3express"
EXPRESS_IPV6 = "com.amazonaws.us-east-1.ipv6.s3express"


class Clock:
    """A clock that shows a fixed time until a test sets it."""

    def __init__(self) -> None:
        """Start at an arbitrary time."""
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    """The reader's clock."""
    return Clock()


@pytest.fixture
def reader(aws: Aws, clock: Clock) -> PrefixListReader:
    """A new reader."""
    return PrefixListReader(aws.ec2, aws.region, clock)


def read(reader: PrefixListReader, wanted: list[str], families: set[Family]) -> Mapping[str, PrefixList]:
    """Return the lists that a read finds, by id."""
    return reader.read(wanted, families, OptionalReads()).by_id


def names(reader: PrefixListReader, wanted: list[str], families: set[Family]) -> set[str]:
    """Return the names of the lists that a read finds."""
    return {prefix_list.name for prefix_list in read(reader, wanted, families).values()}


def test_lists_of_awss_own_cost_one_call(reader: PrefixListReader, sandbox: Sandbox) -> None:
    """DescribePrefixLists returns AWS's own lists with their CIDRs."""
    found = {prefix_list.name: prefix_list for prefix_list in read(reader, [], IPV4).values()}
    assert found[EXPRESS].aws_owned
    assert parse_cidr("192.0.2.0/29") in (found[EXPRESS].cidrs or ())
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"]


def test_customer_lists_are_read_if_wanted(reader: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """A list in a route that AWS does not own is described, and its entries are read."""
    list_id = builder.prefix_list("198.18.0.0/15", "192.0.2.1/32")
    found = read(reader, [list_id], IPV4)[list_id]
    assert (found.aws_owned, found.family) == (False, Family.IPV4)
    assert set(found.cidrs or ()) == {parse_cidr("198.18.0.0/15"), parse_cidr("192.0.2.1/32")}
    operations = sandbox.calls.operations("ec2")
    assert operations[:2] == ["DescribePrefixLists", "DescribeManagedPrefixLists"]
    assert set(operations[2:]) == {"GetManagedPrefixListEntries"}


def test_wanted_lists_of_awss_own_cost_nothing_more(reader: PrefixListReader, sandbox: Sandbox) -> None:
    """A route to another AWS-managed list, such as that of S3, needs no further call."""
    found = read(reader, [], IPV4)
    read(reader, list(found), IPV4)
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"]


def test_empty_customer_list_is_empty(reader: PrefixListReader, builder: Builder) -> None:
    """A list without entries can be read and matches nothing."""
    list_id = builder.prefix_list()
    assert read(reader, [list_id], IPV4)[list_id].cidrs == ()


def test_ipv6_list_is_looked_for_where_a_subnet_has_ipv6(reader: PrefixListReader, sandbox: Sandbox) -> None:
    """DescribePrefixLists need not return the IPv6 list, so it is searched for among the managed lists."""
    assert EXPRESS_IPV6 not in names(reader, [], IPV4)
    found = {prefix_list.name: prefix_list for prefix_list in read(reader, [], BOTH).values()}
    assert found[EXPRESS_IPV6].family is Family.IPV6
    assert found[EXPRESS_IPV6].cidrs
    assert found[EXPRESS].cidrs
    sandbox.calls.clear()
    assert EXPRESS_IPV6 in names(reader, [], BOTH)
    assert list(sandbox.calls) == []


def test_region_without_the_service_costs_one_call(sandbox: Sandbox) -> None:
    """If S3 Express is not offered, its IPv6 list is not searched for."""
    aws = Aws.connect("eu-south-1")
    assert not any("s3express" in name for name in names(PrefixListReader(aws.ec2, aws.region), [], BOTH))
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"]


def test_only_the_call_that_lists_all_lists_shows_that_there_is_no_ipv6_list(
    reader: PrefixListReader, sandbox: Sandbox
) -> None:
    """Until DescribeManagedPrefixLists is read, and if it is denied, an IPv6 list may exist."""
    assert not reader.read([], IPV4, OptionalReads()).are_all_listed
    sandbox.faults.deny("ec2", "DescribeManagedPrefixLists", times=1)
    assert not reader.read([], BOTH, OptionalReads()).are_all_listed
    assert reader.read([], BOTH, OptionalReads()).are_all_listed


def test_list_that_is_not_there_is_left_out(reader: PrefixListReader) -> None:
    """A list that no call returns is not added."""
    assert "pl-0" not in read(reader, ["pl-0"], IPV4)


def test_entries_that_may_not_be_read_are_unknown(reader: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """Denied entries are unknown, not empty, and the denied read is not repeated each time."""
    list_id = builder.prefix_list("198.18.0.0/15")
    sandbox.faults.deny("ec2", "GetManagedPrefixListEntries", PrefixListId=list_id)
    assert read(reader, [list_id], IPV4)[list_id].cidrs is None
    sandbox.calls.clear()
    assert read(reader, [list_id], IPV4)[list_id].cidrs is None
    assert sandbox.calls.of("ec2", "GetManagedPrefixListEntries") == []


def test_entries_are_read_to_their_last_page(reader: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """A list longer than a page is complete."""
    sandbox.ec2.knobs.page_size = 2
    list_id = builder.prefix_list(*(f"198.18.{number}.0/24" for number in range(5)))
    assert len(read(reader, [list_id], IPV4)[list_id].cidrs or ()) == 5


@pytest.mark.parametrize("passed", [0, 1, REMEMBERED_SECONDS])
def test_lists_are_remembered_for_15_minutes(
    reader: PrefixListReader, builder: Builder, sandbox: Sandbox, clock: Clock, passed: float
) -> None:
    """For 15 minutes, AWS's lists are not read again, and customer-managed ones only for their version."""
    list_id = builder.prefix_list("198.18.0.0/15")
    before = read(reader, [list_id], BOTH)
    sandbox.calls.clear()
    clock.seconds += passed
    assert read(reader, [], BOTH) == before
    assert list(sandbox.calls) == []
    assert read(reader, [list_id], BOTH) == before
    assert sandbox.calls.operations("ec2") == ["DescribeManagedPrefixLists"]
    assert REMEMBERED_SECONDS == 15 * 60


def test_a_customers_change_shows_at_once(reader: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """If one list has a new version, only its entries are read again."""
    changed, other = builder.prefix_list("198.18.0.0/15"), builder.prefix_list("192.0.2.0/24")
    wanted = [changed, other]
    read(reader, wanted, IPV4)
    builder.ec2.modify_managed_prefix_list(
        PrefixListId=changed, CurrentVersion=1, RemoveEntries=[{"Cidr": "198.18.0.0/15"}]
    )
    sandbox.calls.clear()
    assert read(reader, wanted, IPV4)[changed].cidrs == ()
    asked = sandbox.calls.of("ec2", "GetManagedPrefixListEntries")
    assert {call.parameters["PrefixListId"] for call in asked} == {changed}


def test_lists_are_read_again_after_15_minutes(
    reader: PrefixListReader, builder: Builder, sandbox: Sandbox, clock: Clock
) -> None:
    """After 15 minutes, everything is read again, so an added entry appears."""
    list_id = builder.prefix_list("198.18.0.0/15")
    read(reader, [list_id], IPV4)
    builder.ec2.modify_managed_prefix_list(
        PrefixListId=list_id, CurrentVersion=1, AddEntries=[{"Cidr": "192.0.2.1/32"}]
    )
    clock.seconds += REMEMBERED_SECONDS + 0.001
    sandbox.calls.clear()
    assert parse_cidr("192.0.2.1/32") in (read(reader, [list_id], IPV4)[list_id].cidrs or ())
    assert sandbox.calls.operations("ec2")[0] == "DescribePrefixLists"


def test_memory_does_not_grow_older_by_being_used(reader: PrefixListReader, sandbox: Sandbox, clock: Clock) -> None:
    """The 15 minutes count from the read, no matter how often the lists are used."""
    read(reader, [], IPV4)
    for _ in range(4):
        clock.seconds += REMEMBERED_SECONDS / 4
        read(reader, [], IPV4)
    clock.seconds += 1
    read(reader, [], IPV4)
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"] * 2


def test_lists_are_read_again_where_the_clock_was_set_back(
    reader: PrefixListReader, sandbox: Sandbox, clock: Clock
) -> None:
    """If the clock was set back, nobody knows how old the lists are, so they are read again."""
    read(reader, [], IPV4)
    clock.seconds -= 1
    read(reader, [], IPV4)
    assert sandbox.calls.operations("ec2") == ["DescribePrefixLists"] * 2


def test_lists_age_by_the_clock_on_the_wall() -> None:
    """A monotonic clock does not advance while Lambda freezes a function."""
    assert signature(PrefixListReader).parameters["clock"].default is time.time


def test_list_wanted_later_is_not_older_than_the_rest(
    reader: PrefixListReader, builder: Builder, sandbox: Sandbox, clock: Clock
) -> None:
    """A list that is first read after ten minutes expires with the others, so no entry is too old."""
    read(reader, [], IPV4)
    clock.seconds += REMEMBERED_SECONDS - 1
    list_id = builder.prefix_list("198.18.0.0/15")
    assert read(reader, [list_id], IPV4)[list_id].cidrs
    clock.seconds += 2
    sandbox.calls.clear()
    read(reader, [list_id], IPV4)
    assert "DescribePrefixLists" in sandbox.calls.operations("ec2")


def test_customer_list_made_after_the_lists_were_read_is_found(reader: PrefixListReader, builder: Builder) -> None:
    """A list that did not exist when the managed lists were described is searched for again."""
    first = builder.prefix_list("198.18.0.0/15")
    read(reader, [first], IPV4)
    second = builder.prefix_list("192.0.2.1/32")
    assert read(reader, [first, second], IPV4)[second].cidrs == (parse_cidr("192.0.2.1/32"),)


def test_failed_read_is_not_remembered(reader: PrefixListReader, builder: Builder, sandbox: Sandbox) -> None:
    """After a failed read, the next one starts again."""
    list_id = builder.prefix_list("198.18.0.0/15")
    sandbox.faults.deny("ec2", "DescribePrefixLists", times=1)
    with pytest.raises(ApiError, match="DescribePrefixLists"):
        read(reader, [list_id], IPV4)
    sandbox.faults.deny("ec2", "DescribeManagedPrefixLists", times=1)
    optional = OptionalReads()
    assert list_id not in reader.read([list_id], BOTH, optional).by_id
    assert optional.denied == ["ec2:DescribeManagedPrefixLists"]
    assert read(reader, [list_id], IPV4)[list_id].cidrs == (parse_cidr("198.18.0.0/15"),)
