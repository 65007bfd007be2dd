"""StartAutomationExecution: which runbook, with which parameters, as whom."""

from typing import Any

from moto.ssm.exceptions import (
    InvalidDocument,
    SSMException,
)
from moto.ssm.models import Document as StoredDocument
from moto.ssm.models import ssm_backends

from config_rule_sandbox.answers import Answers
from config_rule_sandbox.ssm import parameters, reading
from config_rule_sandbox.ssm.document import Document
from config_rule_sandbox.ssm.execution import Execution
from config_rule_sandbox.ssm.references import resolve
from config_rule_sandbox.ssm.roles import Caller

UNDERSTOOD = {"DocumentName", "DocumentVersion", "Parameters", "ClientToken", "Mode", "Tags"}
"""Members of the request that this executor honours."""

AUTOMATION = "Automation"
VERSIONS = {"$DEFAULT": None}


class UnsupportedMemberError(SSMException):
    """A member of a request that AWS has and this executor does not."""

    def __init__(self, member: str) -> None:
        super().__init__("ValidationException", f"The sandbox does not support {member}.")


def prepare(request: dict[str, Any], caller: Caller, account_id: str, region: str, answers: Answers) -> Execution:
    """Return the execution that a checked request asks for; it does not run yet.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_StartAutomationExecution.html
    """
    for member in sorted(set(request) - UNDERSTOOD):
        raise UnsupportedMemberError(member)
    if request.get("Mode", "Auto") != "Auto":
        raise UnsupportedMemberError("the mode Interactive")
    stored, document = find_runbook(request["DocumentName"], request.get("DocumentVersion"), account_id, region)
    given: dict[str, list[str]] = request.get("Parameters") or {}
    execution = Execution(
        stored.name,
        stored.document_version,
        document,
        parameters.supplied(document.parameters, given),
        given,
        caller.arn,
        account_id,
        region,
        answers,
    )
    execution.assume_role = resolve(document.assume_role, execution.lookup)
    return execution


def find_runbook(name: str, version: str | None, account_id: str, region: str) -> tuple[StoredDocument, Document]:
    """Return a stored runbook by its name or ARN and version (the default one if None), and what it says.

    SSMException with AutomationDefinitionNotFoundException or AutomationDefinitionVersionNotFoundException.
    """
    stored = _stored(name, version, account_id, region)
    return stored, reading.read(stored.content, stored.document_format)


def _stored(name: str, version: str | None, account_id: str, region: str) -> StoredDocument:
    documents = ssm_backends[account_id][region]._documents.get(_own_name(name, account_id, region))
    if documents is None or documents.get_default_version().document_type != AUTOMATION:
        raise SSMException(
            "AutomationDefinitionNotFoundException", f"Automation Definition with Name: {name} can not be found."
        )
    try:
        return documents.find(VERSIONS.get(str(version), version))
    except InvalidDocument as error:
        raise SSMException(
            "AutomationDefinitionVersionNotFoundException",
            f"Automation Definition with Name: {name} and Version: {version} can not be found.",
        ) from error


def _own_name(name: str, account_id: str, region: str) -> str:
    """Return the name in the ARN of a document of this account and Region; anything else is as it is."""
    return name.partition(f":ssm:{region}:{account_id}:document/")[2] or name
