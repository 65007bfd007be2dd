"""Questions about the caller, the Region, and the reads that are allowed."""

from express_path.adapters.assumed_role import assuming
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.aws.sessions import offers_s3_express
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.permission_probes import Probe
from express_path_cli.installation.answers import Answer, fail, ok, unknown, warn
from express_path_cli.terminal.errors import hint_for


def remedy(error: ExpressPathError) -> str:
    """Return what to do if a question cannot be answered."""
    name = error.code if isinstance(error, ApiError) else "this error"
    return hint_for(error) or f"try again; if {name} persists, contact AWS Support with this message"


def identity(context: CheckContext) -> Answer:
    """Return who makes the calls."""
    caller = context.caller()
    return ok(f"account {caller.account_id}, as {caller.arn}")


def service(context: CheckContext) -> Answer:
    """Return whether the Region offers S3 Express."""
    region = context.aws.region
    if offers_s3_express(context.aws):
        return ok(f"{region} offers S3 Express")
    return fail(f"{region} does not offer S3 Express: every subnet is NOT_APPLICABLE", "use another --region")


def permission(probe: Probe, context: CheckContext) -> Answer:
    """Return whether one read is allowed."""
    try:
        note = probe.trial(context.aws)
    except ApiError as error:
        return unknown(f"{error.code}, so a scan cannot read {probe.shows}: {error.message}", remedy(error))
    return ok(f"not tried: {note}" if note else f"shows {probe.shows}")


def network_role(context: CheckContext) -> Answer | None:
    """Return whether these credentials can follow transit gateways, as the rule does."""
    arn = context.parameter("NetworkRoleArn")
    if not arn:
        return None
    try:
        assuming(context.aws, arn, context.parameter("NetworkRoleExternalId"))
    except ApiError as error:
        if not error.is_denied:
            raise
        return warn(
            f"you may not assume {arn}, so your scans cannot look beyond transit gateways; the rule's function may",
            "if your scans need it, let the role trust you, and allow sts:AssumeRole",
        )
    return ok(f"you may assume {arn}")
