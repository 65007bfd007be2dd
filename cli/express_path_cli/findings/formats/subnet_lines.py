"""Subnets as text: each is one line with everything that a search may look for."""

from collections.abc import Iterator, Sequence

from express_path.domain.findings.texts import path_text
from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.result import Result, is_flagged
from express_path_cli.findings.row import ResourceLabels
from express_path_cli.terminal.tables import aligned

_TITLES = ("Account", "Region", "VPC", "Subnet", "Route table", "Compliance", "Reason")
_NAMES = ("Subnet name", "Table name", "VPC name")


def subnet_lines(verdicts: Sequence[Verdict], labels: ResourceLabels, result: Result) -> Iterator[str]:
    """Yield a header and the subnets in this order.

    The columns up to the reason contain no spaces, so that they can be selected by their number. The path is last.
    """
    header = (*_TITLES, *_NAMES, *result.tag_keys, *(["Baseline"] if result.comparison else []), "Path")
    return aligned([header, *(_row(verdict, labels, result) for verdict in verdicts)])


def in_order_of_work(verdict: Verdict) -> tuple[bool, int, str, str, str, str, str]:
    """Return the key that sorts verdicts like the worklist: NON_COMPLIANT first, the worst reason, then by table."""
    place = (verdict.account_id, verdict.region, verdict.vpc_id, verdict.route_table_id or "", verdict.subnet_id)
    return not is_flagged(verdict), SEVERITY_ORDER[verdict.reason], *place


def _row(verdict: Verdict, labels: ResourceLabels, result: Result) -> tuple[str, ...]:
    tags = labels.tags(verdict)
    return (
        verdict.account_id,
        verdict.region,
        verdict.vpc_id,
        verdict.subnet_id,
        verdict.route_table_id or "unknown",
        verdict.compliance,
        verdict.reason,
        *labels.names(verdict),
        *(tags.get(key, "") for key in result.tag_keys),
        *([result.mark(verdict) or ""] if result.comparison else []),
        _path(verdict),
    )


def _path(verdict: Verdict) -> str:
    """Return the hops, and the fix if AWS drops the traffic there; the annotation if no hop was followed."""
    path = path_text(verdict) or verdict.annotation.removeprefix(f"{verdict.reason}: ")
    return f"{path} (to fix: {verdict.note})" if verdict.reason is Reason.DROPPED else path
