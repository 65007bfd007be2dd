"""The page's first sentences: how many subnets reach S3 Express through a NAT, and where they are."""

from express_path_cli.findings.result import Result
from express_path_cli.findings.summary import dropped, exclusions
from express_path_cli.findings.worklist import CROSSES_NAT


def headline(result: Result) -> str:
    """Return how many subnets reach S3 Express through a NAT, in a sentence without its period."""
    total, crossing = len(result.verdicts), sum(verdict.reason in CROSSES_NAT for verdict in result.verdicts)
    if not total:
        return "No subnets were found"
    verb = "reaches" if 1 in (crossing, total) else "reach"
    return f"{crossing:,} of {_number(total, 'subnet')} {verb} S3 Express through a NAT"


def whereabouts(result: Result) -> str:
    """Return in how many VPCs, accounts and Regions these subnets are."""
    if not result.verdicts:
        return "The accounts and Regions that were read have no subnets."
    crossing = [verdict for verdict in result.verdicts if verdict.reason in CROSSES_NAT]
    parts = [
        _part({key(verdict) for verdict in crossing}, {key(verdict) for verdict in result.verdicts}, noun)
        for noun, key in (
            ("VPC", lambda verdict: (verdict.region, verdict.vpc_id)),
            ("account", lambda verdict: verdict.account_id),
            ("Region", lambda verdict: verdict.region),
        )
    ]
    return ("They are in " if crossing else "All are in ") + f"{parts[0]}, {parts[1]} and {parts[2]}."


def separate_counts(result: Result) -> str:
    """Return how many subnets are DROPPED, and how many are excluded and by what; empty if there are none."""
    dropped_subnets = dropped(result.verdicts)
    by_cause = exclusions(result.verdicts)
    excluded = sum(by_cause.values())
    causes = " and ".join(f"{number:,} by {cause}" for cause, number in by_cause.items())
    sentences = []
    if dropped_subnets:
        sentences.append(
            f"{_number(dropped_subnets, 'subnet')} cannot reach S3 Express, because AWS drops the traffic."
        )
    if excluded:
        sentences.append(f"{_number(excluded, 'subnet')} {'is' if excluded == 1 else 'are'} excluded, {causes}.")
    return " ".join(sentences)


def not_read(result: Result) -> str:
    """Return how many places could not be read and are not counted; empty if everything was read."""
    if not result.failures:
        return ""
    number = len(result.failures)
    return f"{_number(number, 'place')} could not be read and {'is' if number == 1 else 'are'} not counted."


def _part(some: set[object], every: set[object], noun: str) -> str:
    if not some or some == every:
        return _number(len(every), noun)
    return f"{len(some):,} of {_number(len(every), noun)}"


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
