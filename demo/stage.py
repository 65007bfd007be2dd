"""The sandbox of the demonstration: it delivers AWS Config's events to the rule and checks the verdicts."""

from collections.abc import Callable, Mapping, Sequence

from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.items.kinds import DIRECTORY_BUCKET, NAT_GATEWAY, ROUTE_TABLE, SUBNET, VPC_ENDPOINT
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.server import Sandbox
from demo.function import EVALUATE_FUNCTION, Invoke
from demo.output import Narrator
from demo.situations import Situation
from demo.verdicts import Row, rows

RULE = RuleDefinition(
    "s3express-no-nat-path", EVALUATE_FUNCTION, (ROUTE_TABLE, SUBNET, VPC_ENDPOINT, NAT_GATEWAY, DIRECTORY_BUCKET)
)
"""The rule, with the scope that the template gives it."""

Expected = Mapping[str, tuple[str, str]]
"""Compliance and reason by the subnet's name."""


class Stage:
    """The sandbox with the rule. `fine` is True as long as everything was as expected."""

    def __init__(self, narrator: Narrator, sandbox: Sandbox, evaluate: Invoke) -> None:
        """Deploy the rule with its function; nothing is evaluated yet."""
        self.narrator = narrator
        self.sandbox = sandbox
        self.fine = True
        self._evaluate = evaluate
        self._advance: Callable[[], None] = lambda: None
        self._loop = ConfigLoop(sandbox, self._invoke_and_advance, rule=RULE)

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
        found = [row for situation in situations for row in rows(self._loop, situation)]
        self.narrator.table(found, was)
        for row in found:
            is_fine = (row.compliance, row.reason) == expected[row.subnet]
            self.must(is_fine, f"{row.subnet} must be {' '.join(expected[row.subnet])}")
        return found

    def _invoke_and_advance(self, event: object) -> object:
        answer = self._evaluate(event)
        self._advance()
        return answer
