"""The names of buckets, and the zone that a directory bucket's name contains."""

import re
from dataclasses import dataclass

from express_path_cli.terminal.errors import OptionError

_DIRECTORY = re.compile(r"[a-z0-9][a-z0-9-]*--(?P<zone>[a-z0-9-]+-az[0-9]+)--x-s3")
"""https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-naming-rules.html"""
_GENERAL = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
"""A general purpose bucket. Names with dots do not work with TLS
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html)."""
_ZONE_ID = re.compile(r"[a-z0-9-]+-az[0-9]+")
_DIRECTORY_ENDING = "--x-s3"


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. zone_id is that of a directory bucket, and empty for a general purpose bucket."""

    name: str
    zone_id: str = ""

    @property
    def is_directory(self) -> bool:
        """Return whether it is a directory bucket, which S3 Express One Zone uses."""
        return bool(self.zone_id)


def parse_bucket(name: str) -> Bucket:
    """Return the bucket with a name. Raise OptionError if the name is not valid."""
    directory = _DIRECTORY.fullmatch(name)
    if directory:
        return Bucket(name, directory["zone"])
    if name.endswith(_DIRECTORY_ENDING):
        raise OptionError(
            f"bucket {name} has no zone ID in its name",
            "the name of a directory bucket is BASE--ZONE-ID--x-s3, such as fast--use1-az4--x-s3, with a zone ID, not "
            "a zone name",
        )
    if not _GENERAL.fullmatch(name):
        raise OptionError(
            f"bucket {name}: not a valid bucket name",
            "it has 3 to 63 lowercase letters, digits, and hyphens; dots do not work with TLS",
        )
    return Bucket(name)


def check_zone_id(zone_id: str) -> None:
    """Raise OptionError for a text that is not a zone ID, such as a zone name.

    A zone name, such as us-east-1a, can be a different zone in each account
    (https://docs.aws.amazon.com/ram/latest/userguide/working-with-az-ids.html).
    """
    if not _ZONE_ID.fullmatch(zone_id):
        raise OptionError(f"--zone-id {zone_id}: not a zone ID", "give an ID such as use1-az4, not a zone name")


def check_zones(bucket: Bucket, client_zone_id: str, *, allow_other: bool) -> None:
    """Raise OptionError unless the client is in the zone of a directory bucket, or --allow-other-zone is given."""
    if not bucket.is_directory or allow_other or client_zone_id == bucket.zone_id:
        return
    if not client_zone_id:
        raise OptionError(
            f"the zone of this machine is unknown, and bucket {bucket.name} is in {bucket.zone_id}",
            "set --zone-id to the zone ID of this machine, or add --allow-other-zone",
        )
    raise OptionError(
        f"this machine is in {client_zone_id}, and bucket {bucket.name} is in {bucket.zone_id}",
        "use a bucket in the same zone, or add --allow-other-zone to measure across zones",
    )
