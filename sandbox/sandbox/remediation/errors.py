"""The errors of AWS Config's remediation calls (botocore model)."""

from moto.core.exceptions import JsonRESTError


class NoSuchRemediationConfigurationError(JsonRESTError):
    """The rule has no remediation configuration."""

    code = 400

    def __init__(self, rule_name: str) -> None:
        super().__init__(
            "NoSuchRemediationConfigurationException", f"The rule {rule_name} has no remediation configuration."
        )


class RemediationInProgressError(JsonRESTError):
    """A remediation of the rule runs."""

    code = 400

    def __init__(self, rule_name: str) -> None:
        super().__init__("RemediationInProgressException", f"A remediation of the rule {rule_name} is in progress.")


class NoSuchRemediationExceptionError(JsonRESTError):
    """There is no such remediation exception."""

    code = 400

    def __init__(self, rule_name: str) -> None:
        super().__init__("NoSuchRemediationExceptionException", f"The rule {rule_name} has no such exception.")
