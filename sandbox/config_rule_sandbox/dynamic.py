"""Names for what has no static type: objects that boto3 makes at run time, and those of moto's untyped models."""

from typing import Any, TypeAlias

Client: TypeAlias = Any
"""A boto3 client, whose methods botocore makes out of the service's model."""

Moto: TypeAlias = Any
"""A class, module, backend, resource or response of moto."""
