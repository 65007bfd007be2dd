"""express-path comment, without a pipeline; tests/docs/test_pipeline.py runs the jobs of the action and the component."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.comments import TOKEN, Api
from tests.support.command import invoke


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Api]:
    """Return the API of the pull request whose job this is."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": "c0ffee"}}}), encoding="utf-8")
    with Api() as served:
        for name, value in {
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "platform/network",
            "GITHUB_API_URL": served.url,
            "GITHUB_SERVER_URL": "https://github.example.com",
            "GITHUB_RUN_ID": "99",
            "GITHUB_TOKEN": TOKEN,
        }.items():
            monkeypatch.setenv(name, value)
        yield served


def test_a_text_that_is_too_long_is_cut(api: Api, tmp_path: Path) -> None:
    """GitHub refuses a longer comment, and the log has all of it."""
    (tmp_path / "scan.md").write_text("é" * 100_000, encoding="utf-8")
    assert invoke(["comment", str(tmp_path / "scan.md"), "--about", "plan -->.json"]).exit_code == 0
    [made] = api.comments
    assert 60_000 < len(made["body"]) <= 65_536
    assert made["body"].endswith(", [log](https://github.example.com/platform/network/actions/runs/99)\n")
    hidden, _, shown = made["body"].partition("\n")
    assert (hidden.startswith("<!--"), hidden.count("-->"), shown[0]) == (True, 1, "é")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_an_error(content: bytes | None, api: Api, tmp_path: Path) -> None:
    """Nothing is written."""
    if content:
        (tmp_path / "scan.md").write_bytes(content)
    result = invoke(["comment", str(tmp_path / "scan.md")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "scan.md cannot be read" in result.stderr
    assert not api.calls


def test_an_api_that_does_not_answer_is_an_error_of_one_line(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is an answer that is no JSON, and neither shows the token."""
    (tmp_path / "scan.md").write_text("text", encoding="utf-8")
    for url in ("http://127.0.0.1:9", f"{api.url}/elsewhere"):
        monkeypatch.setenv("GITHUB_API_URL", url)
        result = invoke(["comment", str(tmp_path / "scan.md")])
        assert result.exit_code == 2
        [line] = result.stderr.splitlines()
        assert "failed: " in line
        assert TOKEN not in line


def test_a_job_of_no_pull_request_writes_nothing(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule has an event too, and a job may have no token."""
    (tmp_path / "scan.md").write_text("text", encoding="utf-8")
    (tmp_path / "push.json").write_text("{}", encoding="utf-8")
    for name, value in (("GITHUB_EVENT_PATH", str(tmp_path / "push.json")), ("GITHUB_TOKEN", "")):
        with monkeypatch.context() as patches:
            patches.setenv(name, value)
            result = invoke(["comment", str(tmp_path / "scan.md")])
        assert (result.exit_code, result.stdout) == (0, "")
        assert "no comment: there is no pull request, or no token" in result.stderr
    assert not api.calls
