"""Single files of a dump: a malformed file is an error, and a missing optional one is None."""

from pathlib import Path

import pytest

from express_path.errors import DumpError
from express_path_cli.sources.dump import (
    DIRECTORY_BUCKETS,
    VPCS,
    read_list,
    read_optional,
    read_required,
    read_response,
    read_responses,
)
from tests.support.dumps import write

FAULTS = {
    '{"Vpcs": [': "cut short",
    "not JSON": "not JSON",
    "[]": "not the JSON object",
    "null": "not the JSON object",
    '"Vpcs"': "not the JSON object",
    '{"Vpcs": [], "NextToken": "more"}': "NextToken",
    '{"Subnets": []}': "contains Subnets, but must contain the list Vpcs",
    "{}": "contains nothing, but must contain the list Vpcs",
    '{"Vpcs": {}}': "must contain the list Vpcs",
    '{"Vpcs": null}': "must contain the list Vpcs",
    '{"Vpcs": ["vpc-1"]}': "must contain the list Vpcs",
}


@pytest.mark.parametrize("content", FAULTS)
@pytest.mark.parametrize("read", [read_required, read_optional])
def test_a_defect_is_named_with_its_file_and_fix(tmp_path: Path, read: object, content: str) -> None:
    """Every file, required or optional, must be complete and from the right call."""
    path = write(tmp_path / VPCS.name, content)
    with pytest.raises(DumpError) as raised:
        read(tmp_path, VPCS)
    assert raised.value.path == str(path)
    assert FAULTS[content] in raised.value.fault
    assert VPCS.command in raised.value.remedy


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    """A file in an unknown encoding is not JSON."""
    (tmp_path / VPCS.name).write_bytes(b'{"Vpcs": ["\xff\xfe"]}')
    with pytest.raises(DumpError, match="not JSON"):
        read_required(tmp_path, VPCS)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    """PowerShell's redirection writes a byte order mark."""
    (tmp_path / VPCS.name).write_bytes(b"\xef\xbb\xbf" + b'{"Vpcs": []}')
    assert read_required(tmp_path, VPCS) == []


@pytest.mark.parametrize("token", ["", None])
def test_an_empty_next_token_is_none(tmp_path: Path, token: str | None) -> None:
    """With an empty NextToken, the list is complete."""
    write(tmp_path / VPCS.name, {"Vpcs": [{"VpcId": "vpc-1"}], "NextToken": token})
    assert read_required(tmp_path, VPCS) == [{"VpcId": "vpc-1"}]


@pytest.mark.parametrize("content", [None, "", " \n"], ids=["missing", "empty", "blank"])
def test_a_missing_file(tmp_path: Path, content: str | None) -> None:
    """A missing optional file is not readable; a missing required one is an error that says how to create it."""
    if content is not None:
        write(tmp_path / VPCS.name, content)
    assert read_optional(tmp_path, VPCS) is None
    assert read_list(tmp_path / VPCS.name, VPCS.field, VPCS.command) is None
    assert read_response(tmp_path / VPCS.name, VPCS.command) is None
    with pytest.raises(DumpError) as raised:
        read_required(tmp_path, VPCS)
    assert f"{VPCS.command} > {VPCS.name}" in raised.value.remedy


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    """A folder in place of a file counts as a missing file."""
    (tmp_path / DIRECTORY_BUCKETS.name).mkdir()
    assert read_optional(tmp_path, DIRECTORY_BUCKETS) is None


def test_a_folder_of_responses_by_id(tmp_path: Path) -> None:
    """There is one file for each id; empty files and files with other extensions are ignored."""
    assert read_responses(tmp_path / "missing", "Entries", "aws") == {}
    write(tmp_path / "pl-1.json", {"Entries": []})
    write(tmp_path / "pl-2.json", "")
    write(tmp_path / "README.md", "notes")
    assert read_responses(tmp_path, "Entries", "aws ") == {"pl-1": {"Entries": []}}


def test_a_defect_in_a_folder_names_the_call_for_that_id(tmp_path: Path) -> None:
    """The fix is the command that writes exactly that file."""
    write(tmp_path / "pl-1.json", {"PrefixLists": []})
    with pytest.raises(DumpError, match=r"create it again with: aws get --id pl-1 > pl-1\.json"):
        read_responses(tmp_path, "Entries", "aws get --id ")
