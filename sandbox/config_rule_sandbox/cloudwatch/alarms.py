"""When an alarm on one metric goes off. moto keeps the state that a test sets."""

from collections.abc import Mapping, Sequence
from operator import ge, gt, lt
from typing import Any

COMPARISONS = {
    "GreaterThanOrEqualToThreshold": ge,
    "GreaterThanThreshold": gt,
    "LessThanThreshold": lt,
}


def alarm_state(alarm: Mapping[str, Any], values: Sequence[float | None], extra: int = 0) -> str:
    """Return the state that CloudWatch gives an alarm after these periods. None means that a period has no data.

    CloudWatch reads a few periods more than it evaluates, `extra`, and does not document how many. If there are enough
    data points among them, the most recent ones decide. Otherwise, missing ones are filled in:
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
    """
    periods, threshold = int(alarm["EvaluationPeriods"]), float(alarm["Threshold"])
    compared = COMPARISONS[alarm["ComparisonOperator"]]
    found = [value for value in values[-(periods + extra) :] if value is not None][-periods:]
    missing = {"breaching": True, "notBreaching": False}[alarm["TreatMissingData"]]
    breaching = [compared(value, threshold) for value in found] + [missing] * (periods - len(found))
    return "ALARM" if sum(breaching) >= int(alarm.get("DatapointsToAlarm", periods)) else "OK"
