"""Read the JSON that an earlier command wrote. It is read strictly, because a damaged file must not hide a finding."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from express_path.adapters.fields import Description
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.repeated_keys import RepeatedKeyError, without_repeated_keys


@dataclass(frozen=True, slots=True)
class WrittenBy:
    """What wrote a file: its output in words, the command line that makes one, and the version that can be read.

    keys are those that each file has, apart from schemaVersion.
    """

    output: str
    command: str
    schema_version: int
    keys: Iterable[str]

    def hint(self, file: Path) -> str:
        """Return how to make the file."""
        return f"make one with: {self.command} {file.name}"


def read_json(file: Path, written_by: WrittenBy, option: str = "") -> Description:
    """Return the JSON object in a file. Messages name the option that named the file.

    Raise OptionError if the file cannot be read, was not written by the command, or has another schemaVersion.
    """
    name, hint = f"{option} {file}".lstrip(), written_by.hint(file)
    try:
        document = json.loads(file.read_bytes(), object_pairs_hook=without_repeated_keys)
    except OSError as error:
        raise OptionError(f"{name} cannot be read: {error.strerror}", hint) from error
    except RepeatedKeyError as error:
        raise OptionError(f"{name} has the key {error.key!r:.60} twice in one object", hint) from error
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{name} is not JSON, or is cut short ({error})", hint) from error
    if not isinstance(document, Mapping) or not {"schemaVersion", *written_by.keys} <= document.keys():
        raise OptionError(f"{name} is not the {written_by.output}", hint)
    version = document["schemaVersion"]
    if isinstance(version, bool) or version != written_by.schema_version:
        raise OptionError(
            f"{name} has the schemaVersion {version!r:.40}, but this version of express-path reads "
            f"{written_by.schema_version}",
            f"use the version of express-path that wrote it, or make it again with: {written_by.command} {shlex.quote(file.name)}",
        )
    return document
