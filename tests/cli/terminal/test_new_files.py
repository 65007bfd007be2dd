"""Files are written completely or not at all, and never through something that others put in their place."""

import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from express_path_cli.terminal.files import write_new_file


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


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    """Also while it is written."""
    file = tmp_path / "scan.json"
    file.touch(mode=0o600)
    modes: list[int] = []

    def pieces() -> Iterator[bytes]:
        modes.extend(stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir())
        yield b"text"

    write_new_file(file, pieces())
    assert {*modes, stat.S_IMODE(file.stat().st_mode)} == {0o600}
