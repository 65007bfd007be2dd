"""Read the whole ledger, to list past heals. The Lambda functions only read single items."""

from typing import TYPE_CHECKING

from express_path.adapters.aws import pages
from express_path.adapters.ledger import Item, run_record, table_record
from express_path.domain.heal.ledger import RUN_PREFIX, TABLE_PREFIX
from express_path_cli.automation.heal_history import History

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def read_history(dynamodb: "DynamoDBClient", table_name: str) -> History:
    """Read every run and route table of a ledger. Raise ApiError, and RecordError for an item that cannot be read.

    A scan reads every item, page by page (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html).
    """
    items = pages(dynamodb, "dynamodb", "scan", "Items", TableName=table_name, ConsistentRead=True)
    by_id: dict[str, Item] = {item["id"]["S"]: item for item in items}
    runs = [run_record(item) for key, item in by_id.items() if key.startswith(RUN_PREFIX)]
    table_ids = [key.removeprefix(TABLE_PREFIX) for key in by_id if key.startswith(TABLE_PREFIX)]
    return History(
        {run.run_id: run for run in runs},
        {table_id: table_record(table_id, by_id[TABLE_PREFIX + table_id]) for table_id in table_ids},
    )
