"""Judging the subnets of a dump with the same engine as the rule."""

from pathlib import Path

from express_path.adapters.dump import read_dump
from express_path.domain.parameters import RuleParameters
from express_path.domain.tracing import Tracer
from express_path.domain.verdict import Judge, Verdict


def scan_dump(folder: Path, parameters: RuleParameters) -> list[Verdict]:
    """The verdict on every subnet of a dump, sorted by account, Region and subnet. Raises DumpError."""
    verdicts: list[Verdict] = []
    for region in read_dump(folder):
        tracer = Tracer(region.network)
        for account, subnet_ids in region.accounts:
            judge = Judge(tracer, parameters, account)
            verdicts.extend(judge.verdict(subnet_id) for subnet_id in subnet_ids)
    return sorted(verdicts, key=lambda each: (each.account_id, each.region, each.subnet_id))
