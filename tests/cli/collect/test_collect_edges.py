"""Collect cannot write to its folder, or the Region lacks S3 Express."""

import os
from pathlib import Path
from typing import Any

import pytest

from sandbox.server import Sandbox
from tests.support.command import invoke


def test_folder_that_cannot_be_created_is_one_line(sandbox: Sandbox, tmp_path: Path) -> None:
    """A folder that cannot be created gives one line and status 2 before any call."""
    (tmp_path / "file").write_text("mine")
    result = invoke(["collect", str(tmp_path / "file" / "dump")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert len(result.stderr.splitlines()) == 1
    assert list(sandbox.calls) == []


def test_region_without_the_service_can_be_collected(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without S3 Express in the Region its host does not exist, so directory buckets are not listed.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html has the hosts.
    """
    assert sandbox.endpoint_url
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    result = invoke(["collect", str(tmp_path / "dump"), "--region", "eu-south-1"])
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.usefixtures("sandbox")
def test_file_that_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the error names the file and not standard output."""
    usual = os.open

    def full(path: Any, *more: Any) -> int:
        """Fail like a disk without free space."""
        if str(path).startswith(str(tmp_path)):
            raise OSError(28, "No space left on device")
        return usual(path, *more)

    monkeypatch.setattr(os, "open", full)
    result = invoke(["collect", str(tmp_path / "dump")])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "vpcs.json: No space left on device; free some space" in line
