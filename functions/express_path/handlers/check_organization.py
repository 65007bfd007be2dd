"""The Lambda function of the monitoring account that fails if the rule is silent somewhere in the organization.

Its metrics in AWS/Lambda are what pages people, because nobody but AWS can write them (org/monitoring.yaml).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.adapters.silence import listen
from express_path.errors import SettingError, SilenceError

logger = Logger(service="express-path")

CHECKED_ORGANIZATION = "checked organization"
"""The message about a check."""
_SHOWN = 1000
"""How many silent accounts and Regions a line has, because Lambda keeps 256 KB of it."""


@dataclass(frozen=True, slots=True)
class OrganizationServices:
    """What a check needs: clients, the Region of the StackSets, and as what the account calls CloudFormation."""

    aws: Aws
    stack_sets_region: str
    call_as: str


def compose_services(environment: Mapping[str, str]) -> OrganizationServices:
    """Make the services with the settings of the function's environment. Raise SettingError."""
    region, call_as = environment.get("STACK_SETS_REGION", ""), environment.get("CALL_AS", "")
    if not region:
        raise SettingError("STACK_SETS_REGION", region, "the Region of the StackSets")
    if call_as not in ("SELF", "DELEGATED_ADMIN"):
        raise SettingError("CALL_AS", call_as, "SELF or DELEGATED_ADMIN")
    return OrganizationServices(Aws.connect(environment.get("AWS_REGION")), region, call_as)


@cache
def _warm_services() -> OrganizationServices:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ)


@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any],  # noqa: ARG001  # the schedule's
    context: LambdaContext,  # noqa: ARG001  # the decorator uses it
    services: OrganizationServices | None = None,
) -> None:
    """Compare the roll-out with what works. Raise SilenceError if the rule is silent somewhere, ApiError, RecordError.

    Lambda passes no services, so the runtime's are used.
    """
    services = services or _warm_services()
    found = listen(services.aws, services.stack_sets_region, services.call_as, datetime.now(UTC))
    shown = [{**row.place._asdict(), "reason": row.reason} for row in found.silent[:_SHOWN]]
    logger.info(
        CHECKED_ORGANIZATION,
        extra={
            "expected": found.expected,
            "silent": len(found.silent),
            "places": shown,
            "new": len(found.new),
            "inactive": dict(found.inactive),
        },
    )
    if found.silent:
        raise SilenceError([str(row) for row in found.silent], found.expected)
