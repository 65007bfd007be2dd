"""Descriptions in which one value has the wrong type."""

from collections.abc import Iterator, Mapping

from hypothesis import strategies as st

Steps = tuple[str | int, ...]
JUNK = st.sampled_from([None, True, 0, 7, 1.5, "", "text", [], ["text"], [None], {}, {"Key": []}, {"State": 7}])


def places(value: object, steps: Steps = ()) -> Iterator[Steps]:
    """Return the path to every value inside a JSON document, except the document itself."""
    if steps:
        yield steps
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from places(inner, (*steps, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*steps, index))


def _with(value: object, steps: Steps, junk: object) -> object:
    if not steps:
        return junk
    first, *rest = steps
    if isinstance(value, list):
        return [_with(inner, tuple(rest), junk) if index == first else inner for index, inner in enumerate(value)]
    return {key: _with(inner, tuple(rest), junk) if key == first else inner for key, inner in value.items()}


@st.composite
def spoilt(draw: st.DrawFn, described: Mapping[str, object]) -> object:
    """Return the description with one value replaced by a value of another type."""
    return _with(described, draw(st.sampled_from(list(places(described)))), draw(JUNK))
