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
"""The longest step, with its warm-up, in seconds."""

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
    create_bucket: bool = False
    delete_bucket: bool = False
    plain_http: bool = False


@dataclass(frozen=True, slots=True)
class How:
    """How to measure: the objects, the length of a step, and how often.

    seconds or count is None. processes: None for one for each processor.
    """

    object_bytes: int
    objects: int
    warm_up: float = 0
    seconds: float | None = None
    count: int | None = None
    repeats: int = 1
    timeout: float = 60
    processes: int | None = None
    allow_errors: bool = False
    label: str = ""


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


def check_length(warm_up: float, seconds: float) -> None:
    """Raise OptionError for a step that is too long."""
    if warm_up + seconds > MOST_SECONDS:
        raise OptionError(
            f"--warm-up and --duration are {warm_up + seconds:g} seconds together",
            f"use at most {MOST_SECONDS}",
        )


def closed_loop_length(warm_up: float, duration: float | None, count: int | None) -> float | None:
    """Return the seconds of each step, or None if a count ends it. Raise OptionError for both, or too long a step."""
    if duration is not None and count is not None:
        raise OptionError("--duration and --count cannot be used together", "leave one of them out")
    seconds = None if count is not None else _SECONDS if duration is None else duration
    check_length(warm_up, seconds or 0)
    return seconds
