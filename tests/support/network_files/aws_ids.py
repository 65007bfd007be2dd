"""Ids of the same length as AWS's, for tests of output that contains long ids."""

import re
from hashlib import sha256
from pathlib import Path

from express_path_cli.sources.dump import ENTRIES_FOLDER, ROUTES_FOLDER

_READABLE_ID = re.compile(
    r"\b(?P<kind>eigw|eni|i|igw|nat|pcx|pl|rtb|subnet|tgw-attach|tgw-rtb|tgw|vgw|vpce|vpc)-(?!cidr-assoc)[a-z0-9-]+"
)


def copy_with_aws_ids(dump: Path, folder: Path) -> None:
    """Copy a dump; its ids become as long as AWS's own, and differ from those of every other dump's folder name."""
    for file in dump.rglob("*.json"):
        copy = folder / file.relative_to(dump)
        if copy.parent.name in {ENTRIES_FOLDER, ROUTES_FOLDER}:
            copy = copy.with_stem(_with_aws_ids(copy.stem, dump.name))
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_with_aws_ids(file.read_text(encoding="utf-8"), dump.name), encoding="utf-8")


def _with_aws_ids(text: str, scenario: str) -> str:
    def aws_id(found: re.Match[str]) -> str:
        return f"{found['kind']}-0{sha256(f'{scenario} {found[0]}'.encode()).hexdigest()[:16]}"

    return _READABLE_ID.sub(aws_id, text)
