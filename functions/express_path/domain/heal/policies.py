"""What the policies that a heal can read say about requests through the endpoint."""

import json
from collections.abc import Iterable, Iterator

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.heal.preflight import Policy
from express_path.domain.heal.records import Blocker, Concern, HealSettings
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.policies.change import KnownContext, denials, restrictions
from express_path.domain.policies.documents import parse_policy
from express_path.errors import PolicyError, RecordError


def policy_concerns(policies: Iterable[Policy], endpoint: VpcEndpoint, settings: HealSettings) -> Iterator[Concern]:
    """Yield a concern for each policy that would deny requests which are possible on the NAT path.

    policies are those of S3 Express endpoints of the VPC, and those of the account's directory buckets and access points. A
    policy that cannot be read or judged is a concern, too.
    """
    known = KnownContext(endpoint.vpc_id, "" if endpoint.id == NEW_ENDPOINT else endpoint.id)
    for policy in policies:
        try:
            if policy.endpoint_id is None:
                yield from _of_resource(policy, known)
            elif policy.endpoint_id == endpoint.id:
                yield from _of_endpoint(policy, settings, known)
        except (PolicyError, RecordError) as error:
            yield _unknown(policy.holder, str(error))


def _of_endpoint(policy: Policy, settings: HealSettings, known: KnownContext) -> Iterator[Concern]:
    """Yield a concern if an endpoint's policy restricts requests, unless it is the policy that the stack's settings name."""
    document = parse_policy(policy.holder, policy.document)
    if json.loads(policy.document) != json.loads(settings.policy) and restrictions(document, known):
        yield Concern(
            Blocker.POLICY_WOULD_DENY,
            f"the policy of {policy.holder} does not allow every request to S3 Express, and no such policy applies now",
            "allow all requests in the endpoint's policy, or make its policy the setting of the stack "
            "(stack parameter EndpointPolicyParameter)",
        )


def _of_resource(policy: Policy, known: KnownContext) -> Iterator[Concern]:
    if policy.fault:
        yield _unknown(policy.holder, policy.fault)
        return
    for denial in denials(parse_policy(policy.holder, policy.document), known):
        yield Concern(
            Blocker.POLICY_WOULD_DENY,
            f"statement {denial.statement.name} of the policy of {policy.holder} would deny requests through the endpoint "
            f"that are possible now: {denial.condition_text}",
            f"to allow both paths, {denial.fix}",
        )


def _unknown(holder: str, fault: str) -> Concern:
    return Concern(
        Blocker.POLICY_WOULD_DENY,
        f"whether the policy of {holder} would deny requests through the endpoint is unknown: {fault}",
        "allow the plan function's role to read it (stack output PlanRoleArn), or check it yourself and make "
        "POLICY_WOULD_DENY a warning (stack parameter WarnOnly)",
    )
