"""The errors of AWS Config's conformance packs (botocore model)."""

from collections.abc import Iterable

from moto.core.exceptions import JsonRESTError


class NoSuchPackError(JsonRESTError):
    """There is no conformance pack of this name."""

    code = 400

    def __init__(self, name: str) -> None:
        super().__init__("NoSuchConformancePackException", f"The conformance pack {name} does not exist.")


class NoSuchRuleInPackError(JsonRESTError):
    """A filter names a rule that the pack does not have."""

    code = 400

    def __init__(self, pack: str, rule: str) -> None:
        super().__init__(
            "NoSuchConfigRuleInConformancePackException",
            f"The conformance pack {pack} has no rule {rule}; give its full name, with the suffix of the pack.",
        )


class TooManyPacksError(JsonRESTError):
    """The account has as many conformance packs as it may have."""

    code = 400

    def __init__(self, limit: int) -> None:
        super().__init__(
            "MaxNumberOfConformancePacksExceededException", f"The limit of {limit} conformance packs is reached."
        )


class TemplateError(JsonRESTError):
    """A template that AWS Config does not take, or that asks for what the sandbox lacks.

    The sentence is AWS's own, as https://github.com/awslabs/aws-config-rules/issues/430 shows it.
    """

    code = 400

    def __init__(self, *faults: str) -> None:
        super().__init__(
            "ConformancePackTemplateValidationException",
            f"Invalid conformance pack template provided. Errors found: [{'; '.join(faults)}]. "
            "Fix your template and try again.",
        )


class ServiceLinkedRuleError(JsonRESTError):
    """An AWS service owns the rule, so that only this service may change it.

    https://docs.aws.amazon.com/config/latest/developerguide/troubleshooting-conformance-pack.html has code and message.
    """

    code = 400

    def __init__(self) -> None:
        super().__init__(
            "AccessDeniedException",
            "An AWS service owns ServiceLinkedConfigRule. You do not have permissions to take action on this rule.",
        )


def unsupported(what: str, supported: Iterable[str] = ()) -> TemplateError:
    """Return the error for a part of a template that the sandbox does not do, although AWS may."""
    names = ", ".join(supported)
    return TemplateError(f"the sandbox does not support {what}" + (f", only {names}" if names else ""))
