"""Errors of the command: the one line that reports each of them, with a hint on what to do."""

import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TextIO

from express_path.domain.verdict.parameters import PARAMETERS
from express_path.errors import ApiError, ExpressPathError, ParameterError, RecordError, SettingError
from express_path_cli.terminal.console import echo

PROXY_HINT = "a proxy answered instead of AWS: check HTTPS_PROXY and NO_PROXY"


def is_web_page(error: ApiError) -> bool:
    """Return whether AWS's message is HTML, which is what a proxy answers."""
    return re.search(r"<(!doctype )?html", error.message, re.IGNORECASE) is not None


def page_title(page: str) -> str:
    """Return the title of a web page as the end of a sentence; empty if it has none."""
    title = re.search(r"<title[^>]*>(.*?)</title>", page, re.IGNORECASE | re.DOTALL)
    return f', with the title "{title[1].strip()}"' if title else ""


_ACCESS_DENIED_PAGE = "https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html"
_BY_CODE = {
    ("NoCredentialsError", "PartialCredentialsError"): (
        "sign in (aws sso login{profile}), set AWS_PROFILE, or use --profile"
    ),
    ("ExpiredToken", "ExpiredTokenException", "RequestExpired"): "these credentials have expired: sign in again",
    ("UnauthorizedSSOTokenError", "SSOTokenLoadError", "TokenRetrievalError"): "run: aws sso login{profile}",
    # EC2 answers AuthFailure: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    ("InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "AuthFailure"): (
        "the credentials are not valid here: sign in again, and check that the Region is enabled for the account"
    ),
    ("ProfileNotFound",): "run `aws configure list-profiles` to list your profiles",
    ("NoRegionError",): "use --region, or set AWS_REGION",
    ("InvalidRegionError",): "a Region name looks like us-east-1",
    ("OptInRequired",): "the Region is disabled for this account: enable it, or leave it out",
    ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError"): (
        "there was no answer: check the network connection and the Region's name"
    ),
    ("AWSOrganizationsNotInUseException",): "this account is not in an organization: leave --organization out",
    ("NoSuchConfigurationAggregatorException",): (
        "run `aws configservice describe-configuration-aggregators{profile}` to list those of this account and Region"
    ),
    ("cloudformation:ValidationError",): "deploy the stack first, or select it with --stack and --region",
    ("AutomationExecutionNotFoundException",): "express-path heals lists the runs of past heals",
    ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDown"): (
        "try again later: AWS throttled the calls, even after retries"
    ),
    ("InvalidAutomationExecutionParametersException",): (
        "use the whole ID: a subnet ID looks like subnet-0a1b2c3d4e5f60718, and heal prints the ID of each run"
    ),
    ("AutomationDefinitionNotFoundException",): "the stack's runbook was deleted: deploy the stack again",
    ("logs:ResourceNotFoundException",): (
        "run `aws logs describe-log-groups{profile}` to list those of the account and Region"
    ),
}
"""What to do about an error, by its code, or by its service and code. {profile} is the option of a command of the AWS CLI."""
_HINTS = {code: hint for codes, hint in _BY_CODE.items() for code in codes}
_BY_OPERATION = {
    "sts:AssumeRole": "the role must exist and trust this account, and you need sts:AssumeRole on it",
    "organizations:ListAccounts": (
        "allow organizations:ListAccounts, which works only in the management account and for delegated administrators"
    ),
}
"""What to do about denied operations that need more than the permission."""


_given_profiles: list[str] = []


def note_profile(profile: str | None) -> str | None:
    """Return the --profile of a command, and keep it for the commands of the AWS CLI in hints."""
    _given_profiles[:] = [profile] if profile else []
    return profile


def _profile_option() -> str:
    """Return the option that gives a command of the AWS CLI the profile in use, empty without one."""
    profile = next(iter(_given_profiles), os.environ.get("AWS_PROFILE"))
    return f" --profile {shlex.quote(profile)}" if profile else ""


def hint_of(error: ApiError) -> str:
    """Return what to do about an error, by its service and code or by its code, or an empty text."""
    service = error.operation.partition(":")[0]
    hint = _HINTS.get(f"{service}:{error.code}") or _HINTS.get(error.code)
    return hint.format(profile=_profile_option()) if hint else _permission(error)


def _permission(error: ApiError) -> str:
    if not error.is_denied:
        return ""
    if "explicit deny in a service control policy" in error.message:
        return f"a service control policy of the organization denies {error.operation}"
    return _BY_OPERATION.get(
        error.operation, f"allow {error.operation}, or use credentials that allow it; see {_ACCESS_DENIED_PAGE}"
    )


UNDETERMINED = 2
"""The exit status if something could not be determined: invalid input, a denied or throttled call."""
DECLINED = 1
"""The exit status if a person declined, or did not answer."""
_NO_REGION = "NoRegionError"
DEBUG = "EXPRESS_PATH_DEBUG"
"""The environment variable that shows traces, like --debug."""


class OptionError(ExpressPathError):
    """Options that cannot be used together, or a value that is not valid. `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Keep the problem and what to do."""
        self.hint = hint
        super().__init__(message)


class LocatedError(ExpressPathError):
    """An error, with the account and Region or the aggregator where it happened."""

    def __init__(self, where: str, error: ExpressPathError) -> None:
        """Keep where it happened, as messages name it, and the error."""
        self.where, self.error = where, error
        super().__init__(f"{where}: {error}")


@contextmanager
def locating_errors(where: object) -> Iterator[None]:
    """Raise each ApiError as LocatedError, which says where it happened."""
    try:
        yield
    except ApiError as error:
        raise LocatedError(str(where), error) from error


@contextmanager
def without_region(hint: str) -> Iterator[None]:
    """Raise OptionError with this hint if no Region is set."""
    try:
        yield
    except ApiError as error:
        if error.code != _NO_REGION:
            raise
        raise OptionError(_message(error), hint) from error


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """Return a question with the allowed word that is most like a given one, in any case; empty if none is like it."""
    by_lower = {word.lower(): word for word in allowed}
    alike = get_close_matches(given.lower(), by_lower, n=1)
    return f"did you mean {by_lower[alike[0]]}?" if alike else ""


def hint_for(error: ExpressPathError) -> str:
    """Return what to do about an error, or an empty text if its message says so."""
    if isinstance(error, OptionError):
        return error.hint
    if isinstance(error, LocatedError):
        return hint_for(error.error)
    if isinstance(error, ApiError):
        return PROXY_HINT if is_web_page(error) else hint_of(error)
    if isinstance(error, ParameterError):
        if error.name not in PARAMETERS:
            return did_you_mean(error.name, PARAMETERS)
        return did_you_mean(str(error.value), re.findall(r"\w+", error.allowed))
    if isinstance(error, RecordError):
        return "please report this as a bug, with a dump (express-path collect) that shows it"
    if isinstance(error, SettingError):
        return "deploy the stack again"
    return ""


def one_line(error: ExpressPathError) -> str:
    """Return an error and its hint in one line."""
    hint = hint_for(error)
    message = _message(error)
    return " ".join((f"{message} ({hint})" if hint else message).split())


def _message(error: ExpressPathError) -> str:
    """Return an error's message. Errors in the AWS settings are shown without the internal call that found them."""
    if isinstance(error, LocatedError):
        return f"{error.where}: {_message(error.error)}"
    if isinstance(error, ApiError) and error.code == _NO_REGION:
        return "no AWS Region is set"
    if isinstance(error, ApiError) and is_web_page(error):
        return f"{error.operation} failed: the answer is a web page, not an answer from AWS{page_title(error.message)}"
    if isinstance(error, ApiError) and error.operation.startswith("boto3:"):
        return error.message
    return str(error)


def say(message: str) -> None:
    """Write a line to standard error, or nothing if that cannot be written."""
    try:
        echo(f"express-path: {message}", err=True)
    except OSError:
        redirect_to_nowhere(sys.stderr)


def redirect_to_nowhere(stream: TextIO) -> None:
    """Redirect the stream to nowhere, because a failure of Python's last flush would change the exit status.

    https://docs.python.org/3/library/signal.html#note-on-sigpipe and
    https://docs.python.org/3/library/sys.html#sys.exit
    """
    with suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_trace(error: BaseException) -> None:
    """Print the trace of an error, if traces are turned on."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be read, such as an account or one of its Regions, and why."""

    where: str
    error: ExpressPathError

    @property
    def message(self) -> str:
        """The error, without what to do about it."""
        return _message(self.error)

    @property
    def hint(self) -> str:
        """What to do about the error, or an empty text if the message says so."""
        return hint_for(self.error)

    def fields(self) -> dict[str, str]:
        """Return where it happened and the error in one line, for JSON."""
        return {"where": self.where, "error": one_line(self.error)}


def show_failures_and_notes(failures: Sequence[Failure], notes: Sequence[str] = (), *, quiet: bool) -> None:
    """Write to standard error what could not be read and, unless quiet, the notes."""
    for failure in failures:
        print_trace(failure.error)
        say(f"{failure.where}: {one_line(failure.error)}")
    if not quiet:
        for note in notes:
            say(f"note: {note}")
