"""What AWS does not document: switches, each with the answers that AWS may give. `Sandbox.answers` has them.

The first answer of a switch is the one that the sandbox gives unless a test wants another one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import get_type_hints


class RemediationTrigger(StrEnum):
    """What starts an automatic remediation, besides PutRemediationConfigurations.

    Documented is that PutRemediationConfigurations starts it for every noncompliant resource, and that it relies on
    results that are captured periodically:
    https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html
    """

    REPORTED_RESULT = "reported result"
    """Each NON_COMPLIANT result that a rule reports, also if it is the same as before."""
    STORED_RESULT = "stored result"
    """Each NON_COMPLIANT result that is stored when the results are captured, however old it is."""
    CHANGED_RESULT = "changed result"
    """A result that becomes NON_COMPLIANT."""
    CONFIGURATION_ONLY = "configuration only"
    """Nothing else."""


class RemediationOnDemand(StrEnum):
    """What StartRemediationExecution does with a resource that nothing keeps from being remediated.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html: it returns the resources
    that have failed to start, with one message. It does not say why resources may fail, besides those that are compliant.
    """

    STARTED = "started"
    FAILED_ITEM = "failed item"
    """It returns the resource in FailedItems."""
    REFUSED = "refused"
    """It refuses the whole request."""
    IGNORED = "ignored"
    """It accepts the resource, and starts nothing."""
    STARTED_TWICE = "started twice"


class BusyResource(StrEnum):
    """What StartRemediationExecution does if a resource is being remediated.

    https://docs.aws.amazon.com/config/latest/APIReference/API_StartRemediationExecution.html: an existing call for the
    resource must complete before the next one.
    """

    FAILED_ITEM = "failed item"
    REFUSED = "refused"
    """It refuses the whole request with InvalidParameterValueException."""


class RaisedError(StrEnum):
    """What becomes of a step aws:invokeLambdaFunction whose function raises an error.

    https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-lamb.html has the output FunctionError,
    and does not say whether the step fails.
    """

    FAILS_STEP = "fails step"
    IS_OUTPUT = "is output"
    """The step succeeds. Its output FunctionError is set, and Payload is the error."""


class LaterSteps(StrEnum):
    """How GetAutomationExecution and DescribeRemediationExecutionStatus show steps that have not begun."""

    PENDING = "pending"
    ABSENT = "absent"


@dataclass
class Answers:
    """The answer of each switch. The type of a field lists the answers, and its default is the sandbox's answer."""

    remediation_trigger: RemediationTrigger = RemediationTrigger.REPORTED_RESULT
    remediation_on_demand: RemediationOnDemand = RemediationOnDemand.STARTED
    busy_resource: BusyResource = BusyResource.FAILED_ITEM
    raised_error: RaisedError = RaisedError.FAILS_STEP
    later_steps: LaterSteps = LaterSteps.PENDING

    def set(self, switch: str, answer: str) -> None:
        """Give another answer of a switch, by the names that `others` yields. ValueError for an unknown name."""
        known = switches()
        if switch not in known:
            raise ValueError(f"{switch!r} is none of the switches {', '.join(known)}")
        setattr(self, switch, known[switch](answer))

    def reset(self) -> None:
        """Turn every switch back to the sandbox's own answer."""
        for switch, kind in switches().items():
            setattr(self, switch, next(iter(kind)))


def switches() -> dict[str, type[StrEnum]]:
    """Return the answers of each switch by its name: the members of an enum, the sandbox's own answer first."""
    return get_type_hints(Answers)


def others() -> Iterator[tuple[str, str]]:
    """Yield each switch with each answer that is not the sandbox's own."""
    for switch, kind in switches().items():
        yield from ((switch, str(answer)) for answer in list(kind)[1:])
