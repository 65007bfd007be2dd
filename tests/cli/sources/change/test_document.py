"""Reading files that may be anything: pipes, folders, other encodings, deep nesting."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.sources.change.document import (
    MAX_DEPTH,
    REMEDY,
    ChangeError,
    check_depth,
    read_content,
    read_json,
)

TEXT = '{"name": "é"}'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """PowerShell writes each of these."""
    file = tmp_path / "plan.json"
    file.write_text(TEXT, encoding=encoding)
    assert read_json(file) == {"name": "é"}


def test_pipe(tmp_path: Path) -> None:
    """A pipe is read to its end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(TEXT,), kwargs={"encoding": "utf-8"})
    writer.start()
    assert read_json(pipe) == {"name": "é"}
    writer.join()


def test_size_is_bounded_while_reading() -> None:
    """A file without an end has no size that could be asked for."""
    with pytest.raises(ChangeError, match="has more than the 1 MiB that are read"):
        read_content(Path("/dev/zero"), 1 << 20)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty"),
        (b'{"password": "hunter2"', r"is cut short, or .* \(line 1, column 23\)"),
        (b"PK\x03\x04\x00\xff", "is not JSON"),
        (b"\xff\xfe{\x00\x00", "is not JSON"),
        (b'["hunter2"]', "is not a JSON object"),
        (b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}", "nested more than 200 deep"),
        (b'{"a":' + b"[" * 99999, "nested too deeply"),
    ],
)
def test_faults(tmp_path: Path, content: bytes, fault: str) -> None:
    """Each fault is one line that names the file, says what to do, and has no value of the file."""
    file = tmp_path / "plan.json"
    file.write_bytes(content)
    with pytest.raises(ChangeError, match=fault) as caught:
        read_json(file)
    start, _, message = str(caught.value).partition(": ")
    assert start == str(file)
    assert message.endswith(f"; {REMEDY}")
    assert "hunter2" not in message
    assert "\n" not in message


@pytest.mark.parametrize(("name", "fault"), [("missing", "No such file"), (".", "Is a directory")])
def test_files_that_cannot_be_read(tmp_path: Path, name: str, fault: str) -> None:
    """The error says why."""
    with pytest.raises(ChangeError, match=f"cannot be read: {fault}"):
        read_json(tmp_path / name)


def test_depth_of_documents_with_aliases() -> None:
    """What many places share is looked at once, and what contains itself has no end."""
    shared: Any = []
    for _ in range(MAX_DEPTH - 1):
        shared = [shared, shared]
    check_depth("template.yaml", shared)
    endless: dict[str, Any] = {}
    endless["self"] = endless
    with pytest.raises(ChangeError, match=r"template\.yaml: has objects and lists nested more than 200 deep"):
        check_depth("template.yaml", endless)
