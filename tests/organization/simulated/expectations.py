"""What must be true at the end: everything that was derived from the verdicts equals a fresh scan."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import Remedies
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from sandbox.config_service import results_of
from sandbox.security_hub import findings_of
from tests.organization.simulated.consumer import Consumer
from tests.organization.simulated.place import Place
from tests.support.rule import RULE

SEVERITIES = {"NAT_BEYOND_TRANSIT_GATEWAY": "HIGH"}
"""The severities of docs/integrations.md that are not MEDIUM. Everything that fails here fails by a NAT."""
OURS = "express-path/"
NOTHING = "NOT_APPLICABLE"
UNRESOLVED = ("UNRESOLVED_EGRESS", "DROPPED")


@dataclass(frozen=True)
class Scan:
    """A fresh scan of an account and Region: its network, the verdicts by subnet, and the remedies."""

    snapshot: Snapshot
    verdicts: Mapping[str, Verdict]
    remedies: Remedies

    @classmethod
    def of(cls, place: Place) -> "Scan":
        """Read the network and decide anew, without faults. Nothing is remembered from earlier reads."""
        snapshot = SnapshotReader(place.aws).read(place.account_id, None, RuleParameters())
        evaluator = Evaluator(Tracer(snapshot), RuleParameters())
        verdicts = {subnet.id: evaluator.verdict(subnet.id) for subnet in snapshot.own_subnets}
        return cls(snapshot, verdicts, Remedies([evaluator]))

    def failing(self) -> dict[str, Verdict]:
        """Return the verdicts that are NON_COMPLIANT, by subnet."""
        return {name: verdict for name, verdict in self.verdicts.items() if verdict.compliance == "NON_COMPLIANT"}


def check_results(place: Place, scan: Scan) -> None:
    """Check that the stored results in AWS Config are what the scan says. NOT_APPLICABLE may be missing, or be left."""
    results = results_of(*place.key).of_rule(RULE.name)
    found = {row.resource[1]: (row.compliance, row.annotation) for row in results}
    wanted = {name: (str(verdict.compliance), verdict.annotation) for name, verdict in scan.verdicts.items()}
    both = found.keys() & wanted.keys()
    differing = [(name, said) for name, said in found.items() ^ wanted.items() if name in both or said[0] != NOTHING]
    assert differing == []


def differing_reasons(place: Place, scan: Scan, consumer: Consumer) -> set[str]:
    """Return the subnets whose compliance or reason a consumer does not know, in the time between two sweeps.

    Changes from one reason of NOT_APPLICABLE to another are published only if AWS Config still has the earlier result.
    """
    known = consumer.verdicts(place.key).items()
    found = {(name, row["compliance"], row["reason"]) for name, row in known}
    wanted = {(name, verdict.compliance, verdict.reason) for name, verdict in scan.verdicts.items()}
    return {name for name, compliance, _ in found ^ wanted if compliance != NOTHING}


def check_consumer(place: Place, scan: Scan, consumer: Consumer) -> None:
    """Check that a consumer knows everything that the scan says, and no subnet that does not exist."""
    assert consumer.verdicts(place.key) == {
        subnet_id: _published(verdict, scan) for subnet_id, verdict in scan.verdicts.items()
    }


def check_gauges(place: Place, scan: Scan) -> None:
    """Check that the gauges of the last sweep are the numbers of the scan."""
    wanted = {
        "Unhealthy": 1,  # no CloudFormation stack deployed the simulated functions, which each sweep finds
        "NonCompliant": len(scan.failing()),
        "Unresolved": sum(verdict.reason in UNRESOLVED for verdict in scan.verdicts.values()),
    }
    assert {name: place.gauges.get(name, 0) for name in wanted} == wanted


def check_findings(place: Place, scan: Scan) -> None:
    """Check that each subnet that fails has a finding that says so, and no other one asks for anything or is there twice."""
    product = f"product/{place.account_id}/default"
    findings = [finding for finding in findings_of(*place.key).all() if finding["ProductArn"].endswith(product)]
    by_subnet = {finding["Resources"][0]["Id"].rpartition("/")[2]: finding for finding in findings}
    assert len(by_subnet) == len(findings)
    found = {subnet_id: _said(finding) for subnet_id, finding in by_subnet.items() if not _is_done(finding)}
    assert found == {
        subnet_id: {
            "status": "FAILED",
            "state": "ACTIVE",
            "annotation": verdict.annotation,
            "severity": SEVERITIES.get(verdict.reason, "MEDIUM"),
            "reason": str(verdict.reason),
            "routeTableId": verdict.route_table_id or "unknown",
        }
        for subnet_id, verdict in scan.failing().items()
    }


def _is_done(finding: Mapping[str, Any]) -> bool:
    return (finding["Compliance"]["Status"], finding["RecordState"]) == ("PASSED", "ARCHIVED")


def _said(finding: Mapping[str, Any]) -> dict[str, str]:
    """Return what an imported finding says."""
    return {
        "status": finding["Compliance"]["Status"],
        "state": finding["RecordState"],
        "annotation": finding["Description"],
        "severity": finding["Severity"]["Label"],
        **{name: finding["ProductFields"][OURS + name] for name in ("reason", "routeTableId")},
    }


def _published(verdict: Verdict, scan: Scan) -> dict[str, Any]:
    """Return a verdict as a snapshot shows it."""
    remedy = scan.remedies.of(verdict)
    return {
        "vpcId": verdict.vpc_id,
        "subnetId": verdict.subnet_id,
        "availabilityZoneId": verdict.availability_zone_id,
        "routeTableId": verdict.route_table_id,
        "compliance": verdict.compliance,
        "reason": verdict.reason,
        "annotation": verdict.annotation,
        "path": [hop._asdict() for hop in verdict.path],
        "remedy": remedy and {"text": remedy.advice, "command": remedy.command, "url": remedy.url},
        "tags": scan.snapshot.tags_of(verdict.subnet_id, verdict.route_table_id, verdict.vpc_id).merged(),
    }
