"""What the options of a measurement say."""

import re
from dataclasses import dataclass

from express_path_cli.terminal.errors import OptionError

_SIZE = re.compile(r"([1-9][0-9]*) ?(B|kB|KB|KiB|MB|MiB|GB|GiB)?", re.ASCII)
UNITS = {"B": 1, "kB": 1000, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
LARGEST = 5 * (1 << 30)
"""The largest object that one PUT can upload, in bytes
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""
MOST_CONNECTIONS = 1000
"""More of them exceed the open files that most systems allow a process."""
MOST_SECONDS = 7200
"""The longest step at a general purpose bucket, with its warm-up, in seconds."""
SESSION_SECONDS = 300
"""How long the credentials of CreateSession are valid
(https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateSession.html)."""
MOST_SESSION_SECONDS = 240
"""The longest step at a directory bucket: a session that is created for each step, without what starts and ends it."""
MOST_RATE = 1_000_000
"""The highest rate, in requests per second."""
_SECONDS = 10.0
"""How long a step is measured, unless an option says otherwise."""


@dataclass(frozen=True, slots=True)
class Where:
    """The bucket, the machine, and what may be done to the bucket."""

    bucket: str
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    zone_id: str | None = None
    allow_other_zone: bool = False
    subnet_id: str | None = None


@dataclass(frozen=True, slots=True)
class How:
    """How to measure: the objects, the length of a step, and how often.

    seconds or count is None.
    """

    object_bytes: int
    objects: int
    warm_up: float = 0
    seconds: float | None = None
    count: int | None = None
    repeats: int = 1
    timeout: float = 60
    processes: int = 1
    allow_errors: bool = False


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 64KiB or 10MB. Raise OptionError for any other text."""
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) * UNITS[found[2] or "B"] if found else 0
    if not 0 < size <= LARGEST:
        raise OptionError(
            f"--size {text}: not a size", "use a number of bytes up to 5GiB, such as 65536, 64KiB, or 10MB"
        )
    return size


def parse_numbers(option: str, text: str, most: int) -> list[int]:
    """Return numbers separated by commas, each once and in their order. Raise OptionError for any other text."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and 0 < int(word) <= most for word in words):
        raise OptionError(
            f"{option} {text}: not a list of numbers", f"use numbers from 1 to {most} with commas, such as 1,8,16"
        )
    return list(dict.fromkeys(map(int, words)))


def longest_load(*, has_session: bool) -> float:
    """Return how many seconds a load may last, so that none of its signed requests expires."""
    return MOST_SESSION_SECONDS if has_session else MOST_SECONDS


def check_length(how: How, *, has_session: bool) -> None:
    """Raise OptionError for a step that would last longer than its requests are signed for."""
    seconds, most = how.warm_up + (how.seconds or 0), longest_load(has_session=has_session)
    if seconds > most:
        why = f": a session of a directory bucket ends after {SESSION_SECONDS}" if has_session else ""
        raise OptionError(
            f"--warm-up and --duration are {seconds:g} seconds together", f"use at most {most:g} seconds{why}"
        )


def length_of_steps(duration: float | None, count: int | None) -> float | None:
    """Return the seconds of each step, or None if a count ends it. Raise OptionError for both."""
    if duration is not None and count is not None:
        raise OptionError("--duration and --count cannot be used together", "leave one of them out")
    return None if count is not None else _SECONDS if duration is None else duration
