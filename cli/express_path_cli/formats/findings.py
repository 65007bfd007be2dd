"""What a format shows of a subnet: the verdict, the labels of its resources, and the remedy."""

from collections.abc import Iterator
from typing import NamedTuple

from express_path.domain.network.resources import Tags
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.remedies import Remedies, Remedy
from express_path_cli.resource_labels import Names, ResourceLabels
from express_path_cli.result import Result


class Finding(NamedTuple):
    """A verdict, names and selected tags, and the remedy if something has to change. A tuple, since a scan has many."""

    verdict: Verdict
    names: Names
    tags: Tags
    remedy: Remedy | None


def findings(result: Result) -> Iterator[Finding]:
    """Yield the findings of a result, one for each subnet."""
    remedies, labels = Remedies(result.views), ResourceLabels(result.views, result.tag_keys)
    for verdict in result.verdicts:
        yield Finding(verdict, labels.names(verdict), labels.tags(verdict), remedies.of(verdict))
