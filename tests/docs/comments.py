"""A local stand-in for the comments of one pull request in the APIs of GitHub and GitLab."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

TOKEN = "a-token-of-the-job"
ME = "github-actions[bot]"
"""The author of what is written; the user of GitLab has the same name here."""


class Api:
    """The comments, with the author of each as both APIs name it, and the calls.

    GitHub: https://docs.github.com/en/rest/issues/comments. GitLab: https://docs.gitlab.com/api/notes/#merge-requests.
    """

    def __init__(self) -> None:
        """Start without comments."""
        self.comments: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.is_read_only, self.url = False, ""

    def job(self, pipeline: str, folder: Path) -> dict[str, str]:
        """Return the variables of a job of the pull request."""
        if pipeline == "gitlab":
            return {
                "CI_API_V4_URL": self.url,
                "CI_COMMIT_SHA": "c0ffee",
                "CI_JOB_URL": "https://example.com/jobs/99",
                "CI_MERGE_REQUEST_IID": "7",
                "CI_MERGE_REQUEST_PROJECT_ID": "12",
                "GITLAB_TOKEN": TOKEN,
            }
        event = folder / "event.json"
        event.write_text('{"pull_request": {"number": 7, "head": {"sha": "c0ffee"}}}', encoding="utf-8")
        return {
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "platform/network",
            "GITHUB_API_URL": self.url,
            "GITHUB_SERVER_URL": "https://example.com",
            "GITHUB_RUN_ID": "99",
        }

    def answer(self, method: str, path: str, token: str, given: Any) -> tuple[int, Any]:
        """Return the status and the answer of a call."""
        self.calls.append(f"{method} {path}")
        url = urlsplit(path)
        if token == f"Bearer {TOKEN}":
            every, one, change = "/issues/7/comments", "/repos/platform/network/issues/comments/", "PATCH"
        elif token == TOKEN:
            every, one, change = "/merge_requests/7/notes", "/projects/12/merge_requests/7/notes/", "PUT"
        else:
            return 401, {}
        if url.path == "/user":
            return 200, {"username": ME}
        if method == "GET" and url.path.endswith(every):
            page, size = (int(parse_qs(url.query)[name][0]) for name in ("page", "per_page"))
            return 200, self.comments[(page - 1) * size : page * size]
        if self.is_read_only:
            return 403, {}
        if method == "POST" and url.path.endswith(every):
            made = {"id": 1000 + len(self.comments), "user": {"login": ME}, "author": {"username": ME}, **given}
            self.comments.append(made)
            return 201, made
        for comment in self.comments:
            if (method, url.path) == (change, f"{one}{comment['id']}"):
                comment.update(given)
                return 200, comment
        return 404, {}


@contextmanager
def serving() -> Iterator[Api]:
    """Serve an API."""
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Answer a call of either API."""
            given = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
            token = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
            status, found = api.answer(self.command, self.path, token, given)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815  # the names that the server calls

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        api.url = f"http://127.0.0.1:{server.server_port}"
        yield api
        server.shutdown()


@pytest.fixture
def api() -> Iterator[Api]:
    """Return an API with the comments of a pull request."""
    with serving() as found:
        yield found
