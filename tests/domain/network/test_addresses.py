"""Blocks of addresses, against Python's own ipaddress."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path.domain.network.addresses import from_nat64, nat64, parse_cidr


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Any address with any prefix length, host bits and all."""
    address = draw(st.ip_addresses())
    return f"{address}/{draw(st.integers(0, address.max_prefixlen))}"


@given(texts())
def test_reads_what_ipaddress_reads(text: str) -> None:
    """Family, network and length are those of ipaddress, host bits cleared, and survive being written out."""
    expected, block = ip_network(text, strict=False), parse_cidr(text)
    assert block.family == f"IPv{expected.version}"
    assert (block.network, block.length) == (int(expected.network_address), expected.prefixlen)
    assert block.size == expected.num_addresses
    assert ip_network(str(block)) == expected
    assert parse_cidr(str(block)) == block


@given(st.one_of(st.text(max_size=20), st.text("0123456789abcdef.:/-+ ", max_size=20)))
def test_takes_nothing_that_ipaddress_refuses(text: str) -> None:
    """Text that is not a block raises ValueError."""
    try:
        block = parse_cidr(text)
    except ValueError:
        return
    assert ip_network(str(block)) == ip_network(text, strict=False)


@pytest.mark.parametrize(
    "text", ["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/-1", "10.0.0.0/²", "x/8"]
)
def test_refuses_what_is_no_block(text: str) -> None:
    """The error names the text."""
    with pytest.raises(ValueError, match="is not a CIDR block"):
        parse_cidr(text)


@given(texts(), st.data())
def test_shortens_as_a_supernet(text: str, data: st.DataObject) -> None:
    """The block of a shorter length around a block is ipaddress's supernet."""
    block, expected = parse_cidr(text), ip_network(text, strict=False)
    length = data.draw(st.integers(0, block.length))
    assert block.shortened(length) == int(expected.supernet(new_prefix=length).network_address)


@pytest.mark.parametrize(
    ("text", "seen"), [("198.51.100.0/24", "64:ff9b::198.51.100.0/120"), ("0.0.0.0/0", "64:ff9b::/96")]
)
def test_nat64_puts_ipv4_under_the_well_known_prefix(text: str, seen: str) -> None:
    """DNS64 hosts see an IPv4 block under 64:ff9b::/96, and a NAT translates it back (RFC 6052)."""
    assert nat64(parse_cidr(text)) == parse_cidr(seen)
    assert from_nat64(parse_cidr(seen)) == parse_cidr(text)


@pytest.mark.parametrize("text", ["198.51.100.0/24", "64:ff9a::/96", "64:ff9b:1::/96", "64:ff9b::/95", "::/0"])
def test_other_blocks_hold_no_ipv4_addresses(text: str) -> None:
    """Only 64:ff9b::/96 is translated (RFC 6052)."""
    assert from_nat64(parse_cidr(text)) is None
