"""A local stand-in for the comments of one pull request in the APIs of GitHub and GitLab."""

import json
import re
import threading
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

TOKEN = "a-token-of-the-job"
ME = {"github": "github-actions[bot]", "gitlab": "project_12_bot"}


class Api:
    """The comments, with the author of each as both APIs name it, and the calls.

    GitHub: https://docs.github.com/en/rest/issues/comments. GitLab: https://docs.gitlab.com/api/notes/#merge-requests.
    """

    def __init__(self) -> None:
        """Start without comments."""
        self.comments: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.is_read_only = False
        api = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                """Answer a call of either API."""
                length = int(self.headers.get("Content-Length") or 0)
                given = json.loads(self.rfile.read(length) or b"null")
                status, found = api.answer(self.command, self.path, self.headers, given)
                body = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815  # the names that the server calls

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        """Start to serve."""
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def author(self, name: str) -> dict[str, Any]:
        """Return the fields with the author of a comment."""
        return {"user": {"login": name}, "author": {"username": name}}

    def answer(self, method: str, path: str, headers: Message, given: Any) -> tuple[int, Any]:
        """Return the status and the answer of a call."""
        self.calls.append(f"{method} {path}")
        url = urlsplit(path)
        if headers.get("Authorization") == f"Bearer {TOKEN}":
            kind, list_path, one_path, change = (
                "github",
                "/repos/platform/network/issues/7/comments",
                "/repos/platform/network/issues/comments",
                "PATCH",
            )
        elif headers.get("PRIVATE-TOKEN") == TOKEN:
            kind, list_path, change = "gitlab", "/projects/12/merge_requests/7/notes", "PUT"
            one_path = list_path
        else:
            return 401, {"message": "Bad credentials"}
        if (kind, method, url.path) == ("gitlab", "GET", "/user"):
            return 200, {"username": ME[kind]}
        if method == "GET" and url.path == list_path:
            asked = {name: int(value) for name, [value] in parse_qs(url.query).items()}
            size = min(asked.get("per_page", 30), 100)
            start = (asked.get("page", 1) - 1) * size
            return 200, self.comments[start : start + size]
        if self.is_read_only:
            return 403, {"message": "Resource not accessible by integration"}
        if method == "POST" and url.path == list_path:
            made = {"id": 1000 + len(self.comments), "body": given["body"], **self.author(ME[kind])}
            self.comments.append(made)
            return 201, made
        changed = re.fullmatch(rf"{one_path}/(\d+)", url.path)
        if method == change and changed:
            [found] = [one for one in self.comments if one["id"] == int(changed[1])]
            found["body"] = given["body"]
            return 200, found
        return 404, {"message": "Not Found"}
