"""What a test can set for EC2: page sizes, how long states last, quotas."""

from dataclasses import dataclass, field, fields
from typing import Any


@dataclass
class Knobs:
    """Settings of the corrections, read at every call; `reset()` of the sandbox turns them back to these defaults."""

    page_size: int | None = None
    """Items on a page when the caller names no MaxResults; None means everything at once."""

    pending_describes: int = 0
    """How often a new endpoint or NAT gateway is described as `pending` before it is `available`."""

    stale_describes: int = 0
    """How often an endpoint is still described with the route tables that it had before ModifyVpcEndpoint."""

    gateway_endpoints: int = 20
    """Quota of gateway endpoints in a Region: https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html."""

    undeletable_endpoints: bool = False
    """If true, DeleteVpcEndpoints refuses every endpoint, as it refuses those that a service manages."""

    shares: list[Any] = field(default_factory=list)
    """Subnets that are shared with other accounts: set through `Sharing.share_subnet`."""

    def reset(self) -> None:
        """Turn every knob back to its default."""
        fresh = Knobs()
        for knob in fields(self):
            setattr(self, knob.name, getattr(fresh, knob.name))
