"""The server of the sweep benchmark, a process of its own: a sandbox with a seeded network and a deployed rule.

    python -m benchmarks.sweep_server VPCS

It prints one line of JSON with the environment that leads to it. Then it answers each line that it reads with one line:
`event` with an event of the schedule, `calls` with the number of calls since the last time.
"""

import json
import sys

from benchmarks.sweep_network import seed
from sandbox.config_items.notifications import rule_event, scheduled_notification
from sandbox.config_loop import ConfigLoop
from sandbox.server import Sandbox

NOTIFIED = "2100-01-01T00:00:00.000Z"


def serve(vpcs: int) -> None:
    """Serve until there are no more lines to read."""
    with Sandbox() as sandbox:
        seed(sandbox.account_id, sandbox.region, vpcs)
        loop = ConfigLoop(sandbox, invoke=dict)
        sandbox.calls.clear()
        _say(sandbox.environment())
        for line in sys.stdin:
            _say(_event(loop) if line.strip() == "event" else _calls(sandbox))


def _event(loop: ConfigLoop) -> dict[str, object]:
    token = loop.results.issue_token(loop.rule.name)
    return rule_event(loop.rule, scheduled_notification(loop.rule.account_id, NOTIFIED), token)


def _calls(sandbox: Sandbox) -> int:
    counted = len(sandbox.calls)
    sandbox.calls.clear()
    return counted


def _say(answer: object) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
