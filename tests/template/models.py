"""AWS's enums and bounds from botocore's service models, which template linters do not check."""

from functools import cache

from botocore.model import Shape
from botocore.session import get_session


@cache
def shape(service: str, name: str) -> Shape:
    """Return a shape of a service's model."""
    return get_session().get_service_model(service).shape_for(name)


def enum(service: str, name: str) -> set[str]:
    """Return the values of a service's enum, which must not be empty."""
    values = set(shape(service, name).metadata["enum"])
    assert values
    return values


def bounds(service: str, name: str) -> range:
    """Return the range of numbers or lengths that a shape allows."""
    metadata = shape(service, name).metadata
    return range(metadata["min"], metadata["max"] + 1)
