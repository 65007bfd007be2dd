"""The Lambda function that publishes verdicts that changed as OCSF findings, for a SIEM or a data lake."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path_integrations.adapters.ocsf import PublishedFindings
from express_path_integrations.findings import RuleScope
from express_path_integrations.handlers.batch import handle, logger, setting
from express_path_integrations.updating import IntegrationServices


def compose_services(environment: Mapping[str, str], account_id: str) -> IntegrationServices:
    """Make the services of an account with the settings of the function's environment.

    Raise SettingError, or ApiError if no Region is set.
    """
    rule_name = setting(environment, "RULE_NAME", "the name of the rule in AWS Config")
    bus_name = setting(environment, "EVENT_BUS_NAME", "the name of an event bus")
    table_name = setting(environment, "TABLE_NAME", "the name of a DynamoDB table")
    aws = Aws.connect(environment.get("AWS_REGION"))
    scope = RuleScope(account_id, aws.region, rule_name)
    return IntegrationServices(aws, scope, PublishedFindings(aws, scope, bus_name, table_name))


@cache
def _warm_services(account_id: str) -> IntegrationServices:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ, account_id)


@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any], context: LambdaContext, services: IntegrationServices | None = None
) -> dict[str, Any]:
    """Apply a batch of messages (see `batch.handle`). Lambda passes no services, so the runtime's are used."""
    return handle(event, services or _warm_services(context.invoked_function_arn.split(":")[4]))
