"""`bench open`: requests at a constant rate, whatever the server does, with more of them in each step."""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256

from express_path_instrument.bench.load import Load
from express_path_instrument.bench.results import BenchResult, Kind
from express_path_instrument.bench.session import FOLDER, Session
from express_path_instrument.bench.steps import sweep

_TENANTS = 16


class Prefixes(StrEnum):
    """How keys start. General purpose buckets divide their request rate by prefix, directory buckets do not.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html and
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-optimizing-performance.html
    """

    NONE = "none"
    COMMON = "common"
    TENANTS = "tenants"
    RANDOM = "random"


class Operation(StrEnum):
    """What each request does."""

    GET = "get"
    PUT = "put"


def measure_open_loop(
    session: Session, operation: Operation, rates: Sequence[int], connections: int, prefixes: Prefixes
) -> BenchResult:
    """Read or write objects at each of these rates. Raise OptionError and ApiError."""
    how, store = session.how, session.store
    keys = [key_of(prefixes, session.run_id, position) for position in range(how.objects)]
    if operation is Operation.GET:
        session.upload(keys)
    else:
        session.will_write(store, keys)

    def load_of(rate: int) -> Load:
        """Return the load of a step with this many requests per second."""
        body_bytes = how.object_bytes if operation is Operation.PUT else 0
        return Load(
            store.server,
            store.targets(operation.upper(), keys, body_bytes),
            how.object_bytes,
            connections,
            how.warm_up,
            how.seconds,
            rate=rate,
            timeout=how.timeout,
        )

    steps = sweep(session, rates, load_of, lambda rate: f"{rate} requests/s")
    return session.result(Kind.OPEN, steps.done, steps.invalid_reason)


def key_of(prefixes: Prefixes, run_id: str, position: int) -> str:
    """Return the key of an object: without a prefix, or under one for all, one for each tenant, or a random one."""
    name = f"{FOLDER}-{run_id}-{position}"
    if prefixes is Prefixes.COMMON:
        return f"{FOLDER}/{name}"
    if prefixes is Prefixes.TENANTS:
        return f"tenant-{position % _TENANTS:02}/{name}"
    if prefixes is Prefixes.RANDOM:
        return f"{sha256(name.encode()).hexdigest()[:8]}/{name}"
    return name
