"""The demonstration's first half: the rule flags a VPC, the endpoint is fixed by hand, and the verdicts change."""

from collections.abc import Sequence

from config_rule_sandbox.iam.unchecked import unchecked
from demo.situations import Situation
from demo.stage import Expected, Stage
from demo.verdicts import Row

BEFORE: Expected = {
    "public-a": ("COMPLIANT", "INTERNET_GATEWAY"),
    "private-a": ("NON_COMPLIANT", "NAT_GATEWAY"),
    "private-b": ("NON_COMPLIANT", "NAT_GATEWAY"),
    "private-c": ("NON_COMPLIANT", "NAT_GATEWAY"),
    "isolated": ("NOT_APPLICABLE", "NO_ROUTE"),
}
"""The expected verdicts while the endpoint is associated with a route table that no subnet uses."""

AFTER: Expected = {
    **BEFORE,
    "private-a": ("COMPLIANT", "ENDPOINT"),
    "private-b": ("COMPLIANT", "ENDPOINT"),
    "private-c": ("COMPLIANT", "ENDPOINT"),
}
"""The expected verdicts when the private subnets' route table is associated."""

FIX = "A gateway endpoint is free. Open connections to S3 Express drop when traffic moves to it."


def fix_by_hand(stage: Stage, situation: Situation) -> None:
    """Show the verdicts on a VPC before and after its endpoint gets the route table that the private subnets use."""
    before = stage.verdicts("AWS Config records the VPC and invokes the rule: {} events", BEFORE, situation)
    stage.narrator.say(_summary(before))
    endpoint_id, table_id = situation["vpce-s3express"], situation["rtb-private"]
    title = "The fix by hand: associate the endpoint with the private subnets' route table"
    with stage.narrator.step(title, "associating it"), unchecked():  # whoever owns the network may change it
        stage.sandbox.client("ec2").modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    options = [f"--vpc-endpoint-id {endpoint_id}", f"--add-route-table-ids {table_id}"]
    stage.narrator.command(["aws ec2 modify-vpc-endpoint", *options])
    stage.narrator.say(FIX)
    after = stage.verdicts(
        "AWS Config records the change and invokes the rule again: {} events", AFTER, situation, was=before
    )
    stage.narrator.say(_summary(after))


def _summary(found: Sequence[Row]) -> str:
    through_nat = [row.subnet for row in found if row.compliance == "NON_COMPLIANT"]
    if not through_nat:
        return "No subnet reaches S3 Express through a NAT."
    return f"{len(through_nat)} of {len(found)} subnets reach S3 Express through a NAT: {', '.join(through_nat)}."
