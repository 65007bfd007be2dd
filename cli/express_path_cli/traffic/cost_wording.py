"""The sentences that every format of cost uses."""

from express_path_cli.nat.prices import Basis

UPPER_BOUND = (
    "Upper bound: NAT gateway metrics do not record destinations, so all processed bytes are counted. "
    "S3 Express costs at most this much."
)
HOURLY_CHARGES = "Hourly charges are not included: the NAT gateways stay for other traffic."
PRICE_BASIS = {
    Basis.GIVEN: "from --price-per-gb",
    Basis.LISTED: "AWS Price List",
    Basis.ASSUMED: "assumed: the price in us-east-1",
}
"""The source of a price, in words."""
