"""Reading the whole ledger, for a person who asks what heals did: the functions never need it."""

from typing import TYPE_CHECKING

from express_path.adapters.aws import pages
from express_path.adapters.ledger import Item, run_record, table_record
from express_path.domain.heal.ledger import RUN_PREFIX, TABLE_PREFIX
from express_path_cli.runbooks.heal_history import History

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def read_history(dynamodb: "DynamoDBClient", table_name: str) -> History:
    """Every run and route table of a ledger. Raises ApiError, and RecordError for an item that cannot be read.

    A scan reads every item, page by page (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html).
    """
    items = pages(dynamodb, "dynamodb", "scan", "Items", TableName=table_name, ConsistentRead=True)
    by_id: dict[str, Item] = {each["id"]["S"]: each for each in items}
    runs = [run_record(each) for key, each in by_id.items() if key.startswith(RUN_PREFIX)]
    names = [key.removeprefix(TABLE_PREFIX) for key in by_id if key.startswith(TABLE_PREFIX)]
    return History(
        {each.run_id: each for each in runs},
        {each: table_record(each, by_id[TABLE_PREFIX + each]) for each in names},
    )
