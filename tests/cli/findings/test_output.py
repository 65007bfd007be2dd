"""A result in each format: complete, without control characters, and written to a file or to standard output."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from express_path.errors import ApiError
from express_path_cli.findings.formats import Format
from express_path_cli.findings.output import format_of, write_result
from express_path_cli.terminal.errors import Failure, OptionError
from tests.cli.findings.results import FLAGGED, compared, rendered, result_of


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("out.json", Format.JSON),
        ("out.csv", Format.CSV),
        ("out.md", Format.MARKDOWN),
        ("out.xml", Format.JUNIT),
        ("out.SARIF", Format.SARIF),
        ("out.html", Format.HTML),
        ("out.txt", Format.TABLE),
        ("out", Format.TABLE),
        ("-", Format.TABLE),
        (None, Format.TABLE),
    ],
)
def test_the_suffix_of_a_file_is_its_format(name: str | None, chosen: Format) -> None:
    """A file without a suffix gets a table, and so does standard output."""
    assert format_of(Path(name) if name else None) is chosen


def test_suffix_of_no_format_is_refused(tmp_path: Path) -> None:
    """A table in out.foo would surprise; the error names the suffixes. The name of a pipe says nothing."""
    with pytest.raises(OptionError, match=r"--output out\.foo: the suffix \.foo") as raised:
        format_of(Path("out.foo"))
    assert raised.value.hint.startswith("use one of .txt, .json, .csv, ")
    os.mkfifo(tmp_path / "pipe.foo")
    assert format_of(tmp_path / "pipe.foo") is Format.TABLE


@pytest.mark.parametrize("chosen", Format)
def test_every_format_supports_an_empty_result(chosen: Format) -> None:
    """A scan without subnets gives a complete document."""
    text = rendered(chosen, result_of())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    if chosen in (Format.JSON, Format.SARIF, Format.OCSF):
        json.loads(text)


@pytest.mark.parametrize("odd", ["\x00\x07\x1b", "\x7f", "\x9b2J", "\u202e\u2066", "\ud83d"])
@pytest.mark.parametrize("chosen", Format)
def test_no_format_has_characters_that_control_a_terminal(chosen: Format, odd: str) -> None:
    """They are replaced in rows and in what is around them; so is half of a surrogate pair, which UTF-8 lacks."""
    failure = Failure(odd, ApiError("ec2:DescribeSubnets", "Denied", odd))
    row = replace(FLAGGED, annotation=f"NAT_GATEWAY: {odd}é", subnet_name=f"a{odd}é", path=())
    text = rendered(chosen, result_of(row, failures=[failure], filters=[f"--tag {odd}"]))
    assert [character for character in odd if character in text and not character.isalnum()] == []
    assert "é" in text or chosen is Format.TABLE


def test_a_file_is_summarized_unless_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard error says what the file contains, and how many findings are new; standard output stays empty."""
    for quiet in (True, False):
        write_result(compared(), Format.CSV, tmp_path / "out.csv", quiet=quiet)
        shown = capsys.readouterr()
        assert shown.out == ""
        assert ("out.csv: 6 subnets: 3 NON_COMPLIANT" in shown.err) is not quiet
        assert ("Compared with the baseline: 2 new" in shown.err) is not quiet
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("accountId,")


@pytest.mark.parametrize("chosen", [Format.TABLE, Format.JSON])
@pytest.mark.parametrize("file", [None, Path("-")])
def test_a_dash_is_standard_output(
    chosen: Format,
    file: Path | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The result goes to standard output, and no file is reported as written."""
    monkeypatch.chdir(tmp_path)
    write_result(result_of(FLAGGED), chosen, file, quiet=False)
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == (rendered(chosen, result_of(FLAGGED)), "")
    assert list(tmp_path.iterdir()) == []
