"""Which subnets a scan is about, which verdicts it shows, and which make it fail."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from express_path.domain.network.tags import has_tag
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.problems import OptionError
from express_path_cli.result import Failure, View

NEVER = "never"
WORDS = (*Compliance, *Reason)
"""What names a verdict: its compliance or its reason."""


class Selection(NamedTuple):
    """The subnets to judge, by VPC and tag (key or key=value); empty means any."""

    vpc_ids: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()

    def absent(self, views: Sequence[View], hint: str) -> list[Failure]:
        """The VPCs asked for that no view has: most likely misspelt, or elsewhere, where the hint leads."""
        known = {vpc_id for view in views for vpc_id in view.tracer.snapshot.vpcs}
        error = OptionError("no such VPC was found", hint)
        return [Failure(f"--vpc {each}", error) for each in sorted(self.vpc_ids - known)]

    def unused_tags(self, views: Sequence[View]) -> list[str]:
        """The tags asked for that no subnet of the views has, which mostly are misspelt."""
        held = [view.tracer.snapshot.subnets[each].tags for view in views for each in view.subnet_ids]
        return [tag for tag in self.tags if not any(has_tag(each, tag) for each in held)]

    def subnet_ids(self, view: View) -> Sequence[str]:
        """The subnets of a view that are meant."""
        if not self.vpc_ids and not self.tags:
            return view.subnet_ids
        subnets = view.tracer.snapshot.subnets
        return [
            each
            for each in view.subnet_ids
            if (not self.vpc_ids or subnets[each].vpc_id in self.vpc_ids)
            and all(has_tag(subnets[each].tags, tag) for tag in self.tags)
        ]


def judge_all(views: Sequence[View], parameters: RuleParameters, selection: Selection) -> list[Verdict]:
    """The verdict on every selected subnet, sorted by account, Region and subnet."""
    return sorted(
        _judged(views, parameters, selection), key=lambda each: (each.account_id, each.region, each.subnet_id)
    )


def _judged(views: Sequence[View], parameters: RuleParameters, selection: Selection) -> Iterator[Verdict]:
    for view in views:
        yield from map(view.evaluator(parameters).verdict, selection.subnet_ids(view))


def parse_words(option: str, given: Sequence[str], *more: str) -> frozenset[str]:
    """Words that name verdicts, in any case. Raises OptionError for one that does not."""
    allowed = (*WORDS, *more)
    for word in given:
        if word.upper() not in allowed and word.lower() not in more:
            raise OptionError(f"{option} {word}: unknown verdict", f"must be one of {', '.join(allowed)}")
    return frozenset(word.lower() if word.lower() in more else word.upper() for word in given)


def matches(verdict: Verdict, words: frozenset[str]) -> bool:
    """Whether a verdict has a compliance or a reason among the words."""
    return verdict.compliance in words or verdict.reason in words
