"""Select the subnets to evaluate, and the verdicts that some words name."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from express_path.domain.network.resources import Tags, has_tag
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.sources.network import View
from express_path_cli.terminal.errors import Failure, OptionError


@dataclass(frozen=True, slots=True)
class Selection:
    """The subnets to evaluate, by VPC and tag (KEY or KEY=VALUE). Empty selects all.

    For each key, the tag of the subnet counts, else that of its route table, else that of its VPC.
    """

    vpc_ids: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()

    def __and__(self, other: "Selection") -> "Selection":
        """Return the selection of the subnets that both select."""
        both = self.vpc_ids & other.vpc_ids if self.vpc_ids and other.vpc_ids else self.vpc_ids | other.vpc_ids
        return Selection(both, tuple(dict.fromkeys((*self.tags, *other.tags))))

    @property
    def options(self) -> tuple[str, ...]:
        """The options that select these subnets, sorted."""
        return (*(f"--tag {tag}" for tag in sorted(self.tags)), *(f"--vpc {vpc_id}" for vpc_id in sorted(self.vpc_ids)))

    def missing_vpcs(self, known: Collection[str], hint: str) -> list[Failure]:
        """Return a failure for each selected VPC that is not known. The hint says where else it may be."""
        error = OptionError("this VPC was not found", hint)
        return [Failure(f"--vpc {vpc_id}", error) for vpc_id in sorted(self.vpc_ids.difference(known))]

    def missing_tags(self, used: Sequence[Tags]) -> list[Failure]:
        """Return a failure for each selected tag that no subnet has or inherits: usually it is misspelled.

        used: the tags of each subnet that was read.
        """
        error = OptionError(
            "no subnet has this tag, nor its route table or VPC instead", "keys and values are case-sensitive"
        )
        missing = (tag for tag in self.tags if not any(has_tag(tags, tag) for tags in used))
        return [Failure(f"--tag {tag}", error) for tag in missing]

    def subnet_ids(self, view: View) -> Sequence[str]:
        """Return the selected subnets of a view."""
        if not self.vpc_ids and not self.tags:
            return view.subnet_ids
        subnets = view.tracer.snapshot.subnets
        return [
            subnet_id
            for subnet_id in view.subnet_ids
            if self.selects(subnets[subnet_id].vpc_id, tags_of(view, subnet_id) if self.tags else {})
        ]

    def selects(self, vpc_id: str, tags: Tags) -> bool:
        """Return whether a subnet of this VPC with these tags is selected."""
        return (not self.vpc_ids or vpc_id in self.vpc_ids) and all(has_tag(tags, tag) for tag in self.tags)


def tags_of(view: View, subnet_id: str) -> Tags:
    """Return the tags that a subnet has, or else its route table, or else its VPC."""
    snapshot = view.tracer.snapshot
    subnet = snapshot.subnets[subnet_id]
    table = view.tracer.governing_table(subnet)
    return snapshot.tags_of(subnet_id, table.id if table else None, subnet.vpc_id).merged()


def evaluators(views: Iterable[View], parameters: RuleParameters) -> list[Evaluator]:
    """Return an evaluator of each view."""
    return [view.evaluator(parameters) for view in views]


def evaluate_all(views: Sequence[View], parameters: RuleParameters, selection: Selection) -> list[Verdict]:
    """Return the verdict on every selected subnet, sorted by account, Region and subnet."""
    verdicts: list[Verdict] = []
    for view in sorted(views, key=lambda view: (view.account.id, view.region)):
        verdicts.extend(map(view.evaluator(parameters).verdict, sorted(selection.subnet_ids(view))))
    return verdicts


def matches(verdict: Verdict, words: frozenset[str]) -> bool:
    """Return whether the compliance or the reason of a verdict is one of the words."""
    return verdict.compliance in words or verdict.reason in words
