"""The Price List Query API, which moto lacks, with the products that a test adds."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from config_rule_sandbox.dynamic import Moto

Application = Callable[[dict[str, Any], Moto], Iterable[bytes]]
ENDPOINTS = frozenset({"us-east-1", "eu-central-1", "ap-south-1"})
"""The Region that answers (https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html)."""
_PAGE = 100


class Prices:
    """A WSGI application in front of another one, which answers GetProducts."""

    def __init__(self) -> None:
        """List nothing."""
        self._products: list[dict[str, Any]] = []

    def reset(self) -> None:
        """Remove all products."""
        self._products.clear()

    def list_nat_gateway(
        self, region: str, usage_type: str, price: str, currency: str = "USD", unit: str = "GB"
    ) -> None:
        """List a product of NAT gateways, such as EUW2-NatGateway-Bytes, in the shape that AWS gives it.

        https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-services.html.
        """
        sku = f"SKU{len(self._products):013}"
        attributes = {"servicecode": "AmazonEC2", "regionCode": region, "usagetype": usage_type}
        dimension = {"unit": unit, "beginRange": "0", "endRange": "Inf", "pricePerUnit": {currency: price}}
        term = {"sku": sku, "priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": dimension}}
        self._products.append(
            {
                "product": {"productFamily": "NAT Gateway", "sku": sku, "attributes": attributes},
                "serviceCode": "AmazonEC2",
                "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": term}},
            }
        )

    def before(self, application: Application) -> Application:
        """Return an application that answers requests to the Price List itself and leaves all others to another one."""

        def serve(environ: dict[str, Any], start_response: Moto) -> Iterable[bytes]:
            scope = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition(",")[0].split("/")
            if scope[3:4] != ["pricing"]:
                return application(environ, start_response)
            if scope[2] not in ENDPOINTS:
                raise ConnectionError(f"the Price List has no endpoint in {scope[2]}")
            if environ.get("HTTP_X_AMZ_TARGET") != "AWSPriceListService.GetProducts":
                raise NotImplementedError("the sandbox answers only GetProducts")
            asked = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            body = json.dumps(self._answer(asked)).encode()
            headers = [("Content-Type", "application/x-amz-json-1.1"), ("Content-Length", str(len(body)))]
            start_response("200 OK", headers)
            return [body]

        return serve

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return a page of the products that match every filter, each as a string of JSON (botocore model: pricing)."""
        found = [
            product for product in self._products if all(_fits(product, wanted) for wanted in asked.get("Filters", []))
        ]
        start = int(asked.get("NextToken") or 0)
        size = asked.get("MaxResults", _PAGE)
        more = {"NextToken": str(start + size)} if start + size < len(found) else {}
        return {"FormatVersion": "aws_v1", "PriceList": list(map(json.dumps, found[start : start + size])), **more}


def _fits(product: dict[str, Any], wanted: dict[str, str]) -> bool:
    if wanted["Type"] != "TERM_MATCH":
        raise NotImplementedError(f"the sandbox does not filter by {wanted['Type']}")
    described = product["product"]
    found = {**described["attributes"], "productFamily": described["productFamily"]}
    return bool(found.get(wanted["Field"]) == wanted["Value"])
