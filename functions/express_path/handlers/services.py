"""What the Lambda functions talk to: made once, kept while the runtime is warm."""

import os
from functools import cache
from typing import NamedTuple

from express_path.adapters.aws import Aws
from express_path.adapters.ec2_snapshot import SnapshotReader


class Services(NamedTuple):
    """The account's and Region's clients, by the runtime's own credentials, and the reader that remembers."""

    aws: Aws
    snapshots: SnapshotReader


@cache
def services() -> Services:
    """The services of this runtime."""
    aws = Aws.connect()
    return Services(aws, SnapshotReader(aws, os.environ.get("NETWORK_ROLE_EXTERNAL_ID", "")))
