"""What a person needs first: how many subnets cross a NAT, of how many, and where."""

from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path_cli.result import Result
from express_path_cli.summary import dropped, exclusions

CROSSES = NAT_REASONS | {Reason.PARTLY_NAT}
"""The reasons of subnets of which at least some S3 Express traffic crosses a NAT."""


def headline(result: Result) -> str:
    """How many subnets cross a NAT, in one sentence without its full stop."""
    every, crossing = len(result.verdicts), sum(each.reason in CROSSES for each in result.verdicts)
    if not every:
        return "No subnet was found"
    if not crossing:
        return f"No subnet of {every:,} reaches S3 Express through a NAT"
    return f"{crossing:,} of {_some(every, 'subnet')} {_verb(crossing)} S3 Express through a NAT"


def whereabouts(result: Result) -> str:
    """In how many VPCs, accounts and Regions those subnets are."""
    crossing = [each for each in result.verdicts if each.reason in CROSSES]
    if not result.verdicts:
        return "The accounts and Regions that were read have none."
    parts = [
        _share({key(each) for each in crossing}, {key(each) for each in result.verdicts}, word)
        for word, key in (
            ("VPC", lambda each: (each.region, each.vpc_id)),
            ("account", lambda each: each.account_id),
            ("Region", lambda each: each.region),
        )
    ]
    return ("They are in " if crossing else "There are ") + f"{parts[0]}, {parts[1]} and {parts[2]}."


def apart(result: Result) -> str:
    """How many subnets AWS drops the traffic of, and how many are excluded and by what; empty if there are none."""
    lost = dropped(result.verdicts)
    excluded = exclusions(result.verdicts)
    number = sum(excluded.values())
    ways = " and ".join(f"{each:,} by {way}" for way, each in excluded.items())
    told = (
        f"{_some(lost, 'subnet')} cannot reach S3 Express at all, because AWS drops the traffic." if lost else "",
        f"{_some(number, 'subnet')} {'is' if number == 1 else 'are'} excluded, {ways}." if number else "",
    )
    return " ".join(filter(None, told))


def missing(result: Result) -> str:
    """That something could not be read, and so is not counted; empty where everything was."""
    if not result.failures:
        return ""
    places = len(result.failures)
    return f"{_some(places, 'place')} could not be read and {'is' if places == 1 else 'are'} not counted."


def _share(some: set[object], every: set[object], word: str) -> str:
    if not some or some == every:
        return _some(len(every), word)
    return f"{len(some):,} of {_some(len(every), word)}"


def _some(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _verb(number: int) -> str:
    return "reaches" if number == 1 else "reach"
