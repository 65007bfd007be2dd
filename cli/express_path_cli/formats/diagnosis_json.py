"""Diagnoses as JSON, for other tools."""

import json
from collections.abc import Sequence
from typing import Any

from express_path_cli.diagnosis.diagnosing import NatDiagnosis
from express_path_cli.diagnosis.symptoms import Diagnosis
from express_path_cli.diagnosis.symptoms_findings import Finding
from express_path_cli.diagnosis.timing import Timing
from express_path_cli.formats.diagnosis_wording import SHARE_UNKNOWN, headline, heal_commands, undiagnosed
from express_path_cli.formats.nat_json import nat_fields

SCHEMA_VERSION = 1


def as_diagnosis_json(told: Sequence[NatDiagnosis], during: Timing) -> str:
    """One document; meters is null where metrics could not be read, and for a NAT instance, which has none."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "meaning": SHARE_UNKNOWN,
        "start": during.start.isoformat(),
        "end": during.end.isoformat(),
        "period": during.period,
        "nats": [_nat(each) for each in told],
    }
    return json.dumps(document, indent=2) + "\n"


def _nat(told: NatDiagnosis) -> dict[str, Any]:
    return {
        **nat_fields(told.nat),
        "healCommands": heal_commands(told),
        "sentence": None if told.diagnoses else undiagnosed(told),
        "meters": None if told.diagnoses is None else [_meter(told, each) for each in told.diagnoses],
    }


def _meter(told: NatDiagnosis, diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "availabilityZone": diagnosis.meter.availability_zone,
        "state": diagnosis.state,
        "missing": diagnosis.missing,
        "sentence": headline(told, diagnosis),
        "findings": [_finding(each) for each in diagnosis.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    times = {"start": finding.start.isoformat(), "end": finding.end.isoformat()}
    return {**finding._asdict(), **times, "evidence": dict(finding.evidence)}
