"""What AWS accepts, from botocore's own service models: the enums and bounds that template linters do not check."""

from functools import cache

from botocore.model import Shape
from botocore.session import get_session


@cache
def shape(service: str, name: str) -> Shape:
    """Return a shape of a service's model."""
    return get_session().get_service_model(service).shape_for(name)


def enum(service: str, name: str) -> set[str]:
    """Return the values of an enum of a service; an enum without values would prove nothing."""
    values = set(shape(service, name).metadata["enum"])
    assert values
    return values


def bounds(service: str, name: str) -> range:
    """Return the numbers, or the lengths, that a shape allows."""
    metadata = shape(service, name).metadata
    return range(metadata["min"], metadata["max"] + 1)
