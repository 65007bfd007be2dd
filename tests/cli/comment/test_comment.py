"""express-path comment, without a pipeline; tests/docs/test_pipeline.py runs the jobs of the action and the component."""

from pathlib import Path

import pytest
from typer.testing import Result

from tests.docs.comments import TOKEN, Api, api
from tests.support.command import invoke

__all__ = ["api"]


@pytest.fixture
def text(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file with the text, in the job of a pull request on GitHub."""
    for name, value in {**api.job("github", tmp_path), "GITHUB_TOKEN": TOKEN}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "scan.md").write_text("text", encoding="utf-8")
    return tmp_path / "scan.md"


def run(text: Path) -> Result:
    """Write the comment."""
    return invoke(["comment", str(text), "--about", "plan -->.json"])


def test_a_text_that_is_too_long_is_cut(text: Path, api: Api) -> None:
    """GitHub refuses a longer comment, and the log has all of it."""
    text.write_text("é" * 100_000, encoding="utf-8")
    assert run(text).exit_code == 0
    [made] = api.comments
    assert 60_000 < len(made["body"]) <= 65_536
    assert made["body"].endswith(", [log](https://example.com/platform/network/actions/runs/99)\n")
    assert (made["body"].partition("\n")[0].count("-->"), made["body"].partition("\n")[2][0]) == (1, "é")


EVENTS = {"no JSON": "", "no event": "[]", "another pull request": '{"pull_request": {"number": 1}}'}
"""Faults of the event of a job, and what is in its file."""


@pytest.mark.parametrize("fault", ["no file", "no text", "no answer", "no API", *EVENTS])
def test_what_fails_is_an_error_of_one_line(fault: str, text: Path, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, and the token is not shown."""
    if fault == "no file":
        text.unlink()
    elif fault == "no text":
        text.write_bytes(b"\xff")
    elif fault in EVENTS:
        (text.parent / "event.json").write_text(EVENTS[fault], encoding="utf-8")
    else:
        monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9" if fault == "no answer" else f"{api.url}/else?")
    result = run(text)
    assert (result.exit_code, result.stdout, api.comments) == (2, "", [])
    [line] = result.stderr.splitlines()
    assert TOKEN not in line
    assert "a bug" not in line
    assert ("event.json" in line) == (fault in EVENTS)


@pytest.mark.parametrize("lacks", ["pull request", "token"])
def test_a_job_without_a_pull_request_or_token_writes_nothing(
    lacks: str, text: Path, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schedule has an event too."""
    monkeypatch.setenv("GITHUB_TOKEN", "") if lacks == "token" else (text.parent / "event.json").write_text("{}")
    result = run(text)
    assert (result.exit_code, api.calls) == (0, [])
    assert "no comment: there is no pull request, or no token" in result.stderr
