"""AWS Config's remediation calls on the sandbox's server, and automatic remediation on request."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from moto.config.exceptions import ResourceInUseException, ValidationException
from moto.config.models import ConfigBackend
from moto.config.responses import ConfigResponse
from moto.ssm.exceptions import SSMException
from moto.utilities.utils import get_partition

from sandbox.config_service.results import ResourceKey, results_of
from sandbox.patches import Patches
from sandbox.remediation import configurations, exceptions, runs
from sandbox.remediation.automatic import AutomaticRemediation
from sandbox.remediation.configurations import configuration, runbook_parameters
from sandbox.remediation.memory import Remediations, Run, remediations_of
from sandbox.server import CREDENTIALS, Sandbox
from sandbox.ssm import Automation
from sandbox.ssm.constraints import violations
from sandbox.ssm.roles import Caller

Operation = Callable[[ConfigBackend, Remediations, dict[str, Any]], dict[str, Any]]

OPERATIONS: dict[str, tuple[str, Operation]] = {
    "PutRemediationConfigurations": ("put_remediation_configurations", configurations.put),
    "DescribeRemediationConfigurations": ("describe_remediation_configurations", configurations.describe),
    "DeleteRemediationConfiguration": ("delete_remediation_configuration", configurations.delete),
    "DescribeRemediationExecutionStatus": ("describe_remediation_execution_status", runs.status),
    "PutRemediationExceptions": ("put_remediation_exceptions", exceptions.put),
    "DescribeRemediationExceptions": ("describe_remediation_exceptions", exceptions.describe),
    "DeleteRemediationExceptions": ("delete_remediation_exceptions", exceptions.delete),
}
"""Operations: the names of moto's methods, and what answers."""

SERVICE_ROLE = "assumed-role/AWSServiceRoleForConfigRemediation/AwsConfigRemediation"
"""https://docs.aws.amazon.com/config/latest/developerguide/using-service-linked-roles.html."""


class Remediation:
    """Remediation in a running sandbox with Automation, as a context manager.

    `clock` gives the time by which attempts are counted, in seconds since 1970; a test may put another in its place.
    """

    def __init__(self, sandbox: Sandbox, automation: Automation) -> None:
        """Prepare; moto is not changed yet."""
        self.clock: Callable[[], float] = time.time
        self._sandbox = sandbox
        self._automation = automation
        self._patches = Patches()

    def __enter__(self) -> Self:
        """Let the sandbox's server answer Config's remediation calls."""
        for operation, (method, answer) in OPERATIONS.items():
            self._patches.set(ConfigResponse, method, _method(operation, answer))
        start = _method("StartRemediationExecution", self._start_on_demand)
        self._patches.set(ConfigResponse, "start_remediation_execution", start)
        self._patches.wrap(ConfigResponse, "delete_config_rule", _unless_configured)
        return self

    def __exit__(self, *_exception: object) -> None:
        """Undo the changes."""
        self._patches.undo()

    def remediate(self, rule_name: str) -> list[Run]:
        """Run automatic remediation of a rule of the sandbox's own account and Region; see AutomaticRemediation."""
        account_id, region = self._sandbox.account_id, self._sandbox.region
        return AutomaticRemediation(
            remediations_of(account_id, region),
            results_of(account_id, region),
            rule_name,
            partial(self._begin, account_id, region),
            self._finish,
            self.clock,
        ).remediate()

    def _start_on_demand(
        self, backend: ConfigBackend, memory: Remediations, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        begin = partial(self._begin, backend.account_id, backend.region_name)
        return runs.start(backend, memory, parameters, begin)

    def _begin(self, account_id: str, region: str, rule_name: str, resource: ResourceKey) -> Run:
        """Start the runbook of a rule for a resource, and keep the run. A refusal by Automation is a failed run."""
        memory = remediations_of(account_id, region)
        found = configuration(memory, rule_name)
        request = {"DocumentName": found["TargetId"], "Parameters": runbook_parameters(found, resource[1])}
        if "TargetVersion" in found:
            request["DocumentVersion"] = found["TargetVersion"]
        who = Caller(f"arn:{get_partition(region)}:sts::{account_id}:{SERVICE_ROLE}", CREDENTIALS)
        invoked = self.clock()
        try:
            run = Run(resource, invoked, self._automation.start(request, who, account_id, region))
        except SSMException as error:
            run = Run(resource, invoked, refusal=str(error))
        memory.add(rule_name, run)
        return run

    def _finish(self, run: Run) -> None:
        if run.execution:
            self._automation.wait(run.execution.id)


def _unless_configured(original: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to delete a rule that has a remediation configuration (botocore model, ResourceInUseException)."""

    def delete_config_rule(self: ConfigResponse) -> object:
        name = json.loads(self.body or "{}").get("ConfigRuleName")
        if name in remediations_of(self.current_account, self.region).configurations:
            raise ResourceInUseException(f"A remediation action is associated with the rule {name}.")
        return original(self)

    return delete_config_rule


def _method(name: str, operation: Operation) -> Callable[[ConfigResponse], str]:
    """Return a method of moto's response class that checks a request against its model, and answers it."""

    def answer(self: ConfigResponse) -> str:
        parameters = json.loads(self.body or "{}")
        found = violations("config", name, parameters)
        if found:
            raise ValidationException(f"{len(found)} validation error(s) detected: {'; '.join(found)}")
        memory = remediations_of(self.current_account, self.region)
        return json.dumps(operation(self.config_backend, memory, parameters))

    return answer
