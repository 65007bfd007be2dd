"""The sandbox of the demonstration: it delivers AWS Config's events to the rule and checks the verdicts."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.server import Sandbox
from demo.deployment import Deployed
from demo.function import Invoke
from demo.output import Narrator
from demo.situations import Situation
from demo.verdicts import Row, rows

Expected = Mapping[str, tuple[str, str]]
"""Compliance and reason by the subnet's name."""


class Stage:
    """The sandbox with the rule. `fine` is True as long as everything was as expected."""

    def __init__(self, narrator: Narrator, sandbox: Sandbox, evaluate: Invoke, stack: Deployed) -> None:
        """Let the stack's rule invoke its function in this way; nothing is evaluated yet."""
        self.narrator = narrator
        self.sandbox = sandbox
        self.client = partial(sandbox.client, credentials=stack.operator)
        self.fine = True
        self._evaluate = evaluate
        self._advance: Callable[[], None] = lambda: None
        self._loop = ConfigLoop(sandbox, self._invoke_and_advance, rule=stack.rule, parameters=stack.parameters)

    def must(self, holds: object, otherwise: str) -> bool:
        """Return whether something holds. If not, print what is wrong and go on; the demonstration fails in the end."""
        if not holds:
            self.fine = False
            self.narrator.warn(otherwise)
        return bool(holds)

    def verdicts(self, title: str, expected: Expected, *situations: Situation, was: Sequence[Row] = ()) -> list[Row]:
        """Let AWS Config notice what changed and deliver its events, then show the verdicts on some situations.

        `{}` in the title becomes the number of events; `was` are earlier verdicts. LookupError if one is missing.
        """
        self._loop.notice()
        count = len(self._loop.queued)
        with self.narrator.counted_step(title.format(count), count) as self._advance:
            deliveries = self._loop.deliver()
        for delivery in deliveries:
            self.must(not delivery.error, f"an invocation failed: {delivery.error}")
        found = [row for situation in situations for row in rows(self._loop, self.client("config"), situation)]
        self.narrator.table(found, was)
        for row in found:
            is_fine = (row.compliance, row.reason) == expected[row.subnet]
            self.must(is_fine, f"{row.subnet} must be {' '.join(expected[row.subnet])}")
        return found

    def _invoke_and_advance(self, event: object) -> object:
        answer = self._evaluate(event)
        self._advance()
        return answer
