"""Read the JSON document of an earlier scan. It is read strictly, so that a damaged file does not hide a finding."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from msgspec import Struct

from express_path.domain.path.reasons import Compliance
from express_path.fields import Description
from express_path_cli.terminal.documents import Word, id_of, read_as
from express_path_cli.terminal.files import WrittenBy, faults_in, read_json

SCHEMA_VERSION = 1
"""The version of the document's schema. A new key does not change it."""
DOCUMENT = "the scan"
"""What messages call the document."""
WRITTEN_BY = WrittenBy("JSON output of a scan", "express-path scan --format json --output", SCHEMA_VERSION, ["subnets"])
_NAMES = ("subnetId", "address", "where")
"""The keys that name an item of a list in the document, if it has one of them."""
_MOST_OF_A_NAME = 100
"""How many characters a name in a message may have."""
_Part = TypeVar("_Part", bound=Struct)

AccountId = Annotated[str, id_of("accountId")]
Region = Annotated[str, id_of("region")]
SubnetId = Annotated[str, id_of("subnetId")]
OptionalVpcId = Annotated[str, id_of("vpcId", or_empty=True)]


class FindingId(NamedTuple):
    """The identity of a finding, which is a NON_COMPLIANT subnet. A tuple, since a scan has many and sorts them."""

    account_id: str
    region: str
    subnet_id: str
    reason: str


class FindingRow(Struct, rename="camel", kw_only=True):
    """What identifies a finding in the document."""

    subnet_id: SubnetId
    account_id: AccountId
    region: Region
    reason: Word
    vpc_id: OptionalVpcId = ""

    @property
    def finding(self) -> FindingId:
        """The finding."""
        return FindingId(self.account_id, self.region, self.subnet_id, self.reason)


class SubnetRow(FindingRow, rename="camel", kw_only=True):
    """What a row of a subnet must have, so that it can be a finding."""

    compliance: Compliance


class _Subnets(Struct):
    subnets: tuple[SubnetRow, ...]


def read_part(wanted: type[_Part], document: Description) -> _Part:
    """Return what a reader needs of a document. Raise RecordError if it is missing or not allowed."""
    return read_as(wanted, document, DOCUMENT, _name_of)


def _name_of(field: str, place: int, item: Description) -> str:
    """Return what messages call an item of a list."""
    names = (item.get(key) for key in _NAMES)
    return next(
        (name[:_MOST_OF_A_NAME] for name in names if isinstance(name, str) and name and name.isprintable()),
        f"{field}[{place}]",
    )


def findings_of(rows: Iterable[SubnetRow]) -> dict[FindingId, str]:
    """Return the findings among the rows, each once, with its VPC."""
    return {row.finding: row.vpc_id for row in rows if row.compliance is Compliance.NON_COMPLIANT}


def read_findings(file: Path) -> list[FindingId]:
    """Return the findings in a file, each once. Raise OptionError if it is not the JSON output of a scan."""
    document = read_json(file, WRITTEN_BY)
    with faults_in(file, WRITTEN_BY):
        return list(findings_of(read_part(_Subnets, document).subnets))
