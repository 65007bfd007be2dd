"""Where the text of a template comes from: the request, or an S3 object.

https://docs.aws.amazon.com/config/latest/APIReference/API_PutConformancePack.html
"""

from typing import Any

from moto.config.exceptions import (
    InsufficientPermissionsException,
    InvalidParameterValueException,
    ValidationException,
)
from moto.config.models import ConfigBackend
from moto.core.exceptions import ServiceException
from moto.s3.models import S3Backend, s3_backends

from sandbox.config_service import checks

SOURCES = ("TemplateBody", "TemplateS3Uri", "TemplateSSMDocumentDetails", "Source")
UNSUPPORTED = ("TemplateSSMDocumentDetails", "Source", "Scope")
"""Members of the request that the sandbox does not do: moto keeps no SSM document of the type ConformancePackTemplate,
and managed packs are AWS's own."""

MAXIMUM_BODY = 51_200
MAXIMUM_OBJECT = 300 * 1024
"""Bytes of a template in the request and of one in S3 (botocore model)."""

MAXIMUM_URI = 1024
ARCHIVED = ("GLACIER", "DEEP_ARCHIVE")


def text(backend: ConfigBackend, request: dict[str, Any]) -> str:
    """Return the text of the one template that a request names.

    ValidationException, InvalidParameterValueException or InsufficientPermissionsException if there is not just one,
    it is too large, or cannot be read.
    """
    given = [source for source in SOURCES if request.get(source)]
    if len(given) != 1:
        raise InvalidParameterValueException(f"Specify exactly one of {', '.join(SOURCES)}, not {given}.")
    for member in UNSUPPORTED:
        if request.get(member):
            raise InvalidParameterValueException(f"The sandbox does not support {member}.")
    if given == ["TemplateS3Uri"]:
        return _of_object(backend, request["TemplateS3Uri"])
    body: str = request["TemplateBody"]
    if len(body.encode()) > MAXIMUM_BODY:
        raise ValidationException(f"The templateBody has more than {MAXIMUM_BODY} bytes.")
    return body


def _of_object(backend: ConfigBackend, uri: str) -> str:
    """Return the text of an S3 object of the same account and Region.

    What cannot be read, for whatever reason, is answered by InsufficientPermissionsException (botocore model); the
    codes for another Region, an archived or a too large object are UNVERIFIED.
    """
    checks.length(uri, "templateS3Uri", MAXIMUM_URI, 1)
    bucket_name, slash, key = uri.removeprefix("s3://").partition("/")
    if not uri.startswith("s3://") or not slash or not key:
        raise ValidationException("The templateS3Uri must satisfy the pattern s3://.*, with a bucket and a key.")
    storage: S3Backend = s3_backends[backend.account_id][backend.partition]
    try:
        bucket, found = storage.get_bucket(bucket_name), storage.get_object(bucket_name, key)
    except ServiceException as error:
        raise InsufficientPermissionsException(f"AWS Config cannot read {uri}: {error}") from error
    if found is None:
        raise InsufficientPermissionsException(f"AWS Config cannot read {uri}: there is no such object.")
    if bucket.region_name != backend.region_name:
        raise InvalidParameterValueException(f"{uri} is in {bucket.region_name}, not in {backend.region_name}.")
    if found.storage_class in ARCHIVED or len(found.value) > MAXIMUM_OBJECT:
        raise InvalidParameterValueException(f"{uri} is archived, or has more than {MAXIMUM_OBJECT} bytes.")
    return bytes(found.value).decode()
