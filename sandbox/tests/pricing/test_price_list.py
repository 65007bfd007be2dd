"""The Price List as on AWS: in a few Regions, with filters that must all match, and pages of JSON strings."""

import json

from config_rule_sandbox.server import Sandbox

FAMILY = {"Type": "TERM_MATCH", "Field": "productFamily", "Value": "NAT Gateway"}


def region(name: str) -> dict[str, str]:
    """Return a filter by Region."""
    return {"Type": "TERM_MATCH", "Field": "regionCode", "Value": name}


def test_products_match_all_filters_and_come_as_strings(sandbox: Sandbox) -> None:
    """Each product is a document with its attributes and its on-demand terms.

    https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/price-list-query-api-find-services-products.html.
    """
    for name in ("eu-west-2", "us-east-1"):
        sandbox.prices.list_nat_gateway(name, "NatGateway-Bytes", "0.05")
    answer = sandbox.client("pricing").get_products(ServiceCode="AmazonEC2", Filters=[FAMILY, region("eu-west-2")])
    [product] = map(json.loads, answer["PriceList"])
    assert product["product"]["attributes"]["regionCode"] == "eu-west-2"
    [term] = product["terms"]["OnDemand"].values()
    [dimension] = term["priceDimensions"].values()
    assert (dimension["unit"], dimension["pricePerUnit"]) == ("GB", {"USD": "0.05"})
