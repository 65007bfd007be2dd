"""Conformance packs of one account and Region, and the states that they pass through.

https://docs.aws.amazon.com/config/latest/APIReference/API_ConformancePackStatusDetail.html
"""

import random
import string
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moto.config.exceptions import ResourceInUseException
from moto.config.models import ConfigBackend

from sandbox.config_service.packs.errors import NoSuchPackError

IN_PROGRESS = "_IN_PROGRESS"
MAXIMUM_REASON = 2000
"""Characters of ConformancePackStatusReason (botocore model)."""


@dataclass
class Pack:
    """A conformance pack. `request` is the last PutConformancePack; times are seconds since 1970.

    `rules` and `remediations` are what is in place, as in Resources.

    `outcome` is the state that follows `state`, None if `state` lasts; after DELETE_IN_PROGRESS there is only None,
    and `deleted` is True. A pack whose creation failed has no `stack_arn`:
    https://docs.aws.amazon.com/config/latest/developerguide/troubleshooting-conformance-pack.html.
    """

    name: str
    pack_id: str
    arn: str
    request: Mapping[str, Any]
    requested: float
    tags: dict[str, str]
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    remediations: dict[str, dict[str, Any]] = field(default_factory=dict)
    state: str = ""
    outcome: str | None = None
    reason: str | None = None
    completed: float | None = None
    stack_arn: str | None = None
    looks: int = 0
    deleted: bool = False

    def rule_name(self, name: str) -> str:
        """Return the name of the pack's rule that the template calls `name`.

        The suffix is the id of the pack: samples in
        https://docs.aws.amazon.com/config/latest/developerguide/compliance-history-conformance-pack.html.
        """
        return f"{name}-{self.pack_id}"

    @property
    def rule_names(self) -> list[str]:
        """The full names of the rules that the pack has now, sorted."""
        return sorted(map(self.rule_name, self.rules))

    def begin(self, action: str) -> None:
        """Enter CREATE_IN_PROGRESS, UPDATE_IN_PROGRESS or DELETE_IN_PROGRESS. ResourceInUseException if in another."""
        if self.state.endswith(IN_PROGRESS):
            raise ResourceInUseException(f"The conformance pack {self.name} is in the state {self.state}.")
        self.state, self.outcome, self.reason, self.looks = action + IN_PROGRESS, None, None, 0

    def end(self, outcome: str, reason: str | None = None) -> None:
        """Note the state in which what was begun ends, and why it failed if it did."""
        self.outcome, self.reason = outcome, reason and reason[:MAXIMUM_REASON]


@dataclass
class Packs:
    """The packs by name. `looks` is how often a pack is described in a state in progress before that has passed."""

    known: dict[str, Pack] = field(default_factory=dict)
    looks: int = 1

    def find(self, name: str) -> Pack:
        """Return a pack by its name. NoSuchConformancePackException."""
        if name not in self.known:
            raise NoSuchPackError(name)
        return self.known[name]

    def look(self) -> None:
        """Let every pack whose state has been described often enough reach the next one."""
        for pack in list(self.known.values()):
            if pack.state.endswith(IN_PROGRESS) and pack.looks >= self.looks:
                if pack.deleted:
                    del self.known[pack.name]
                    continue
                _settle(pack)


def _settle(pack: Pack) -> None:
    pack.state, pack.outcome = pack.outcome or pack.state, None
    if pack.state.endswith("_COMPLETE"):
        pack.completed = time.time()


def packs_of(backend: ConfigBackend) -> Packs:
    """Return the packs of one account and Region; they live and die with moto's backend, reset included."""
    memory: Packs = vars(backend).setdefault("express_path_packs", Packs())
    return memory


def new_pack(backend: ConfigBackend, request: Mapping[str, Any]) -> Pack:
    """Return a pack that is to be created, with the ARN that it will have.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsconfig.html
    """
    name = request["ConformancePackName"]
    pack_id = f"conformance-pack-{''.join(random.choices(string.ascii_lowercase + string.digits, k=9))}"
    prefix = f"arn:{backend.partition}:config:{backend.region_name}:{backend.account_id}"
    tags = {tag["Key"]: tag.get("Value", "") for tag in request.get("Tags", [])}
    return Pack(name, pack_id, f"{prefix}:conformance-pack/{name}/{pack_id}", request, time.time(), tags)


def stack_arn(backend: ConfigBackend, pack: Pack) -> str:
    """Return the ARN of the stack behind a pack, which CloudFormation's own calls do not know here.

    https://docs.aws.amazon.com/config/latest/developerguide/conformance-pack-cli.html
    """
    prefix = f"arn:{backend.partition}:cloudformation:{backend.region_name}:{backend.account_id}"
    return f"{prefix}:stack/awsconfigconforms-{pack.name}-{pack.pack_id}/{uuid.uuid4()}"
