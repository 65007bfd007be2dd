"""Who is asking, where, and what may they read."""

from collections.abc import Callable

from express_path.adapters.aws import DENIED
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.connections import offers_s3_express
from express_path_cli.doctor.answers import Answer, fail, ok, unknown, warn
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.permission_probes import Probe
from express_path_cli.problems import hint_for


def remedy(error: ExpressPathError) -> str:
    """What to do where a question cannot be answered; the same words only where the cause is the same."""
    code = error.code if isinstance(error, ApiError) else "it"
    return hint_for(error) or f"try again; if {code} stays, ask AWS Support with this message"


def identity(context: CheckContext) -> Answer:
    """Who makes the calls."""
    caller = context.caller()
    return ok(f"account {caller.account_id}, as {caller.arn}")


def service(context: CheckContext) -> Answer:
    """Whether the Region has S3 Express."""
    region = context.aws.region
    if offers_s3_express(context.aws):
        return ok(f"{region} offers S3 Express")
    return fail(f"{region} does not offer S3 Express: every subnet is NOT_APPLICABLE", "name another --region")


def read(probe: Probe) -> Callable[[CheckContext], Answer]:
    """The question whether one read is allowed."""

    def ask(context: CheckContext) -> Answer:
        try:
            note = probe.trial(context.aws)
        except ApiError as error:
            return unknown(f"{error.code}, so a scan cannot see {probe.tells}: {error.message}", remedy(error))
        return ok(f"not tried: {note}" if note else f"shows {probe.tells}")

    return ask


def network_role(context: CheckContext) -> Answer | None:
    """Whether these credentials may follow transit gateways as the rule does."""
    arn = context.parameter("NetworkRoleArn")
    if not arn:
        return None
    try:
        context.aws.assuming(arn, context.parameter("NetworkRoleExternalId"))
    except ApiError as error:
        if error.code not in DENIED:
            raise
        return warn(
            f"you may not assume {arn}, so your scans cannot look beyond transit gateways; the rule's function may",
            "nothing, unless your own scans should: then let the role trust you, and allow sts:AssumeRole",
        )
    return ok(f"you may assume {arn}")
