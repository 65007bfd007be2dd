"""Reading the settings of heals from text, as the function's environment gives them."""

import json
from collections.abc import Mapping

from express_path.domain.healing import FULL_ACCESS, MAY_WARN, Blocker, HealSettings
from express_path.errors import SettingError

LONGEST_POLICY = 20480
"""The longest endpoint policy, in characters
(https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html)."""


def parse_settings(values: Mapping[str, str], policy: str | None = None) -> HealSettings:
    """Read RULE_NAME, OWNER_TAGS, ADOPT_IAC_OWNED, WARN_ONLY, GATEWAY_ENDPOINT_QUOTA and ROUTE_QUOTA.

    What is absent has its default. policy is the endpoint's policy, None for full access. Raises SettingError.
    """
    defaults = HealSettings()
    return HealSettings(
        rule_name=values.get("RULE_NAME") or defaults.rule_name,
        owner_tags=tuple(_words(values.get("OWNER_TAGS", ""))),
        adopt_iac_owned=_boolean("ADOPT_IAC_OWNED", values.get("ADOPT_IAC_OWNED") or "false"),
        warn_only=frozenset(_blocker(each) for each in _words(values.get("WARN_ONLY", ""))),
        gateway_endpoint_quota=_number(values, "GATEWAY_ENDPOINT_QUOTA", defaults.gateway_endpoint_quota),
        route_quota=_number(values, "ROUTE_QUOTA", defaults.route_quota),
        policy=FULL_ACCESS if policy is None else _policy(policy),
    )


def _words(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _boolean(name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise SettingError(name, value, "true or false")
    return value == "true"


def _blocker(value: str) -> Blocker:
    for each in MAY_WARN:
        if value == each:
            return each
    raise SettingError("WARN_ONLY", value, "any of " + ", ".join(sorted(MAY_WARN)))


def _number(values: Mapping[str, str], name: str, default: int) -> int:
    value = values.get(name) or str(default)
    if not value.isdecimal():
        raise SettingError(name, value, "a whole number")
    return int(value)


def _policy(text: str) -> str:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise SettingError("EndpointPolicyParameter", text[:80], "a policy document in JSON") from error
    if not isinstance(document, dict) or "Statement" not in document or len(text) > LONGEST_POLICY:
        raise SettingError(
            "EndpointPolicyParameter", text[:80], f"a policy with Statement, of at most {LONGEST_POLICY} characters"
        )
    return text
