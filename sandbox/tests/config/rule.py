"""The rule that the tests of AWS Config deploy."""

from sandbox.config_items.kinds import NAT_GATEWAY, ROUTE_TABLE, SUBNET, VPC_ENDPOINT
from sandbox.config_service.deployment import RuleDefinition

RULE = RuleDefinition("network-rule", "network-rule-function", (ROUTE_TABLE, SUBNET, VPC_ENDPOINT, NAT_GATEWAY))
"""VPCs are recorded, but not in its scope."""
