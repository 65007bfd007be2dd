"""What the demonstration shows about each subnet: AWS Config's verdict, and the path that the function returned."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from config_rule_sandbox.config.invocation import Delivery
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.dynamic import Client
from demo.situations import Situation

SUBNET = "AWS::EC2::Subnet"
KINDS = {"NAT_GATEWAY": "NAT gateway"}
"""Kinds of hops that are not written like their enum in lower case."""


@dataclass(frozen=True, slots=True)
class Row:
    """One subnet: where its S3 Express traffic goes and which route decides that, with the situation's names.

    `compliance` is Config's answer, `reason`, `path` and `route` come from the function. `path` has a line for each
    hop and the last one's name.
    """

    subnet: str
    subnet_id: str
    compliance: str
    reason: str
    path: str
    route: str


def rows(loop: ConfigLoop, config: Client, situation: Situation) -> list[Row]:
    """Return a row for each subnet of the situation, in its order. LookupError if Config has no verdict on one."""
    compliance = _compliance(loop, config)
    returned = _returned(loop.deliveries)
    missing = [name for name, subnet_id in situation.subnets.items() if subnet_id not in compliance]
    if missing:
        raise LookupError(f"AWS Config has no verdict on {', '.join(missing)}")
    return [
        _row(situation, name, compliance[subnet_id], returned[subnet_id])
        for name, subnet_id in situation.subnets.items()
    ]


def _compliance(loop: ConfigLoop, config: Client) -> dict[str, str]:
    """Return Config's verdict on each subnet, read through Config's API."""
    pages = config.get_paginator("get_compliance_details_by_config_rule").paginate(ConfigRuleName=loop.rule.name)
    return {
        result["EvaluationResultIdentifier"]["EvaluationResultQualifier"]["ResourceId"]: result["ComplianceType"]
        for page in pages
        for result in page["EvaluationResults"]
    }


def _returned(deliveries: Iterable[Delivery]) -> dict[str, Mapping[str, Any]]:
    """Return what the function said last about each subnet."""
    return {
        evaluation["subnetId"]: evaluation
        for delivery in deliveries
        if delivery.answer
        for evaluation in delivery.answer["evaluations"]
    }


def _row(situation: Situation, name: str, compliance: str, evaluation: Mapping[str, Any]) -> Row:
    hops = evaluation["path"]
    table = _name(situation, evaluation["routeTableId"])
    path = "\n".join(_hop(situation, hop) for hop in hops) or "none"
    route = f"{hops[0]['destination']} -> {_name(situation, hops[0]['id'])}" if hops else "none"
    return Row(name, situation[name], compliance, evaluation["reason"], path, f"{route}\nin table {table}")


def _hop(situation: Situation, hop: Mapping[str, Any]) -> str:
    kind = KINDS.get(hop["kind"], hop["kind"].replace("_", " ").lower())
    return f"{kind}\n{_name(situation, hop['id'])}"


def _name(situation: Situation, resource_id: str) -> str:
    name = situation.name_of(resource_id)
    return name if name == resource_id else name.removeprefix("rtb-").removeprefix("vpce-")
