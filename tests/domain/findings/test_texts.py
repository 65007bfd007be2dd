"""What findings in all formats share."""

from express_path.domain.findings.texts import finding_id, path_text, severity
from tests.support.make import by_id, route, snapshot, subnet, table, verdict_on


def test_a_subnet_behind_a_nat() -> None:
    """Its severity, its path, and an ID that says where it is; a subnet without a path is no problem."""
    nat = table("rtb-1", route("0.0.0.0/0", "nat-1"), subnets=("subnet-1",))
    network = snapshot(subnets=by_id(subnet(), subnet("subnet-2")), route_tables=by_id(nat, table("rtb-2", main=True)))
    flagged, isolated = verdict_on(network), verdict_on(network, "subnet-2")
    assert (severity(flagged), path_text(flagged)) == ("MEDIUM", "0.0.0.0/0 -> nat-1")
    assert (severity(isolated), path_text(isolated)) == ("INFORMATIONAL", "")
    assert finding_id("rule", "123456789012", "us-east-1", "subnet-1") == "rule/123456789012/us-east-1/subnet-1"
