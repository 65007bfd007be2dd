"""PutConformancePack, DeleteConformancePack, DescribeConformancePacks and DescribeConformancePackStatus."""

import time
from typing import Any

from moto.config.exceptions import InvalidParameterValueException
from moto.config.models import ConfigBackend

from sandbox.config_service import checks
from sandbox.config_service.packs import role, sources
from sandbox.config_service.packs.deployment import delete, deploy
from sandbox.config_service.packs.errors import TooManyPacksError
from sandbox.config_service.packs.memory import Pack, new_pack, packs_of
from sandbox.config_service.packs.requests import Parameters, pack_name, pack_names, page
from sandbox.config_service.packs.template import read
from sandbox.config_service.results import ConfigResults

MAXIMUM_PACKS = 50
"""Of an account: https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html."""

MAXIMUM_PARAMETERS = 60
MAXIMUM_PARAMETER_NAME = 255
MAXIMUM_PARAMETER_VALUE = 4096
"""Input parameters of a custom pack (botocore model)."""

MAXIMUM_NAMES = 25
KEPT = ("DeliveryS3Bucket", "DeliveryS3KeyPrefix", "ConformancePackInputParameters")
"""Members of the request that DescribeConformancePacks gives back."""

CUSTOM = "CUSTOM"


def put(backend: ConfigBackend, _results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer PutConformancePack: create a pack, or update the one of this name, whose tags then stay.

    The rules are there at once, yet the state says so only after it was IN_PROGRESS for a while. A pack whose creation
    failed is created again by the next request; that its state is CREATE_IN_PROGRESS then is UNVERIFIED.
    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConformancePack.html
    """
    name, packs = pack_name(parameters), packs_of(backend)
    given = _input(parameters)
    body = sources.text(backend, parameters)
    pseudo = {
        "AWS::AccountId": backend.account_id,
        "AWS::Region": backend.region_name,
        "AWS::Partition": backend.partition,
    }
    resources = read(body, given, pseudo)
    pack = packs.known.get(name)
    if pack is None:
        if len(packs.known) >= MAXIMUM_PACKS:
            raise TooManyPacksError(MAXIMUM_PACKS)
        pack = new_pack(backend, parameters)
    pack.begin("UPDATE" if pack.stack_arn else "CREATE")
    packs.known[name] = pack
    pack.request, pack.requested = parameters, time.time()
    role.ensure(backend)
    deploy(backend, pack, resources)
    return {"ConformancePackArn": pack.arn}


def remove(backend: ConfigBackend, _results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer DeleteConformancePack: https://docs.aws.amazon.com/config/latest/APIReference/API_DeleteConformancePack.html."""
    pack = packs_of(backend).find(pack_name(parameters))
    pack.begin("DELETE")
    delete(backend, pack)
    return {}


def describe(backend: ConfigBackend, _results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer DescribeConformancePacks. NoSuchConformancePackException if one of the named packs does not exist."""
    packs, names = packs_of(backend), pack_names(parameters, MAXIMUM_NAMES)
    packs.look()
    chosen = [packs.find(name) for name in names] or _all(backend)
    for pack in chosen:
        pack.looks += pack.deleted  # whoever waits for the end of a pack may look here
    return page("ConformancePackDetails", [_detail(pack) for pack in _of_types(chosen, parameters)], parameters)


def status(backend: ConfigBackend, _results: ConfigResults, parameters: Parameters) -> dict[str, Any]:
    """Answer DescribeConformancePackStatus, which leaves out names that there are not (botocore model)."""
    packs, names = packs_of(backend), pack_names(parameters, MAXIMUM_NAMES)
    packs.look()
    chosen = [pack for pack in _all(backend) if not names or pack.name in names]
    answer = page("ConformancePackStatusDetails", _of_types(chosen, parameters), parameters)
    for pack in answer["ConformancePackStatusDetails"]:
        pack.looks += 1
    return answer | {"ConformancePackStatusDetails": [_status(pack) for pack in answer["ConformancePackStatusDetails"]]}


def _input(parameters: Parameters) -> dict[str, str]:
    """Return the input parameters by name, or raise ValidationException or InvalidParameterValueException."""
    rows = parameters.get("ConformancePackInputParameters") or []
    checks.length(rows, "conformancePackInputParameters", MAXIMUM_PARAMETERS)
    for row in rows:
        checks.length(row["ParameterName"], "parameterName", MAXIMUM_PARAMETER_NAME)
        checks.length(row["ParameterValue"], "parameterValue", MAXIMUM_PARAMETER_VALUE)
    found = {row["ParameterName"]: row["ParameterValue"] for row in rows}
    if len(found) < len(rows):
        raise InvalidParameterValueException("A parameter is given twice.")
    return found


def _all(backend: ConfigBackend) -> list[Pack]:
    return [pack for _, pack in sorted(packs_of(backend).known.items())]


def _of_types(chosen: list[Pack], parameters: Parameters) -> list[Pack]:
    """Return the packs of the wanted types; every pack of the sandbox is a custom one."""
    types = (parameters.get("Filters") or {}).get("Types") or [CUSTOM]
    return chosen if CUSTOM in types else []


def _detail(pack: Pack) -> dict[str, Any]:
    """Return a pack as the API's ConformancePackDetail (botocore model)."""
    return {
        **_identity(pack),
        "ConformancePackInputParameters": [],
        **{key: pack.request[key] for key in KEPT if key in pack.request},
    }


def _status(pack: Pack) -> dict[str, Any]:
    """Return a pack as the API's ConformancePackStatusDetail (botocore model)."""
    found = {
        **_identity(pack),
        "ConformancePackState": pack.state,
        "StackArn": pack.stack_arn,
        "ConformancePackStatusReason": None if pack.outcome else pack.reason,
        "LastUpdateCompletedTime": pack.completed,
    }
    return {key: value for key, value in found.items() if value is not None}


def _identity(pack: Pack) -> dict[str, Any]:
    return {
        "ConformancePackName": pack.name,
        "ConformancePackArn": pack.arn,
        "ConformancePackId": pack.pack_id,
        "LastUpdateRequestedTime": pack.requested,
        "Type": CUSTOM,
    }
