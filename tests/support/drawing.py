"""Random values from a seed, described as hypothesis describes them.

hypothesis records each choice, to make a failing example smaller. For a whole network, that takes several times longer
than the test of it. So hypothesis chooses only a seed here.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from random import Random
from typing import Any, Concatenate, ParamSpec, TypeVar

from hypothesis import strategies as st

_Value = TypeVar("_Value")
_Parameters = ParamSpec("_Parameters")

Strategy = Callable[[Random], _Value]
"""Returns a random value."""

Draw = Callable[[Strategy[Any]], Any]
"""Returns a random value of a strategy."""

SEEDS = st.integers(0, 2**32 - 1)


def sampled_from(values: Sequence[_Value]) -> Strategy[_Value]:
    """Return one of the values."""
    return lambda random: random.choice(values)


def mostly(usual: _Value, *others: _Value) -> Strategy[_Value]:
    """Return the first value in fifteen of sixteen cases, otherwise one of the others."""
    return sampled_from([usual] * 15 * len(others) + list(others))


def lists(
    values: Strategy[_Value], *, min_size: int = 0, max_size: int, unique: bool = False
) -> Strategy[list[_Value]]:
    """Return a list of values. If they are unique, a value that is drawn twice is in it once."""

    def drawn(random: Random) -> list[_Value]:
        found = [values(random) for _ in range(random.randint(min_size, max_size))]
        return list(dict.fromkeys(found)) if unique else found

    return drawn


def composite(
    function: Callable[Concatenate[Draw, _Parameters], _Value],
) -> Callable[_Parameters, Strategy[_Value]]:
    """Turn a function that draws values and returns one into a function that returns a strategy."""

    @wraps(function)
    def strategy(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Strategy[_Value]:
        return lambda random: function(lambda drawn: drawn(random), *args, **kwargs)

    return strategy
