"""What `express-path comment` does: keep one comment on the pull request of a job up to date, on GitHub or GitLab.

The comment of an earlier run begins with a line that readers do not see, and has the same author: anybody can write that
line, and a token may change what others wrote.
"""

import itertools
import json
import os
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote
from urllib.request import Request, urlopen

import typer

from express_path.errors import RecordError
from express_path.fields import count, free_text, nested, plain_json, required_object
from express_path_cli.aws import options
from express_path_cli.findings.formats.markdown import MAX_COMMENT, plain
from express_path_cli.terminal.errors import OptionError, say

EXAMPLES = """
express-path scan --from scan.json --output scan.md  # the text
express-path comment scan.md  # in a job of a pull request, with GITHUB_TOKEN or GITLAB_TOKEN
"""
_PAGE = 100
"""How many comments one call returns, which is the most that both APIs allow."""


class Service(NamedTuple):
    """How an API has the comments of a pull request, with variables of the job in braces.

    user: the URL of who writes, empty if it is me. author and name: the fields with the author of a comment, and the name
    there. one: the URL of a comment, without its id. run: which commit is judged, and where the log is, in Markdown.
    """

    header: str
    value: str
    user: str
    me: str
    author: str
    name: str
    comments: str
    one: str
    update: str
    run: str


GITHUB = Service(
    header="Authorization",
    value="Bearer {GITHUB_TOKEN}",
    user="",
    me="github-actions[bot]",  # https://docs.github.com/en/actions/concepts/security/github_token
    author="user",
    name="login",
    comments="{GITHUB_API_URL}/repos/{GITHUB_REPOSITORY}/issues/{PULL}/comments",
    one="{GITHUB_API_URL}/repos/{GITHUB_REPOSITORY}/issues/comments",
    update="PATCH",
    run="Commit {COMMIT}, [log]({GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID})",
)
"""https://docs.github.com/en/rest/issues/comments"""
_NOTES = "{CI_API_V4_URL}/projects/{CI_MERGE_REQUEST_PROJECT_ID}/merge_requests/{CI_MERGE_REQUEST_IID}/notes"
GITLAB = Service(
    header="PRIVATE-TOKEN",
    value="{GITLAB_TOKEN}",
    user="{CI_API_V4_URL}/user",
    me="",
    author="author",
    name="username",
    comments=_NOTES,
    one=_NOTES,
    update="PUT",
    run="Commit {CI_COMMIT_SHA}, [log]({CI_JOB_URL})",
)
"""https://docs.gitlab.com/api/notes/#merge-requests"""
TextFile = Annotated[Path, typer.Argument(metavar="FILE", help="The text, in Markdown.", show_default=False)]
About = Annotated[
    str, typer.Option(metavar="TEXT", help="What the text is about, such as the plan. Each has a comment of its own.")
]


def comment(*, file: TextFile, about: About = "", quiet: options.Quiet = False) -> None:
    """Write a comment on a pull request, or update an earlier one.

    The pull request is that of this job. In a job of GitHub Actions, the token of the job is in GITHUB_TOKEN. In a job of GitLab, a token with the scope api is
    in GITLAB_TOKEN. Without a token, and without a pull request, nothing is written.

    Exit status: 0, or 2 if the comment could not be written.
    """
    try:
        text = file.read_text(encoding="utf-8")[:MAX_COMMENT]
    except (OSError, UnicodeError) as error:
        raise OptionError(f"{file} cannot be read: {error}", "write it with scan --output") from error
    job = _job()
    try:
        service = Service(*(part.format_map(job) for part in (GITHUB if "PULL" in job else GITLAB)))
    except KeyError:
        done = "no comment: there is no pull request, or no token"
    else:
        marker = f"<!-- express-path {quote(about).replace('-', '%2D')} -->\n"
        judged = f"{plain(about)}: " if about else ""
        done = _write(service, f"{marker}{text}\n\n{judged}{service.run}\n", marker)
    if not quiet:
        say(done)


def _job() -> dict[str, str]:
    """Return the variables of the job that have a value, and the pull request of a job of GitHub Actions.

    Raise OptionError if its event cannot be read.
    """
    job = {name: value for name, value in os.environ.items() if value}
    event = job.get("GITHUB_EVENT_PATH")
    return job | (_pull_request(Path(event)) if event else {})


def _pull_request(event: Path) -> dict[str, str]:
    """Return the number of the pull request in an event of GitHub Actions, and its last commit; nothing without one.

    https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request describes the event.
    """
    hint = "GITHUB_EVENT_PATH must name the event of the job, as GitHub Actions writes it"
    try:
        document = json.loads(event.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise OptionError(f"{event} cannot be read: {error}", hint) from error
    try:
        pull = nested(plain_json(document, "event"), "pull_request", "event")
        if not pull:
            return {}
        commit = free_text(required_object(pull, "head", "pull_request"), "sha", "pull_request.head")
        return {"PULL": str(count(pull, "number", "pull_request")), "COMMIT": commit}
    except RecordError as error:
        raise OptionError(f"{event}: {error}", hint) from error


def _write(service: Service, text: str, marker: str) -> str:
    """Write a comment, or change that of an earlier run, and return what was done."""
    me = _call(service, "GET", service.user)[service.name] if service.user else service.me
    for page in itertools.count(1):
        found = _call(service, "GET", f"{service.comments}?per_page={_PAGE}&page={page}")
        for one in found:
            # The author of a comment is null on GitHub if the account is gone.
            if one["body"].startswith(marker) and (one[service.author] or {}).get(service.name) == me:
                _call(service, service.update, f"{service.one}/{one['id']}", text)
                return "updated the comment"
        if len(found) < _PAGE:
            break
    _call(service, "POST", service.comments, text)
    return "wrote a comment"


def _call(service: Service, method: str, url: str, text: str = "") -> Any:  # noqa: ANN401  # JSON
    """Call the API and return its answer. Raise OptionError if it refuses or does not answer."""
    headers = {service.header: service.value, "Content-Type": "application/json"}
    body = json.dumps({"body": text}).encode() if text else None
    try:
        with urlopen(Request(url, body, headers, method=method), timeout=60) as answer:  # noqa: S310  # the job's own API
            return json.load(answer)
    except (OSError, HTTPException, ValueError) as error:
        raise OptionError(
            f"{method} {url} failed: {error}",
            "the token must be allowed to write comments: pull-requests: write, or the scope api on GitLab",
        ) from error
