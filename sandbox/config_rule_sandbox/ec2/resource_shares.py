"""The list of AWS Resource Access Manager of what an account shares: its subnets, as EC2 shows them to others."""

import json
from typing import Any

from moto.ram import urls
from moto.ram.responses import ResourceAccessManagerResponse

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

PAGE = 500
"""The most resources that a page holds (botocore model: ram ListResourcesRequest)."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Answer ListResources, which moto lacks, for the subnets that were shared through `Sharing.share_subnet`.

    A resource is listed once for each resource share that it is in
    (https://docs.aws.amazon.com/ram/latest/APIReference/API_ListResources.html); here each participant has a share.
    """

    def list_resources(self: Moto) -> str:
        """Return one page of the shared subnets of the caller, or of those that others share with the caller."""
        asked = self.request_params
        is_own = asked["resourceOwner"] == "SELF"
        of_subnets = asked.get("resourceType", "ec2:Subnet") == "ec2:Subnet"
        found = [
            _resource(share)
            for share in knobs.shares
            if of_subnets
            and share.region == self.region
            and self.current_account == (share.owner if is_own else share.participant)
        ]
        first = int(asked.get("nextToken", 0))
        end = first + (asked.get("maxResults") or knobs.page_size or PAGE)
        more = {"nextToken": str(end)} if end < len(found) else {}
        return json.dumps({"resources": found[first:end], **more})

    paths = {**urls.url_paths, "{0}/listresources$": ResourceAccessManagerResponse.dispatch}
    patches.set(urls, "url_paths", paths)
    patches.set(ResourceAccessManagerResponse, "list_resources", list_resources)


def _resource(share: Moto) -> dict[str, Any]:
    return {
        "arn": f"arn:aws:ec2:{share.region}:{share.owner}:subnet/{share.subnet_id}",
        "type": "ec2:Subnet",
        "resourceShareArn": f"arn:aws:ram:{share.region}:{share.owner}:resource-share/{share.participant}",
        "status": "AVAILABLE",
        "resourceRegionScope": "REGIONAL",
    }
