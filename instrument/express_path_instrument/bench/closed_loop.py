"""`bench get` and `bench put`: a closed loop, with more connections in each step."""

from collections.abc import Sequence

from express_path_instrument.bench.load import Load
from express_path_instrument.bench.results import BenchResult, Kind
from express_path_instrument.bench.session import FOLDER, Session
from express_path_instrument.bench.steps import sweep


def measure_closed_loop(session: Session, kind: Kind, connections: Sequence[int]) -> BenchResult:
    """Read or write objects with each of these numbers of connections. Raise OptionError and ApiError."""
    how, store = session.how, session.store
    # Each connection writes an object of its own: writes to one object at the same time can be throttled.
    number = max(how.objects, *connections) if kind is Kind.PUT else how.objects
    keys = [f"{FOLDER}/{session.run_id}/{position}" for position in range(number)]
    if kind is Kind.GET:
        session.upload(keys)
    else:
        session.will_write(store, keys)

    def load_of(value: int) -> Load:
        """Return the load of a step with this many connections."""
        body_bytes = how.object_bytes if kind is Kind.PUT else 0
        return Load(
            store.server,
            store.targets(kind.upper(), keys, body_bytes),
            how.object_bytes,
            value,
            how.warm_up,
            how.seconds,
            how.count,
            timeout=how.timeout,
        )

    steps = sweep(session, connections, load_of, lambda value: f"{value} connection{'s' if value > 1 else ''}")
    return session.result(kind, steps.done, steps.invalid_reason)
