"""Where collect cannot write, or has less to read."""

from pathlib import Path

import pytest

from sandbox.server import Sandbox
from tests.support.command import invoke


def test_folder_that_cannot_be_made_is_told_in_a_line(sandbox: Sandbox, tmp_path: Path) -> None:
    """A folder below a file, or where nothing may be written: one line, status 2, and no call."""
    (tmp_path / "file").write_text("mine")
    result = invoke(["collect", str(tmp_path / "file" / "dump")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert len(result.stderr.splitlines()) == 1
    assert list(sandbox.calls) == []


def test_region_without_the_service_can_be_collected(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where S3 Express is not offered its host does not exist, so directory buckets are not asked for.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html has the hosts.
    """
    assert sandbox.endpoint_url
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    result = invoke(["collect", str(tmp_path / "dump"), "--region", "eu-south-1"])
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.usefixtures("sandbox")
def test_file_that_cannot_be_written_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full: the file is named, and standard output is not blamed."""

    def full(*_: object, **__: object) -> int:
        """Fail as a disk does that has no room."""
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    result = invoke(["collect", str(tmp_path / "dump")])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "vpcs.json: No space left on device; free some space" in line
