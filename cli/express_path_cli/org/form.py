"""The output formats of the commands for an organization."""

from enum import StrEnum


class Form(StrEnum):
    """The output formats."""

    TABLE = "table"
    JSON = "json"
