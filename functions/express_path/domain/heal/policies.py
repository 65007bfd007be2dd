"""What the policies that a heal can read say about requests through the endpoint."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.heal.preflight import Policy
from express_path.domain.heal.records import FULL_ACCESS, Blocker, Concern, HealSettings
from express_path.domain.network.resources import VpcEndpoint, partition
from express_path.domain.policies.denials import allows_no_session, denials, restrictions
from express_path.domain.policies.documents import PolicyDocument, Statement, parse_policy
from express_path.domain.policies.effort import MOST_BYTES, MOST_BYTES_OF_PLAN, Effort
from express_path.domain.policies.keys import KnownContext
from express_path.errors import PolicyError, RecordError

LONGEST_FIX = 1_000
"""The longest suggested statement, in characters. A plan does not repeat longer ones."""
_LINK = re.compile(r"\S*(://|www\.)\S*", re.IGNORECASE)


def policy_concerns(
    policies: Iterable[Policy], endpoint: VpcEndpoint, settings: HealSettings, now: datetime | None = None
) -> Iterator[Concern]:
    """Yield a concern for each policy that would deny requests which are possible on the NAT path.

    policies are those of S3 Express endpoints of the VPC, and those of the account's directory buckets and access points; if
    the heal creates the endpoint, the policy that the settings name counts, too. now is the time of the plan. A
    policy that cannot be read or judged is a concern, too. Policies share the effort of the plan, so that each is judged
    whatever the others are; those that the settings except come last.
    """
    region = endpoint.service_name.split(".")[-2]
    endpoint_id = "" if endpoint.id == NEW_ENDPOINT else endpoint.id
    known = KnownContext(endpoint.vpc_id, endpoint_id, region=region, partition=partition(region))
    chosen = [Policy(_CHOSEN, settings.policy, endpoint_id=endpoint.id)] if endpoint.id == NEW_ENDPOINT else []
    judged = sorted(
        [*chosen, *(policy for policy in policies if policy.endpoint_id in (None, endpoint.id))],
        key=lambda policy: policy.name in settings.excepted,
    )
    left = MOST_BYTES_OF_PLAN
    for number, policy in enumerate(judged):
        share = min(MOST_BYTES, left // (len(judged) - number))
        effort = Effort(policy.holder, share)
        try:
            concerns = list(_concerns(policy, settings, known, effort, now))
        except (PolicyError, RecordError) as error:
            concerns = [_unknown(policy.holder, str(error))]
        left -= share - max(effort.left, 0)
        is_excepted = policy.name in settings.excepted
        yield from (replace(concern, only_warns=concern.only_warns or is_excepted) for concern in concerns)


def _concerns(
    policy: Policy, settings: HealSettings, known: KnownContext, effort: Effort, now: datetime | None
) -> Iterator[Concern]:
    if policy.fault:
        yield _unknown(policy.holder, policy.fault)
        return
    document = parse_policy(policy.holder, policy.document)
    if policy.endpoint_id is None:
        for denial in denials(document, known, effort):
            fix = denial.fix if denial.fix == plain(denial.fix, LONGEST_FIX) else f"see {_SHOW}"
            yield Concern(
                Blocker.POLICY_WOULD_DENY,
                policy.holder,
                f"statement {quoted(str(denial.statement.name))} of the policy of {policy.holder} would deny "
                f"requests through the endpoint that are possible now: {quoted(denial.condition_text)}",
                f"to allow both paths, {fix}",
            )
    elif json.loads(policy.document) == json.loads(settings.policy):
        yield from _of_chosen(policy, document, known, effort, now)
    elif restrictions(document, known, effort):
        yield Concern(
            Blocker.POLICY_WOULD_DENY,
            policy.holder,
            f"the policy of {policy.holder} does not allow every request to S3 Express, and no such policy applies now",
            "allow all requests in the endpoint's policy, or make its policy the setting of the stack "
            "(stack parameter EndpointPolicyParameter)",
        )


_CHOSEN = "the stack's endpoint policy"
"""The holder of the policy in the SSM parameter that the stack's settings name."""


def _of_chosen(
    policy: Policy, document: PolicyDocument, known: KnownContext, effort: Effort, now: datetime | None
) -> Iterator[Concern]:
    """Yield what the policy that the stack's settings name restricts. It blocks only if no object can be used with it now."""
    if json.loads(policy.document) == json.loads(FULL_ACCESS):
        return
    change_it = "change the policy in the SSM parameter (stack parameter EndpointPolicyParameter)"
    if allows_no_session(document, replace(known, now=now), effort):
        evidence = f"{_CHOSEN} allows no request that reads or writes objects of S3 Express"
        yield Concern(Blocker.POLICY_WOULD_DENY, policy.holder, evidence, change_it)
        return
    for restriction in restrictions(document, known, effort):
        yield Concern(
            Blocker.POLICY_WOULD_DENY,
            policy.holder,
            f"statement {quoted(str(restriction.statement.name))} of {_CHOSEN} restricts requests through the endpoint: "
            f"{quoted(_in_one_line(restriction.statement))}",
            f"check that this is intended; otherwise, {change_it}",
            only_warns=True,
        )


def _in_one_line(statement: Statement) -> str:
    """Return what a statement says, such as: Allow; Principal *; Action s3express:*; Resource *."""
    elements = (("Principal", statement.principal), ("Action", statement.action), ("Resource", statement.resource))
    parts = ["Deny" if statement.is_deny else "Allow"]
    for name, element in elements:
        parts.append(f"{'Not' if element.is_negated else ''}{name} {', '.join(element.patterns)}")
    return "; ".join([*parts, *map(str, statement.conditions)])


_SHOW = "express-path policies --account"


def _unknown(holder: str, fault: str) -> Concern:
    return Concern(
        Blocker.POLICY_WOULD_DENY,
        holder,
        f"whether the policy of {holder} would deny requests through the endpoint could not be decided: {plain(fault)}",
        "allow the plan function's role to read it (stack output PlanRoleArn), or check it yourself and make "
        "POLICY_WOULD_DENY a warning, or POLICY_WOULD_DENY:NAME for one bucket or access point (stack parameter WarnOnly)",
    )


def quoted(text: str) -> str:
    """Return what somebody wrote into a policy, for a person to read: in quotes, cut, and without links."""
    return f"'{plain(text).replace(chr(39), chr(34))}'"


def plain(text: str, longest: int = 200) -> str:
    """Return a text cut to a length in characters, without links, and with ? for what is no printable ASCII character."""
    shown = "".join(
        character if character.isascii() and character.isprintable() else "?" for character in text[: longest + 1]
    )
    shown = _LINK.sub("(link)", shown)
    return shown if len(shown) <= longest else shown[: longest - 3] + "..."
