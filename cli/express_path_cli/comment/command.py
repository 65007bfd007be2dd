"""What `express-path comment` does: keep one comment on the pull request of a pipeline up to date, on GitHub or GitLab.

The comment of an earlier run begins with a line that readers do not see, and has the same author: anybody can write that
line, and a token may change what others wrote.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import typer

from express_path_cli.aws import options
from express_path_cli.findings.formats.markdown import MAX_COMMENT, plain
from express_path_cli.terminal.errors import OptionError, say

EXAMPLES = """
express-path comment scan.md  # in a job of a pull request, with GITHUB_TOKEN or GITLAB_TOKEN
"""
_PAGE = 100
"""How many comments one call returns, which is the most that both APIs allow."""
_BOT = "github-actions[bot]"
"""The author of what a job writes with its own token: https://docs.github.com/en/actions/concepts/security/github_token."""


@dataclass(frozen=True, slots=True)
class Thread:
    """The comments of a pull request.

    url: of the list. one: of each comment, without its id. update: the method that changes one. headers: with the token.
    author and name: the fields with the author of a comment, and with the name of the author. run: which commit is judged,
    and where the log is, in Markdown.
    """

    url: str
    one: str
    update: str
    headers: Mapping[str, str]
    author: str
    name: str
    run: str

    def write(self, text: str, marker: str, me: str) -> str:
        """Write a comment, or change that of an earlier run, and return what was done."""
        for found in self._comments():
            is_own = (found.get(self.author) or {}).get(self.name) == me
            if is_own and str(found.get("body")).startswith(marker):
                self.call(self.update, f"{self.one}/{found['id']}", text)
                return "updated the comment"
        self.call("POST", self.url, text)
        return "wrote a comment"

    def _comments(self) -> Iterator[Mapping[str, Any]]:
        for page in count(1):
            found = self.call("GET", f"{self.url}?per_page={_PAGE}&page={page}")
            yield from found
            if len(found) < _PAGE:
                return

    def call(self, method: str, url: str, text: str | None = None) -> Any:  # noqa: ANN401  # JSON
        """Call the API and return its answer. Raise OptionError if it refuses or does not answer."""
        body = None if text is None else json.dumps({"body": text}).encode()
        headers = {**self.headers, "Content-Type": "application/json"}
        try:
            with urlopen(Request(url, body, headers, method=method), timeout=60) as answer:  # noqa: S310  # of the job's environment
                return json.load(answer)
        except (OSError, HTTPException, ValueError) as error:
            raise OptionError(
                f"{method} {url} failed: {error}",
                "the token must be allowed to write comments: pull-requests: write, or the scope api on GitLab",
            ) from error


def _github(given: Mapping[str, str]) -> Thread | None:
    """Return the pull request for which a job of GitHub Actions runs, None if there is none.

    https://docs.github.com/en/rest/issues/comments
    """
    event = json.loads(Path(given["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    found, repository = event.get("pull_request"), given["GITHUB_REPOSITORY"]
    if not found or not given.get("GITHUB_TOKEN"):
        return None
    url = f"{given['GITHUB_API_URL']}/repos/{repository}/issues"
    log = f"{given['GITHUB_SERVER_URL']}/{repository}/actions/runs/{given['GITHUB_RUN_ID']}"
    return Thread(
        f"{url}/{found['number']}/comments",
        f"{url}/comments",
        "PATCH",
        {"Authorization": f"Bearer {given['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"},
        "user",
        "login",
        f"Commit {found['head']['sha']}, [log]({log})",
    )


def _gitlab(given: Mapping[str, str]) -> Thread | None:
    """Return the merge request for which a job of GitLab runs, None if there is none.

    https://docs.gitlab.com/api/notes/#merge-requests
    """
    number = given.get("CI_MERGE_REQUEST_IID")
    if not number or not given.get("GITLAB_TOKEN"):
        return None
    project = f"{given['CI_API_V4_URL']}/projects/{given['CI_MERGE_REQUEST_PROJECT_ID']}"
    url = f"{project}/merge_requests/{number}/notes"
    run = f"Commit {given['CI_COMMIT_SHA']}, [log]({given['CI_JOB_URL']})"
    return Thread(url, url, "PUT", {"PRIVATE-TOKEN": given["GITLAB_TOKEN"]}, "author", "username", run)


TextFile = Annotated[Path, typer.Argument(metavar="FILE", help="The text, in Markdown.", show_default=False)]
About = Annotated[
    str,
    typer.Option(metavar="TEXT", help="What the text is about, such as the plan. Each has a comment of its own."),
]


def comment(*, file: TextFile, about: About = "", quiet: options.Quiet = False) -> None:
    """Write a text as a comment on the pull request of this job, or update the comment of an earlier run.

    In a job of GitHub Actions, the token of the job is in GITHUB_TOKEN. In a job of GitLab, a token with the scope api is
    in GITLAB_TOKEN. Without a token, and without a pull request, nothing is written.

    Exit status: 0, or 2 if the comment could not be written.
    """
    try:
        text = file.read_text(encoding="utf-8")[:MAX_COMMENT]
    except (OSError, ValueError) as error:
        raise OptionError(f"{file} cannot be read: {error}", "write it with scan --output") from error
    is_github = bool(os.environ.get("GITHUB_EVENT_PATH"))
    thread = (_github if is_github else _gitlab)(os.environ)
    if thread is None:
        done = "no comment: there is no pull request, or no token"
    else:
        api = os.environ.get("CI_API_V4_URL")
        me = _BOT if is_github else str(thread.call("GET", f"{api}/user")["username"])
        marker = f"<!-- express-path {quote(about).replace('-', '%2D')} -->"
        judged = f"{plain(about)}: " if about else ""
        done = thread.write(f"{marker}\n{text}\n\n{judged}{thread.run}\n", marker, me)
    if not quiet:
        say(done)
