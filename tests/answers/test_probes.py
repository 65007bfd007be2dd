"""Each answer of AWS is an outcome of its probe: the acceptance run, in a sandbox that gives the answer, reports it."""

import json
from contextlib import suppress

import pytest

from acceptance import plan
from acceptance.facts import RECORDED, Json, read
from acceptance.probes import test_without_stack
from acceptance.probes.probe import PROBES
from acceptance.run import LIMIT, Run
from acceptance.state import state_of
from config_rule_sandbox.answers import others
from config_rule_sandbox.local_aws import in_a_process
from tests.docs.generated import GROUPS, switches_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
assert test_without_stack.__doc__  # the probes are those of the modules that are imported

RUN = "answers"
EXPRESS, IPV6 = "com.amazonaws.REGION.s3express", "com.amazonaws.REGION.ipv6.s3express"
ALLOWED, DENIED = "DryRunOperation", "UnauthorizedOperation"


def listed(managed: list[str], plain: list[str]) -> dict[str, list[str]]:
    """Return which lists of S3 Express each call names."""
    return {"describe_managed_prefix_lists": managed, "describe_prefix_lists": plain}


REPORTED: dict[tuple[str, str], tuple[str, Json]] = {
    ("first_sweep", "at creation"): ("first-scheduled-message", [True, False]),
    ("first_sweep", "after a period"): ("first-scheduled-message", [False, False]),
    ("updated_rule", "nothing"): ("updated-rule", False),
    ("repeated_item", "absent"): ("first-evaluation", "absent"),
    ("repeated_item", "unchanged"): ("first-evaluation", "UPDATE"),
    ("repeated_item", "created"): ("first-evaluation", "CREATE"),
    ("newer_types", "refused"): ("items-of-the-other-triggers", "no answer: NotMadeError"),
    ("newer_types", "not recorded"): ("items-of-the-other-triggers", []),
    ("newer_items", "as in EC2"): ("items-of-the-other-triggers", ["ID", "prefixListId"]),
    ("newer_items", "empty"): ("items-of-the-other-triggers", ["ID"]),
    ("newer_items", "named by ARN"): ("items-of-the-other-triggers", ["ARN"]),
    ("older_result", "is replaced"): ("older-result", ["COMPLIANT"]),
    ("stored_results", "later"): ("stored-results-lag", True),
    ("raised_error", "is output"): ("raised-error", "Success"),
    ("later_steps", "absent"): ("later-steps", "None"),
    ("item_state", "object"): ("state-in-an-aggregator", {"value": "available"}),
    ("aggregator_items", "later"): ("items-in-an-aggregator", "no answer: TimeoutError"),
    ("loop_failure", "is refused"): ("jump-out-of-a-loop", "refused"),
    ("loop_failure", "goes to next step"): ("jump-out-of-a-loop", ["last", "skipped"]),
    ("loop_failure", "goes on"): ("jump-out-of-a-loop", ["last", "loop", "skipped", "working"]),
    ("loop_failure", "ends"): ("jump-out-of-a-loop", []),
    ("loop_steps", "cut"): ("failed-step-in-a-loop", ["DescribeAutomationStepExecutions"]),
    ("loop_steps", "unlisted"): ("failed-step-in-a-loop", []),
    ("missing_output", "empty"): ("output-without-a-value", [""]),
    ("missing_output", "absent"): ("output-without-a-value", None),
    ("step_inputs", "plain"): ("inputs-of-a-step", 'Say "no"\nor wait'),
    ("step_inputs", "json"): ("inputs-of-a-step", '"Say \\"no\\"\\nor wait"'),
    ("step_inputs", "unresolved"): ("inputs-of-a-step", "{{ Message }}"),
    ("unapproved_step", "ends"): ("rejected-and-expired-approval", ["Failed", "Pending", "TimedOut", "Pending"]),
    ("rejected_status", "waiting"): ("status-of-a-rejected-approval", ["Waiting"]),
    ("rejected_status", "absent"): ("status-of-a-rejected-approval", None),
    ("ipv6_list", "plain"): ("name-of-the-ipv6-list", listed([IPV6, EXPRESS], [IPV6, EXPRESS])),
    ("ipv6_list", "named differently"): ("name-of-the-ipv6-list", listed([EXPRESS, f"{EXPRESS}-ipv6"], [EXPRESS])),
    ("ipv6_list", "none"): ("name-of-the-ipv6-list", listed([EXPRESS], [EXPRESS])),
    ("regional_nat_table", "unassociated"): ("table-of-a-regional-nat-gateway", False),
    ("used_token", "new endpoint"): ("used-client-token", "a new endpoint"),
    ("used_token", "error"): ("used-client-token", "IdempotentParameterMismatch"),
    ("table_added_again", "error"): ("route-table-added-twice", "RouteAlreadyExists"),
    ("endpoint_keys", "no service"): ("keys-of-endpoint-calls", [DENIED] * 4),
    ("endpoint_keys", "no tags"): ("keys-of-endpoint-calls", [ALLOWED, DENIED, ALLOWED, ALLOWED]),
    ("attribute_keys", "none"): ("keys-of-endpoint-attributes", [ALLOWED, ALLOWED]),
    ("attribute_keys", "each"): ("keys-of-endpoint-attributes", [DENIED, DENIED]),
    ("denying_bus_policy", "nobody allowed"): ("event-bus-policy", "AccessDeniedException"),
}
"""The fact that shows each answer, and what it says then."""
ENFORCED = ("endpoint_keys", "attribute_keys", "denying_bus_policy")
"""The switches about permissions, which the probe's run needs, too."""


@pytest.mark.parametrize(("switch", "answer"), REPORTED)
def test_probe_reports_the_answer(monkeypatch: pytest.MonkeyPatch, switch: str, answer: str) -> None:
    """The fact is what the table says, and not what the sandbox answers by itself."""
    fact, expected = REPORTED[switch, answer]
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    policies = [json.dumps(plan.policies())] if switch in ENFORCED else []
    with in_a_process("demo.local_aws", *policies, f"{switch}={answer}") as environment:
        for name, value in {**environment, LIMIT: "20", "RUN": RUN}.items():
            monkeypatch.setenv(name, value)
        run = Run()
        with suppress(pytest.skip.Exception):
            PROBES[fact](run)
    found = run.state.facts[fact]["answer"]
    state_of(RUN).remove()
    state_of.cache_clear()
    if str(expected).startswith("no answer"):
        found = found[: len(expected)]
    assert found == expected
    assert found != read(RECORDED, "facts")[fact]["answer"]


def test_every_answer_is_reported_by_its_probe() -> None:
    """The table has each other answer of the switches of lines that only a probe shows."""
    lines = [line for lines in GROUPS.values() for line in lines if "probe" in line]
    probed = {switch for line in lines for switch in switches_of(line)}
    assert {(switch, answer) for switch, answer in others() if switch in probed} == set(REPORTED) | UNREPORTED


UNREPORTED = {
    ("table_deny", "passes own policies"),
    ("shown_block_mode", "later"),
    ("new_hub_findings", "none"),
    ("new_hub_findings", "named differently"),
}
"""The answers whose probes need the stack."""
