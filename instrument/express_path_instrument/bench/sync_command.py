"""express-path bench sync: many small or few large objects, in a general purpose bucket and in a directory bucket."""

from typing import Annotated

import typer

from express_path_cli.aws.options import Quiet
from express_path_instrument.bench import options as shared
from express_path_instrument.bench.bucket import check_pair, parse_bucket
from express_path_instrument.bench.engines import EngineName
from express_path_instrument.bench.plan import MOST_CONNECTIONS, How, Where, parse_size
from express_path_instrument.bench.session import bench_session
from express_path_instrument.bench.store import open_store
from express_path_instrument.bench.sync import measure_sync

EXAMPLES = """
express-path bench sync fast--use1-az4--x-s3 my-bucket --output sync.json  # 100 objects of 10 MB
express-path bench sync fast--use1-az4--x-s3 my-bucket --objects 100000 --size 100kB  # many small objects
"""
Standard = Annotated[
    str, typer.Argument(metavar="STANDARD-BUCKET", help="The general purpose bucket, in the same Region.")
]
InFlight = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_CONNECTIONS,
        metavar="NUMBER",
        help="How many requests are in flight.",
        rich_help_panel=shared.LOAD,
    ),
]


def bench_sync(
    *,
    bucket: shared.BucketName,
    standard_bucket: Standard,
    endpoint_url: shared.EndpointUrl = None,
    region: shared.Region = None,
    profile: shared.Profile = None,
    zone_id: shared.ZoneId = None,
    subnet: shared.Subnet = None,
    size: shared.Size = "10MB",
    objects: shared.Objects = 100,
    connections: InFlight = 32,
    repeats: shared.Repeats = 1,
    timeout: shared.Timeout = 60,
    engine: shared.Engine = EngineName.AUTO,
    processes: shared.Processes = None,
    allow_other_zone: shared.AllowOtherZone = False,
    allow_errors: shared.AllowErrors = False,
    create_bucket: shared.CreateBucket = False,
    delete_bucket: shared.DeleteBucket = False,
    label: shared.Label = "",
    output: shared.Output = None,
    quiet: Quiet = False,
) -> None:
    """Time uploads, a sync, and downloads of many objects, in a general purpose and in a directory bucket.

    The sync lists both buckets, and copies what is missing from the general purpose bucket to the directory bucket.
    --create-bucket and --delete-bucket are for the directory bucket. Exit status: 0 measured, 2 invalid, or something
    could not be determined.
    """
    where = Where(
        bucket, endpoint_url, region, profile, zone_id, allow_other_zone, subnet, create_bucket, delete_bucket
    )
    how = How(parse_size(size), objects, 0, None, None, repeats, timeout, engine, processes, allow_errors, label)
    general = parse_bucket(standard_bucket)
    if not endpoint_url:  # the server of a lab has one kind of buckets
        check_pair(parse_bucket(bucket), general)
    with bench_session(where, how, quiet=quiet) as session:
        standard = open_store(general, session.store.aws, endpoint_url)
        result = measure_sync(session, standard, connections)
    shared.show(result, output)
