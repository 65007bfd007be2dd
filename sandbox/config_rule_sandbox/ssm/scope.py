"""What a place in a runbook may refer to, and its type; types are static in runbooks.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from config_rule_sandbox.ssm.actions import ACTIONS
from config_rule_sandbox.ssm.document import Document, Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError
from config_rule_sandbox.ssm.order import leading_to
from config_rule_sandbox.ssm.references import EXECUTION_ID


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that are known at one place.

    `excluded` are the steps that cannot have run before it. `inner` are the steps of the same loop that have run before
    it; AWS does not say that outputs of such steps can be read outside of the loop.
    """

    document: Document
    excluded: AbstractSet[str] = frozenset()
    inner: Sequence[Step] = ()

    def before(self, step: str) -> "Scope":
        """Return the scope of a step's inputs: of the other steps, only those that lead to it."""
        return Scope(self.document, self.document.steps.keys() - leading_to(self.document, step))

    def inside(self, steps: Sequence[Step]) -> "Scope":
        """Return the scope in a loop after some of its steps."""
        return replace(self, inner=steps)

    def type_of(self, where: str, reference: str) -> str:
        """Return the type of what is referred to. FaultyDocumentError if there is no such thing at this place."""
        if reference == EXECUTION_ID:
            return "String"
        if reference in self.document.parameters:
            return self.document.parameters[reference].type
        step_name, _, output = reference.partition(".")
        inner = {step.name: step for step in self.inner}
        step = inner.get(step_name) or self.document.steps.get(step_name)
        if step is None or not output:
            raise FaultyDocumentError(where, f"{{{{ {reference} }}}} is neither a parameter nor a step's output")
        if step_name in self.excluded:
            raise FaultyDocumentError(where, f"{{{{ {reference} }}}}: the step {step_name} does not come before")
        types = output_types(step)
        if output not in types:
            raise FaultyDocumentError(where, f"the step {step_name} has no output {output}, only {sorted(types)}")
        return types[output]


def output_types(step: Step) -> dict[str, str]:
    """Return the types of a step's outputs by their names: those of its action, then its own."""
    return {**ACTIONS[step.action].predefined_outputs, **{output.name: output.type for output in step.outputs}}
