"""express-path bench sync: what `aws s3 sync` to the local disk takes, from both kinds of buckets."""

from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.aws.options import Quiet
from express_path_instrument.bench import options as shared
from express_path_instrument.bench.bucket import check_pair, parse_bucket
from express_path_instrument.bench.plan import How, Where, parse_size
from express_path_instrument.bench.session import bench_session
from express_path_instrument.bench.store import open_store
from express_path_instrument.bench.sync import measure_sync

EXAMPLES = """
express-path bench sync fast--use1-az4--x-s3 my-bucket  # 100 objects of 10 MB, ten times
express-path bench sync fast--use1-az4--x-s3 my-bucket --objects 100000 --size 100kB  # many small objects
"""
Standard = Annotated[
    str, typer.Argument(metavar="STANDARD-BUCKET", help="The general purpose bucket, in the same Region.")
]
Folder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Where on the disk to make the folder that is synced to. Default: the current folder.",
        rich_help_panel=shared.WHERE,
    ),
]


def bench_sync(
    *,
    bucket: shared.BucketName,
    standard_bucket: Standard,
    folder: Folder = None,
    endpoint_url: shared.EndpointUrl = None,
    region: shared.Region = None,
    profile: shared.Profile = None,
    zone_id: shared.ZoneId = None,
    subnet: shared.Subnet = None,
    size: shared.Size = "10MB",
    objects: shared.Objects = 100,
    repeats: shared.Repeats = 10,
    allow_other_zone: shared.AllowOtherZone = False,
    output: shared.Output = None,
    quiet: Quiet = False,
) -> None:
    """Time what `aws s3 sync` does from a bucket to the local disk, for both kinds of buckets.

    In each loop, every object is downloaded from the general purpose bucket and then from the directory bucket, into an
    empty folder, by the library that the AWS CLI uses, with its settings. Exit status: 0 measured, 2 invalid, or
    something could not be determined.
    """
    where = Where(bucket, endpoint_url, region, profile, zone_id, allow_other_zone, subnet)
    how = How(parse_size(size), objects, repeats=repeats)
    general = parse_bucket(standard_bucket)
    if not endpoint_url:  # the server of a lab has one kind of buckets
        check_pair(parse_bucket(bucket), general)
    with bench_session(where, how, quiet=quiet) as session:
        standard = open_store(general, session.store.aws, endpoint_url)
        result = measure_sync(session, standard, folder or Path())
        shared.show(result, output)
