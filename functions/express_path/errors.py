"""The exceptions of express-path. They keep as attributes what a caller needs to act on them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any


class ExpressPathError(Exception):
    """Base of every error that express-path raises on purpose."""

    def fields(self) -> dict[str, Any]:
        """Return the error as data: a code, the resource, the evidence, and what to do, of which some may be empty.

        The code is the name of the class in capitals, such as CLAIM_HELD.
        """
        name = type(self).__name__.removesuffix("Error")
        code = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
        return {"code": code, "resource": "", "evidence": str(self), "fix": ""}


class ParameterError(ExpressPathError):
    """A rule parameter has an unknown name or a value that is not allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        """Keep the parameter's name, the value found and what is allowed."""
        self.name, self.value, self.allowed = name, value, allowed
        super().__init__(f"rule parameter {name}={value!r}: must be {allowed}")


class SettingError(ExpressPathError):
    """A setting that the stack gives to a function has a value that is not allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        """Keep the setting's name, the value found and what is allowed."""
        self.name, self.value, self.allowed = name, value, allowed
        super().__init__(f"setting {name}={value!r}: must be {allowed}")


def _shown(found: object) -> str:
    """Return a value as text of at most 200 characters. Python cannot print deep nesting or numbers of 5,000 digits."""
    try:
        return f"{found!r:.200}"
    except (RecursionError, ValueError):
        return f"a {type(found).__name__} that cannot be printed"


class ContractError(ExpressPathError):
    """A step of a runbook sends a request of another version than the plan function's."""

    def __init__(self, found: object, expected: str) -> None:
        """Name the version of the request and that of the function."""
        super().__init__(
            f"the run's runbook has version {_shown(found)} of the contract with the plan function, and the function has "
            f"version {expected!r}: the stack was updated after the run had started; start the run again"
        )


class RecordError(ExpressPathError):
    """What was read lacks a field, or a field has an invalid value: a description, an event, a request, or a file."""

    def __init__(self, resource: str, field: str, found: object, allowed: str) -> None:
        """Keep the resource or the place in an event, its field, what was found there, and what is allowed.

        The field is empty if what was read is not even an object.
        """
        self.resource, self.field, self.found, self.allowed = resource, field, found, allowed
        what = f"{resource}: field {field}" if field else resource
        super().__init__(f"{what} is {_shown(found)}: must be {allowed}")


class PolicyError(ExpressPathError):
    """What a policy says could not be determined."""

    def __init__(self, source: str, fault: str) -> None:
        """Name where the policy is from, and why it could not be judged."""
        super().__init__(f"{source}: {fault}")


class DumpError(ExpressPathError):
    """A dump folder cannot be used."""

    def __init__(self, path: str, fault: str, remedy: str) -> None:
        """Keep the file or folder, the fault and the remedy."""
        self.path, self.fault, self.remedy = path, fault, remedy
        super().__init__(f"{path}: {fault}; {remedy}")


class ApiError(ExpressPathError):
    """A call of an AWS API failed."""

    _DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
    """The error codes for a missing permission."""

    def __init__(self, operation: str, code: str, message: str) -> None:
        """Keep the API operation (service:Operation), AWS's error code and message."""
        self.operation, self.code, self.message = operation, code, message
        super().__init__(f"{operation} failed with {code}: {message}")

    @property
    def is_denied(self) -> bool:
        """Whether a permission is missing."""
        return self.code in self._DENIED

    def fields(self) -> dict[str, Any]:
        """Return the error as data, with AWS's error code, and the operation as the resource."""
        return {**super().fields(), "code": self.code, "resource": self.operation}


class SightLostError(ExpressPathError):
    """Reads were denied, and without them the paths of some subnets are unknown; these keep their stored results."""

    def __init__(self, operations: Sequence[str], subnet_ids: Sequence[str], role_arn: str) -> None:
        """Keep the denied operations, the subnets that are not reported, and the role that was denied, empty if it was none."""
        self.operations, self.subnet_ids, self.role_arn = tuple(operations), tuple(subnet_ids), role_arn
        whose = f" to {role_arn} (networkRoleArn)" if role_arn else ""
        named = ", ".join(self.subnet_ids[:5]) + (", ..." if len(self.subnet_ids) > 5 else "")  # noqa: PLR2004
        super().__init__(
            f"{', '.join(self.operations)} denied{whose}: the paths of {len(self.subnet_ids)} subnets are unknown ({named}), "
            "so they keep their previous results; restore the permission, and the next event or sweep evaluates them"
        )


class ReportError(ExpressPathError):
    """AWS Config rejected some evaluations."""

    def __init__(self, failed: Sequence[Mapping[str, object]]) -> None:
        """Keep the evaluations as Config returned them in FailedEvaluations."""
        self.failed = tuple(failed)
        names = ", ".join(str(row.get("ComplianceResourceId")) for row in self.failed[:5])
        super().__init__(f"AWS Config rejected {len(self.failed)} evaluations, the first: {names}")


class UnhealthyError(ExpressPathError):
    """Parts of an installation do not work. Problems are sentences, each with the component before a colon."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Record what does not work."""
        super().__init__(f"{len(problems)} parts do not work: {'; '.join(problems)}")
        self.problems = problems


class SilenceError(ExpressPathError):
    """The rule is silent in some accounts and Regions. Each is a sentence that begins with the account and Region."""

    _NAMED = 10
    """How many of them the message names."""

    def __init__(self, silent: Sequence[str], expected: int) -> None:
        """Record where it is silent, and in how many accounts and Regions it was expected to work. Name the first ten."""
        shown = "; ".join(silent[: self._NAMED])
        more = len(silent) - self._NAMED
        if more > 0:
            shown += f"; and {more} more"
        super().__init__(f"the rule is silent in {len(silent)} of {expected} accounts and Regions: {shown}")
        self.silent = silent


class FindingsError(ExpressPathError):
    """Security Hub or EventBridge rejected some findings of an integration."""

    def __init__(self, rejected: Sequence[tuple[str, str, str]]) -> None:
        """Name the subnet, the error code, and the message of the first rejected findings."""
        shown = "; ".join(f"{subnet_id}: {code}, {message}" for subnet_id, code, message in rejected[:5])
        super().__init__(f"{len(rejected)} findings were rejected, the first: {shown}")


class StepError(ExpressPathError):
    """A step of a runbook cannot go on."""

    def __init__(self, resource: str, evidence: str, fix: str) -> None:
        """Keep the resource, what was found, and what to do."""
        self.resource, self.evidence, self.fix = resource, evidence, fix
        super().__init__(f"{evidence}; {fix}" if fix else evidence)

    def fields(self) -> dict[str, Any]:
        """Return the error as data."""
        return {**super().fields(), "resource": self.resource, "evidence": self.evidence, "fix": self.fix}


class BlockedError(StepError):
    """A heal is blocked."""

    def __init__(self, plan: Mapping[str, Any], text: str) -> None:
        """Keep the fields of the plan, as the plan function answers them, and its text."""
        self.plan = plan
        super().__init__(plan["subnetId"], plan["verdict"]["annotation"], "")
        self.args = (text,)

    def fields(self) -> dict[str, Any]:
        """Return the error as data, with the blockers and warnings, and the patches to apply by hand."""
        return {**super().fields(), **{name: self.plan[name] for name in ("blockers", "warnings", "patches")}}


class TableChangedError(StepError):
    """While a run healed a subnet, another route table was associated with the subnet."""

    def __init__(self, subnet_id: str, claimed: str, governing: str) -> None:
        """Name the subnet, the route table that the run claimed, and the one that governs the subnet now."""
        evidence = f"the route table of {subnet_id} changed from {claimed} to {governing or 'none'}"
        super().__init__(subnet_id, evidence, "start the heal again")


class ApprovedPlanError(StepError):
    """The plan changed after a heal used its approval, so nobody approved what the heal would do now."""

    def __init__(self, subnet_id: str, route_table_id: str) -> None:
        """Name the subnet and its route table."""
        evidence = (
            f"APPROVAL_REQUIRED: the plan for {subnet_id} changed after it was approved: another endpoint, another policy, "
            f"or other subnets in {route_table_id}"
        )
        super().__init__(route_table_id, evidence, "start the approval runbook again")


class ElectionError(StepError):
    """No run could be elected to create the endpoint of a VPC."""

    def __init__(self, vpc_id: str) -> None:
        """Name the VPC."""
        evidence = f"the ledger names no run that creates the endpoint of {vpc_id}"
        super().__init__(vpc_id, evidence, "see why the step elect failed, and start the heal again")


class EndpointNotReadyError(StepError):
    """The endpoint that a route table is to be associated with is not available."""

    def __init__(self, subnet_id: str, found: str) -> None:
        """Name the subnet, and what was found instead of an available endpoint."""
        super().__init__(subnet_id, f"no endpoint is available for {subnet_id}: {found}", "start the heal again")


class UndoError(StepError):
    """A run cannot be undone; nothing was changed."""

    prefix = ""

    def __init__(self, run_id: str, found: str, remedy: str) -> None:
        """Keep the run's id, what was found and what to do."""
        self.run_id, self.found = run_id, found
        super().__init__(run_id, f"{self.prefix}run {run_id} cannot be undone: {found}", remedy)


class UndoBlockedError(UndoError):
    """A run must not be undone: its change is not confirmed, or somebody else owns what it changed."""

    prefix = "BLOCKED: "


class ClaimHeldError(StepError):
    """Another run has claimed a route table and has not ended."""

    def __init__(self, route_table_id: str, owner: str) -> None:
        """Name the route table and the run that has claimed it."""
        evidence = f"timed out: run {owner} is still changing {route_table_id}"
        super().__init__(route_table_id, evidence, "start again when it has ended")


class ClaimLostError(StepError):
    """A run's claim on a route table expired or another run took it, so the run must change nothing more."""

    def __init__(self, route_table_id: str, run_id: str, owner: str) -> None:
        """Name the route table, the run that must stop, and the run that claimed the table last, empty for none."""
        evidence = (
            f"run {run_id} no longer has the claim on {route_table_id}, which run {owner or '(none)'} claimed last"
        )
        super().__init__(route_table_id, evidence, "start again")


class NotDisassociatedError(StepError):
    """An undo removed a route table's association with an endpoint, and EC2 still shows it."""

    def __init__(self, route_table_id: str, endpoint_id: str) -> None:
        """Name the route table and the endpoint."""
        evidence = (
            f"{route_table_id} still uses {endpoint_id}: the step disassociate failed, EC2 is slow to show the change, "
            "or somebody associated it again"
        )
        super().__init__(route_table_id, evidence, "start the undo again")


class NotDeletedError(StepError):
    """An undo could not delete the endpoint that a heal created; no route table uses it anymore."""

    def __init__(self, endpoint_id: str) -> None:
        """Name the endpoint."""
        evidence = f"{endpoint_id} is not deleted: EC2 still describes it as usable; no route table uses it"
        super().__init__(endpoint_id, evidence, "start the undo again when it can be deleted")


class NotAssociatedError(StepError):
    """A heal associated a route table with an endpoint, and EC2 does not show it."""

    def __init__(self, route_table_id: str, endpoint_id: str) -> None:
        """Name the route table and the endpoint."""
        evidence = (
            f"the call that associates {route_table_id} with {endpoint_id} succeeded, and EC2 does not show the "
            "association: EC2 is slow to show it, or somebody removed it or the endpoint"
        )
        super().__init__(route_table_id, evidence, "start the heal again")


class NotCuredError(StepError):
    """After a heal, the subnet is still not COMPLIANT."""

    def __init__(self, subnet_id: str, annotation: str) -> None:
        """Name the subnet and the verdict's annotation."""
        super().__init__(subnet_id, f"{subnet_id} is not healed: {annotation}", "")
