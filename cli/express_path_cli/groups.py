"""Options that belong together: a command asks for one value, and its command line shows all options that make it."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, get_args

Value = TypeVar("Value")


class Made(NamedTuple):
    """Annotates a parameter with the function that makes it, whose own parameters become options, or are made too."""

    by: Callable[..., Any]


def with_groups(command: Callable[..., Value]) -> Callable[..., Value]:
    """The command with each parameter that is annotated with Made replaced by the options that make it."""
    signature = inspect.signature(command)
    shown: dict[str, inspect.Parameter] = {}
    makers: dict[str, Callable[..., Any]] = {}
    for name, parameter in signature.parameters.items():
        made = next((each for each in get_args(parameter.annotation) if isinstance(each, Made)), None)
        if made:
            makers[name] = with_groups(made.by)
            shown.update(inspect.signature(makers[name]).parameters)
        else:
            shown[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)

    @wraps(command)
    def run(**given: object) -> Value:
        """Make what is asked for out of its options, and run the command."""
        for name, maker in makers.items():
            given[name] = maker(**{option: given.pop(option) for option in inspect.signature(maker).parameters})
        return command(**given)

    run.__signature__ = signature.replace(parameters=list(shown.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: each.annotation for name, each in shown.items()}
    return run
