"""The settings of one run of the lab."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """What to measure, and the limits.

    service_seconds: the service time of a request. It makes one connection slow enough that 64 connections do not
    saturate a processor: at 4 ms, two processors were busy at 10 connections, and the lab measured itself.
    nat_share: the NAT's rate as a share of the throughput that the endpoint's path has at the largest step. The
    published NAT gateway carries 0.45 of it.
    warm_up, seconds: of each step. transfer_seconds: of the downloads during which the route changes, each time.
    seconds_limit, bytes_limit: of the whole run, which is killed at a limit.
    """

    connections: tuple[int, ...] = (1, 8, 16, 32, 48, 64)
    object_bytes: int = 64 * 1024
    service_seconds: float = 0.06
    nat_share: float = 0.45
    warm_up: float = 2.0
    seconds: float = 6.0
    repeats: int = 2
    transfer_seconds: float = 12.0
    seconds_limit: float = 1200.0
    bytes_limit: int = 64 * 2**30


QUICK = Settings(connections=(1, 8, 32, 64), seconds=3.0, repeats=1, transfer_seconds=9.0)
"""A run of about two minutes, which shows the same claims with less certainty."""
