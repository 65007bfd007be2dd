"""What a format shows of a subnet: the verdict, the labels of its resources, and the remedy."""

from collections.abc import Hashable
from typing import NamedTuple

from express_path.domain.network.resources import Tags
from express_path.domain.remedy.remedies import Remedies
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.baseline import Mark
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Names, ResourceLabels


class Finding(NamedTuple):
    """A verdict with what else formats show. A tuple, since a scan has many.

    remedy: None if nothing has to change. mark: what happened since the baseline, None without one.
    """

    verdict: Verdict
    names: Names
    tags: Tags
    remedy: Remedy | None
    mark: Mark | None


class OwnTexts(NamedTuple):
    """The texts that a finding does not share with those of other subnets of the same route table."""

    subnet_id: str
    subnet_name: str
    availability_zone_id: str


class Findings:
    """Makes findings from verdicts."""

    def __init__(self, result: Result) -> None:
        """Look up labels and remedies in the networks of a result."""
        self._remedies, self._labels = Remedies(result.views), ResourceLabels(result.views, result.tag_keys)
        self._mark = result.mark

    def of(self, verdict: Verdict) -> Finding:
        """Return the finding of a verdict."""
        names, tags = self._labels.names(verdict), self._labels.tags(verdict)
        return Finding(verdict, names, tags, self._remedies.of(verdict), self._mark(verdict))

    def own_texts(self, verdict: Verdict) -> OwnTexts:
        """Return the texts in which findings with the same shared_key may differ."""
        return OwnTexts(verdict.subnet_id, self._labels.subnet_name(verdict), verdict.availability_zone_id)

    def shared_key(self, verdict: Verdict) -> Hashable:
        """Return a key that verdicts have in common if their findings differ in nothing but their own texts."""
        return self._remedies.key(verdict), tuple(self._labels.tags(verdict).items()), self._mark(verdict)
