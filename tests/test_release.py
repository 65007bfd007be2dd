"""What `make dist` and `make audit` promise: the same files from the same sources, and no release with a known vulnerability."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = (".venv", ".venv-tools")
UP_TO_DATE = [f"--old-file={name}/.ready" for name in ENVIRONMENTS]
KNOWN = "GHSA-0000-0000-0000"
VULNERABILITY = {
    "id": "PYSEC-2026-1",
    "aliases": [KNOWN],
    "summary": "An example.",
    "affected": [{"package": {"name": "urllib3", "ecosystem": "PyPI"}}],
}

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not all((ROOT / name / ".ready").exists() for name in ENVIRONMENTS),
        reason="`make verify` makes the environments",
    ),
]


def make(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run make in a folder with the environments of this checkout. `make verify` may be around it, and names folders then."""
    environment = {**os.environ, "UV_OFFLINE": "1"}
    command = ["make", "--no-print-directory", *UP_TO_DATE, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def checkout(folder: Path) -> Path:
    """Copy the sources into a folder, as if they had been checked out now, with links to the environments."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
            shutil.copymode(ROOT / name, target)
    for name in ENVIRONMENTS:
        (folder / name).symlink_to(ROOT / name)
    return folder


def test_two_builds_of_a_release_are_equal_to_the_byte(tmp_path: Path) -> None:
    """The same sources in two folders, with other times, other rights, and another time zone, give the same files."""
    first, second = checkout(tmp_path / "first"), checkout(tmp_path / "elsewhere" / "second")
    for file in (second / "runbooks").iterdir():
        file.chmod(0o600)
        os.utime(file, (1_000_000_000, 1_000_000_000))
    for folder, zone in ((first, "UTC"), (second, "Asia/Tokyo")):
        built = make(folder, "dist", f"TZ={zone}")
        assert built.returncode == 0, built.stderr
    files = [{file.name: file.read_bytes() for file in (folder / "dist").iterdir()} for folder in (first, second)]
    assert files[0].keys() == files[1].keys() >= {"function.zip", "stack.zip", "express-path.cdx.json"}
    assert [name for name, content in files[0].items() if content != files[1][name]] == []
    sums = files[0].pop("SHA256SUMS").decode()
    assert dict(reversed(line.split("  ")) for line in sums.splitlines()) == {
        name: sha256(content).hexdigest() for name, content in files[0].items()
    }
    components = json.loads(files[0]["express-path.cdx.json"])["components"]
    assert {"boto3", "orjson", "rich", "typer", "urllib3"} <= {component["name"] for component in components}


class Vulnerabilities(BaseHTTPRequestHandler):
    """A vulnerability service that knows one vulnerability, of urllib3 (https://google.github.io/osv.dev/post-v1-query/)."""

    def do_POST(self) -> None:
        """Answer a query about a package."""
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"vulns": [VULNERABILITY]} if query["package"]["name"] == "urllib3" else {}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """Return the URL of the vulnerability service."""
    with HTTPServer(("127.0.0.1", 0), Vulnerabilities) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("days", "reason", "status"),
    [(None, "", 2), (0, "only the tests use it", 0), (-1, "only the tests use it", 2), (1, "", 2)],
    ids=["known", "accepted until today", "expired", "without a reason"],
)
def test_an_audit_fails_until_a_vulnerability_is_accepted(
    days: int | None, reason: str, status: int, service: str, tmp_path: Path
) -> None:
    """A known vulnerability of a locked version fails the audit, unless an entry with a reason accepts it and has not expired."""
    accepted = tmp_path / "accepted.txt"
    last = None if days is None else (datetime.now(UTC) + timedelta(days=days)).date()
    accepted.write_text("# comment\n\n" + (f"{KNOWN} {last} {reason}\n" if last else ""), encoding="utf-8")
    settings = (f"ACCEPTED={accepted}", f"PIP_AUDIT_FLAGS=--osv-url={service}")
    done = make(ROOT, "audit", "LOCKS=requirements/build requirements/command", *settings)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout.split()[:1] == ["requirements/build.txt"]
    assert "requirements/command.txt" in done.stdout
    assert ("PYSEC-2026-1" in done.stdout) is (status != 0)
    assert ("Not accepted" in done.stderr) is (last is not None and status != 0)


def test_an_audit_fails_without_an_answer() -> None:
    """If the service cannot be reached, the audit does not pass."""
    done = make(ROOT, "audit", "LOCKS=requirements/build", "PIP_AUDIT_FLAGS=--osv-url=http://127.0.0.1:9")
    assert done.returncode == 2
    assert "ConnectionError" in done.stderr
