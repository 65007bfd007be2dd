"""Diagnoses as JSON, for other tools."""

import json
from collections.abc import Sequence
from typing import Any

from express_path_cli.traffic.diagnosing import NatDiagnosis
from express_path_cli.traffic.diagnosis_wording import SHARE_UNKNOWN, headline, heal_commands, undiagnosed
from express_path_cli.traffic.nat_json import nat_fields
from express_path_cli.traffic.symptoms import Diagnosis
from express_path_cli.traffic.symptoms_findings import Finding
from express_path_cli.traffic.timing import Timing

SCHEMA_VERSION = 1


def as_diagnosis_json(nats: Sequence[NatDiagnosis], during: Timing) -> str:
    """Return one document; meters is null if metrics could not be read, and for a NAT instance, which has none."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "meaning": SHARE_UNKNOWN,
        "start": during.start.isoformat(),
        "end": during.end.isoformat(),
        "period": during.period,
        "nats": [_nat(nat) for nat in nats],
    }
    return json.dumps(document, indent=2) + "\n"


def _nat(diagnosed: NatDiagnosis) -> dict[str, Any]:
    diagnoses = diagnosed.diagnoses
    return {
        **nat_fields(diagnosed.nat),
        "healCommands": heal_commands(diagnosed),
        "sentence": None if diagnoses else undiagnosed(diagnosed),
        "meters": None if diagnoses is None else [_meter(diagnosed, diagnosis) for diagnosis in diagnoses],
    }


def _meter(diagnosed: NatDiagnosis, diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "availabilityZone": diagnosis.meter.availability_zone,
        "state": diagnosis.state,
        "missing": diagnosis.missing,
        "sentence": headline(diagnosed, diagnosis),
        "findings": [_finding(finding) for finding in diagnosis.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "symptom": finding.symptom,
        "severity": finding.severity,
        "start": finding.start.isoformat(),
        "end": finding.end.isoformat(),
        "value": finding.value,
        "unit": finding.unit,
        "evidence": dict(finding.evidence),
    }
