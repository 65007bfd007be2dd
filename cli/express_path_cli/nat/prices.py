"""The price per GB that a NAT gateway processes, from the AWS Price List."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from express_path.adapters.aws import Aws, pages


class Basis(StrEnum):
    """The source of a price."""

    GIVEN = "given"
    LISTED = "listed"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Price:
    """The price per GB that a NAT gateway processes, in US dollars."""

    usd_per_gb: float
    basis: Basis


ASSUMED_PRICE = Price(0.045, Basis.ASSUMED)
"""The price in us-east-1 in 2026 (https://aws.amazon.com/vpc/pricing/), used if no other is known."""

_ENDPOINT = "us-east-1"
"""The Price List has endpoints in a few Regions only, with the prices of all Regions
(https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html)."""

# Usage types carry a prefix for the Region, except some of us-east-1; NatGateway-Prvd-Bytes is another product.
_USAGE_TYPE = re.compile(r"(?:[A-Z0-9]+-)?(?P<kind>NatGateway|RegionalNatGateway)-Bytes")


def listed_prices(aws: Aws, region: str) -> dict[str, Price]:
    """Read the prices of a Region: NatGateway (zonal and private NAT gateways) and RegionalNatGateway.

    A price that AWS does not list in US dollars is absent. Raise ApiError.
    """
    wanted = {"productFamily": "NAT Gateway", "regionCode": region}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    pricing = replace(aws, region=_ENDPOINT).client("pricing")
    rows = pages(pricing, "pricing", "get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters)
    prices: dict[str, Price] = {}
    for kind, price in _prices(json.loads(str(row)) for row in rows):
        # If a kind has several prices, the highest one keeps the cost an upper bound.
        prices[kind] = max(price, prices.get(kind, price), key=lambda price: price.usd_per_gb)
    return prices


def _prices(products: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Price]]:
    for product in products:
        usage = _USAGE_TYPE.fullmatch(product["product"]["attributes"].get("usagetype", ""))
        terms = product.get("terms", {}).get("OnDemand", {}).values()
        dollars = [
            float(dimension["pricePerUnit"]["USD"])
            for term in terms
            for dimension in term["priceDimensions"].values()
            if dimension["unit"] == "GB" and "USD" in dimension["pricePerUnit"]
        ]
        if usage and dollars:
            yield usage["kind"], Price(max(dollars), Basis.LISTED)
