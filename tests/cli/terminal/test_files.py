"""Files are written completely or not at all, never through what others put in their place, and are read strictly."""

import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.files import WrittenBy, check_output, read_json, write_bytes, write_new_file


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who may write to the folder, such as /tmp, could otherwise choose which file is overwritten."""
    victim = tmp_path / "victim"
    victim.write_text("untouched", encoding="utf-8")
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    (tmp_path / ".express-path-guessed.unfinished").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_new_file(tmp_path / "scan.json", [b"{}"])
    assert victim.read_text(encoding="utf-8") == "untouched"


def test_names_of_unfinished_files_differ(tmp_path: Path) -> None:
    """Nobody can create them before."""
    names: set[str] = set()

    def pieces() -> Iterator[bytes]:
        names.update(file.name for file in tmp_path.glob(".express-path-*"))
        yield b"text"

    for _ in range(2):
        write_new_file(tmp_path / "scan.json", pieces())
    assert len(names) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["scan.json"]


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o664])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    """A private file stays private, also while it is written; a new file gets the default mode."""
    file, other, fresh = tmp_path / "scan.json", tmp_path / "other", tmp_path / "fresh.json"
    for made in (file, other):
        made.touch()
    file.chmod(mode)
    modes: list[int] = []

    def pieces() -> Iterator[bytes]:
        modes.extend(stat.S_IMODE(found.stat().st_mode) for found in tmp_path.glob(".express-path-*"))
        yield b"text"

    write_bytes(file, pieces())
    assert modes == [0o600]
    assert stat.S_IMODE(file.stat().st_mode) == mode
    write_bytes(fresh, [b"text"])
    assert fresh.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("name", ["", ".", "/", "folder", "missing/file"])
def test_what_is_no_file_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A folder, or a file in a folder that does not exist, is named, and nothing is written next to it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    fault = "No such file or directory" if "missing" in name else "Is a directory"
    with pytest.raises(OptionError, match=f"cannot be written: {fault}"):
        write_bytes(Path(name), [b"text"])
    with pytest.raises(OptionError, match=f"cannot be written: {fault}"):
        check_output(Path(name))
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


def test_a_folder_without_permission_is_found_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output that can be written is returned; one in a folder or a file that is closed is an error."""
    (tmp_path / "file").touch()
    for name in ("file", "new", "../new"):
        assert check_output(tmp_path / name) == tmp_path / name
    with pytest.raises(OptionError, match="Not a directory"):
        check_output(tmp_path / "file" / "new")
    monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path)
    with pytest.raises(OptionError, match="Permission denied"):
        check_output(tmp_path / "new")


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    """If the disk is full, the existing file stays unchanged, and nothing else is left."""

    def full() -> Iterator[bytes]:
        yield b"the first part"
        raise OSError(28, os.strerror(28))

    file = tmp_path / "paths.json"
    file.write_text("yesterday", encoding="utf-8")
    with pytest.raises(OptionError, match=r"paths.json cannot be written: No space left on device"):
        write_bytes(file, full())
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["yesterday"]


def test_links_are_followed(tmp_path: Path) -> None:
    """A symbolic link is kept and its target is written, even if the target does not exist yet."""
    link, file = tmp_path / "latest.csv", tmp_path / "today.csv"
    link.symlink_to(file.name)
    for text in (b"first", b"second"):
        write_bytes(link, [text])
        assert link.is_symlink()
        assert file.read_bytes() == text


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """With --output >(gzip >file), the pipe is written to and not replaced by a file."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(fifo.read_bytes()), daemon=True)
    reader.start()
    write_bytes(fifo, [b"text"])
    reader.join(timeout=30)
    assert read == [b"text"]
    assert fifo.is_fifo()


SCAN = WrittenBy("JSON output of a scan", "express-path scan --format json --output", 1, ["subnets"])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "is not JSON, or is cut short"),
        ('{"schemaVersion": 1, "subnets": [', "is not JSON, or is cut short"),
        ("[" * 100_000, "is not JSON, or is cut short"),
        ("[]", "is not the JSON output of a scan"),
        ('{"schemaVersion": 1, "heals": []}', "is not the JSON output of a scan"),
        ('{"subnets": []}', "is not the JSON output of a scan"),
        ('{"schemaVersion": 2, "subnets": []}', "has the schemaVersion 2"),
        ('{"schemaVersion": true, "subnets": []}', "has the schemaVersion True"),
        ('{"schemaVersion": "1", "subnets": []}', "has the schemaVersion '1'"),
        ('{"schemaVersion": 1, "subnets": [], "subnets": []}', "has the key 'subnets' twice"),
        ('{"schemaVersion": 1, "subnets": [{"a": 1, "a": 2}]}', "has the key 'a' twice"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_another_command_wrote_is_refused(tmp_path: Path, content: str | None, fault: str) -> None:
    """A damaged file, or one of another tool, is named with its fault, and the command that makes one."""
    file = tmp_path / "last.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(OptionError) as raised:
        read_json(file, SCAN)
    assert f"{file} {fault}" in str(raised.value)
    assert "express-path scan --format json --output last.json" in raised.value.hint


def test_files_of_powershell_are_read(tmp_path: Path) -> None:
    """It writes UTF-16 with a byte order mark. Keys that are not known are ignored."""
    document = {"schemaVersion": 1, "subnets": [], "addedLater": {}}
    file = tmp_path / "last.json"
    file.write_text(json.dumps(document), encoding="utf-16")
    assert read_json(file, SCAN) == document
