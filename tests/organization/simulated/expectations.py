"""What must be true at the end: everything that was derived from the verdicts equals a fresh scan."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.security_hub.findings import findings_of
from express_path.adapters.network_reader import SnapshotReader
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import Remedies
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from tests.organization.simulated.consumer import Consumer
from tests.organization.simulated.place import RULE_NAME, Place

SEVERITIES = {"NAT_BEYOND_TRANSIT_GATEWAY": "HIGH"}
"""The severities of docs/integrations.md that are not MEDIUM. Everything that fails here fails by a NAT."""
OURS = "express-path/"
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
        aws = place.runtime.aws(place.region)
        with place.runtime.acting_in(place.account_id):
            snapshot = SnapshotReader(aws).read(place.account_id, None, RuleParameters())
        evaluator = Evaluator(Tracer(snapshot), RuleParameters())
        verdicts = {subnet.id: evaluator.verdict(subnet.id) for subnet in snapshot.listed_subnets}
        return cls(snapshot, verdicts, Remedies([evaluator]))


def differing_results(place: Place, scan: Scan) -> Iterator[str]:
    """Yield the subnets whose stored result in AWS Config is not what the scan says. NOT_APPLICABLE may be missing."""
    results = {row.resource[1]: row for row in results_of(*place.key).of_rule(RULE_NAME)}
    for subnet_id in sorted(results.keys() | scan.verdicts.keys()):
        row, verdict = results.get(subnet_id), scan.verdicts.get(subnet_id)
        found = (row.compliance, row.annotation) if row else None
        if verdict is None:
            is_right = row is None or row.compliance == "NOT_APPLICABLE"
        else:
            is_right = found == (verdict.compliance, verdict.annotation) or (
                row is None and verdict.compliance == "NOT_APPLICABLE"
            )
        if not is_right:
            yield f"{subnet_id}: AWS Config has {found}, the scan {verdict and verdict.annotation}"


def differing_reasons(place: Place, scan: Scan, consumer: Consumer) -> Iterator[str]:
    """Yield the subnets whose compliance or reason a consumer does not know, in the time between two sweeps.

    Changes from one reason of NOT_APPLICABLE to another are published only if AWS Config still has the earlier result.
    """
    known = consumer.verdicts(place.key)
    for subnet_id in sorted(known.keys() | scan.verdicts.keys()):
        row, verdict = known.get(subnet_id), scan.verdicts.get(subnet_id)
        found = (str(row["compliance"]), str(row["reason"])) if row else ("NOT_APPLICABLE", "")
        wanted = (str(verdict.compliance), str(verdict.reason)) if verdict else ("NOT_APPLICABLE", "")
        if found != wanted and not found[0] == wanted[0] == "NOT_APPLICABLE":
            yield f"{subnet_id}: the consumer has {found}, the scan {wanted}"


def differing_verdicts(place: Place, scan: Scan, consumer: Consumer) -> Iterator[str]:
    """Yield the subnets of which a consumer does not know everything that the scan says, or that do not exist."""
    known = consumer.verdicts(place.key)
    for subnet_id in sorted(known.keys() | scan.verdicts.keys()):
        verdict, row = scan.verdicts.get(subnet_id), known.get(subnet_id)
        if row != (_published(verdict, scan) if verdict else None):
            yield f"{subnet_id}: the consumer has {row}, the scan {verdict}"


def differing_gauges(place: Place, scan: Scan) -> Iterator[str]:
    """Yield the gauges of the last sweep that are not the numbers of the scan."""
    wanted = {
        "NonCompliant": sum(verdict.compliance == "NON_COMPLIANT" for verdict in scan.verdicts.values()),
        "Unresolved": sum(verdict.reason in UNRESOLVED for verdict in scan.verdicts.values()),
    }
    for name, number in wanted.items():
        if place.gauges.get(name, 0) != number:
            yield f"{place.key}: gauge {name} is {place.gauges.get(name)}, the scan has {number}"


def differing_findings(place: Place, scan: Scan) -> Iterator[str]:
    """Yield what is wrong with the findings: missing, twice, outdated, or open for a subnet that does not fail."""
    product = f"product/{place.account_id}/default"
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in findings_of(*place.key).all():
        if finding["ProductArn"].endswith(product):
            found.setdefault(finding["Resources"][0]["Id"].rpartition("/")[2], []).append(finding)
    for subnet_id in sorted(found.keys() | scan.verdicts.keys()):
        findings, verdict = found.get(subnet_id, []), scan.verdicts.get(subnet_id)
        if len(findings) > 1:
            yield f"{subnet_id}: {len(findings)} findings"
        fails = verdict is not None and verdict.compliance == "NON_COMPLIANT"
        if fails and not findings:
            yield f"{subnet_id}: no finding, although it is {verdict}"
        for finding in findings:
            wrong = _wrong(finding, verdict if fails else None)
            if wrong:
                yield f"{subnet_id} ({verdict and verdict.annotation}): {wrong}"


def _wrong(finding: Mapping[str, Any], failing: Verdict | None) -> dict[str, Any]:
    """Return the parts of an imported finding that are not as they should be."""
    found = {"status": finding["Compliance"]["Status"], "state": finding["RecordState"]}
    if failing is None:
        wanted = {"status": "PASSED", "state": "ARCHIVED"}
    else:
        names = ("reason", "routeTableId")
        found |= {name: finding["ProductFields"][OURS + name] for name in names}
        found |= {"annotation": finding["Description"], "severity": finding["Severity"]["Label"]}
        wanted = {
            "status": "FAILED",
            "state": "ACTIVE",
            "annotation": failing.annotation,
            "severity": SEVERITIES.get(failing.reason, "MEDIUM"),
            "reason": str(failing.reason),
            "routeTableId": failing.route_table_id or "unknown",
        }
    return {name: (found[name], value) for name, value in wanted.items() if found[name] != value}


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
