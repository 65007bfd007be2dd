"""How an operation of a StackSet proceeds: how many accounts at the same time, and when it stops.

https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackSetOperationPreferences.html
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/concurrency-mode.html
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PERCENT = 100


class ResultStatus(StrEnum):
    """What an operation did in an account and Region."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True)
class Result:
    """What an operation did in an account (12 digits) and Region, and why it failed there."""

    account_id: str
    region: str
    status: ResultStatus
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Preferences:
    """OperationPreferences, as a request has them."""

    given: Mapping[str, Any]

    def failures_allowed(self, accounts: int) -> int:
        """Return how many of so many accounts of a Region may fail; percentages are rounded down."""
        if "FailureTolerancePercentage" in self.given:
            return accounts * int(self.given["FailureTolerancePercentage"]) // PERCENT
        return int(self.given.get("FailureToleranceCount", 0))

    def concurrent(self, accounts: int, failures: int) -> int:
        """Return in how many accounts of a Region work goes on at the same time after so many failures, at least one."""
        most = int(self.given.get("MaxConcurrentCount", 1))
        if "MaxConcurrentPercentage" in self.given:
            most = max(1, accounts * int(self.given["MaxConcurrentPercentage"]) // PERCENT)
        if self.given.get("ConcurrencyMode") == "SOFT_FAILURE_TOLERANCE":
            return most
        return max(1, min(most, self.failures_allowed(accounts) + 1 - failures))

    def groups(self, regions: Sequence[str]) -> list[list[str]]:
        """Return the Regions in order, those at the same time in one list."""
        order = list(self.given.get("RegionOrder", ()))
        ordered = [region for region in order if region in regions]
        ordered += [region for region in regions if region not in order]
        if self.given.get("RegionConcurrencyType") == "PARALLEL":
            return [ordered]
        return [[region] for region in ordered]


@dataclass(slots=True)
class Progress:
    """What an operation did: its results, and how many times in a row it waited for an account."""

    results: list[Result] = field(default_factory=list)
    rounds: int = 0

    exceeded: bool = False
    """Whether more accounts of a Region failed than may fail, so that the operation is FAILED."""


def proceed(
    accounts: Mapping[str, Sequence[str]], preferences: Preferences, work: Callable[[str, str], str]
) -> Progress:
    """Do the work for the accounts of each Region, and return what was done.

    `work` takes an account and a Region, and returns why it failed, or an empty text. If more accounts of a Region fail
    than may fail, what has not begun, also in other Regions, is CANCELLED.
    """
    progress = Progress()
    waiting = {region: list(account_ids) for region, account_ids in accounts.items()}
    failures = dict.fromkeys(accounts, 0)
    for group in preferences.groups(list(accounts)):
        while not progress.exceeded and any(waiting[region] for region in group):
            progress.rounds += 1
            for region in group:
                number = preferences.concurrent(len(accounts[region]), failures[region])
                begun, waiting[region] = waiting[region][:number], waiting[region][number:]
                for account_id in begun:
                    reason = work(account_id, region)
                    status = ResultStatus.FAILED if reason else ResultStatus.SUCCEEDED
                    progress.results.append(Result(account_id, region, status, reason))
                    failures[region] += bool(reason)
            progress.exceeded = any(
                failures[region] > preferences.failures_allowed(len(accounts[region])) for region in group
            )
    for region, account_ids in waiting.items():
        cancelled = ResultStatus.CANCELLED
        reason = "Cancelled since failure tolerance has exceeded"
        progress.results += [Result(account_id, region, cancelled, reason) for account_id in account_ids]
    return progress
