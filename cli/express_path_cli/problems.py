"""What goes wrong, in one line with a hint, and with the status that says "could not tell"."""

import os
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from express_path.errors import ApiError, BlockedError, ExpressPathError, ParameterError, RecordError

COULD_NOT_TELL = 2
"""Exit status where the command could not tell: bad input, denied, throttled."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the signal's number."""
DEBUG = "EXPRESS_PATH_DEBUG"
"""The environment variable that asks for traces, as --debug does."""


class OptionError(ExpressPathError):
    """Options that do not go together, or a value that is not allowed; hint says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Keep what is wrong and what to do."""
        self.hint = hint
        super().__init__(message)


_BY_CODE = {
    ("NoCredentialsError", "PartialCredentialsError"): "sign in (aws sso login), set AWS_PROFILE, or use --profile",
    ("ExpiredToken", "ExpiredTokenException", "RequestExpired"): "these credentials have expired: sign in again",
    ("UnauthorizedSSOTokenError", "SSOTokenLoadError", "TokenRetrievalError"): "run: aws sso login",
    ("InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch"): (
        "the credentials are not valid here: sign in again; a Region that is off for the account answers so, too"
    ),
    ("ProfileNotFound",): "aws configure list-profiles shows the profiles that there are",
    ("NoRegionError",): "use --region or --all-regions, or set AWS_REGION",
    ("OptInRequired",): "the Region is off for this account: switch it on, or leave it out",
    ("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ConnectionClosedError"): (
        "no answer: is the network up, and is the Region's name right?"
    ),
    ("AWSOrganizationsNotInUseException",): "this account is in no organization: leave --organization out",
    ("NoSuchConfigurationAggregatorException",): (
        "aws configservice describe-configuration-aggregators shows those of this account and Region"
    ),
    ("ValidationError", "NoRunbooks"): "deploy the stack first, or name it with --stack; --region says where it is",
    ("AutomationExecutionNotFoundException",): "the run's id is on its route table's tag express-path:run",
    ("Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDown"): (
        "AWS refused for too many calls, also after waiting: try again later, or with fewer --workers"
    ),
    ("AutomationDefinitionNotFoundException",): "the stack's runbook is gone: deploy the stack again",
}
HINTS = {code: hint for codes, hint in _BY_CODE.items() for code in codes}


def hint_for(error: ExpressPathError) -> str:
    """What a person can do about an error; empty where its message says so already."""
    if isinstance(error, OptionError):
        return error.hint
    if isinstance(error, ApiError):
        return HINTS.get(error.code) or _permission(error)
    if isinstance(error, ParameterError):
        return "docs/how-it-decides.md explains each rule parameter"
    if isinstance(error, RecordError):
        return "please report this as a bug, with a dump (express-path collect) that shows it"
    return ""


def _permission(error: ApiError) -> str:
    denied = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure"}
    if error.code not in denied:
        return ""
    if error.operation == "sts:AssumeRole":
        return "the role must exist, trust this account, and you need sts:AssumeRole on it"
    return f"allow {error.operation}, or use credentials that may; express-path doctor lists what is needed"


def one_line(error: ExpressPathError) -> str:
    """An error and its hint in one line; a blocked heal has its own lines, with its patches."""
    if isinstance(error, BlockedError):
        return str(error)
    hint = hint_for(error)
    return " ".join((f"{error} ({hint})" if hint else str(error)).split())


def say(message: str) -> None:
    """Write a line to standard error, where what is no result belongs."""
    typer.echo(f"express-path: {message}", err=True)


class Reporting(TyperGroup):
    """The command's root: whatever a subcommand raises ends in one line and a status that is never 0 or 1."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # what click declares
        """Run the subcommand; --debug shows the trace of an error."""
        try:
            return super().invoke(ctx)
        except ExpressPathError as error:
            _trace()
            say(one_line(error))
            raise typer.Exit(COULD_NOT_TELL) from error
        except KeyboardInterrupt as interrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from interrupt
        except Exception as error:
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort | BrokenPipeError):
                raise
            _trace()
            say(f"unexpected {type(error).__name__}: {error} (a bug: run again with --debug and report the trace)")
            raise typer.Exit(COULD_NOT_TELL) from error


def _trace() -> None:
    if os.environ.get(DEBUG):
        traceback.print_exc()
