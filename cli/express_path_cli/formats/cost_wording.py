"""What the formats of cost say in the same words."""

from express_path_cli.cost.charges import Basis

UPPER_BOUND = (
    "Upper bound: the metrics of NAT gateways do not record destinations, so all processed bytes count. "
    "S3 Express is at most that."
)
LEFT_ASIDE = "Hourly charges are left aside: the NAT gateways stay for other traffic."
BASIS = {
    Basis.GIVEN: "as given",
    Basis.LISTED: "AWS Price List",
    Basis.ASSUMED: "a guess: the price of us-east-1",
}
"""Where a price comes from, as a person says it."""
