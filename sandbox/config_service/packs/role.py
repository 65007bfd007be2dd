"""The service-linked role with which AWS Config deploys packs."""

import contextlib
import json

from moto.config.models import ConfigBackend
from moto.iam.exceptions import EntityAlreadyExists
from moto.iam.models import iam_backends

from sandbox.config_service.packs.deployment import SERVICE

NAME = "AWSServiceRoleForConfigConforms"


def ensure(backend: ConfigBackend) -> None:
    """Make the role, unless the account has it already, as PutConformancePack does.

    https://docs.aws.amazon.com/config/latest/APIReference/API_PutConformancePack.html
    """
    trust = {"Effect": "Allow", "Principal": {"Service": [SERVICE]}, "Action": ["sts:AssumeRole"]}
    with contextlib.suppress(EntityAlreadyExists):
        iam_backends[backend.account_id][backend.partition].create_role(
            NAME,
            json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
            f"/aws-service-role/{SERVICE}/",
            permissions_boundary=None,
            description="",
            tags=[],
            max_session_duration="3600",
            linked_service=SERVICE,
        )
