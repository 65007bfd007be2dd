"""The first deployment: in which order, how AWS Config invokes the rule, and how long until every subnet has a verdict."""

import json
import time

from acceptance.facts import Facts
from acceptance.network import Network
from acceptance.place import Place, pages
from acceptance.stack import Stack
from acceptance.story.acts import Acts


def test_deployment(stack: Stack, facts: Facts) -> None:
    """The stack is created in an order in which each resource finds what it needs."""
    start = time.monotonic()
    stack.deploy()
    created = [event for event in stack.events() if event["ResourceStatus"] == "CREATE_COMPLETE"]
    order = [event["LogicalResourceId"] for event in created]
    facts.keep("stack-events", created)
    before = order.index("ConfigPermission") < order.index("ConfigRule") < order.index("Remediation")
    facts.add(
        "deployment",
        "cloudformation",
        "Is the rule created after its permission, and before its remediation?",
        before,
        before,
        round(time.monotonic() - start, 1),
    )
    assert before


def test_first_verdicts(acts: Acts, network: Network, facts: Facts) -> None:
    """Every subnet of the run's VPC has the verdict of its path, and no other subnet has one that counts."""
    start = time.monotonic()
    for private in network.private:
        acts.wait_for(private.subnet, "NON_COMPLIANT", "NAT_GATEWAY")
    acts.wait_for(network.public, "COMPLIANT", "INTERNET_GATEWAY")
    others = {
        found
        for subnet, found in acts.verdicts().items()
        if subnet not in (network.public, *(one.subnet for one in network.private))
    }
    assert {compliance for compliance, _ in others} <= {"NOT_APPLICABLE"}
    facts.keep("first-verdicts", sorted(acts.verdicts().values()))
    facts.add(
        "first-verdicts",
        "config",
        "Do only the subnets of the run's VPC have verdicts?",
        sorted({found[0] for found in acts.verdicts().values()}),
        True,
        round(time.monotonic() - start, 1),
    )


def test_first_sweep(place: Place, stack: Stack, facts: Facts) -> None:
    """The function is invoked for a sweep soon after the deployment, and says how many things do not work: none."""
    start, group = time.monotonic(), stack.physical_id("EvaluateLogGroup")

    def look() -> list[dict[str, object]]:
        events = pages(place.client("logs"), "filter_log_events", "events", logGroupName=group)
        lines = [json.loads(event["message"]) for event in events if event["message"].startswith("{")]
        return [line for line in lines if line.get("message") == "swept" or "Unhealthy" in line]

    swept = place.until("a sweep in the log", look)
    facts.keep("first-sweep", swept[0])
    unhealthy = next((line["Unhealthy"] for line in swept if "Unhealthy" in line), None)
    facts.add(
        "first-sweep",
        "lambda",
        "What does the first sweep find that does not work?",
        unhealthy,
        True,
        round(time.monotonic() - start, 1),
    )
