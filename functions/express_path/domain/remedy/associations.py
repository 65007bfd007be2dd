"""Associate route tables with one gateway endpoint: the remedy for one finding, or for several route tables."""

import re
from collections.abc import Sequence
from dataclasses import replace

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.heal.ledger import owner_tag
from express_path.domain.heal.patches import associate_patches, create_patches
from express_path.domain.heal.records import FULL_ACCESS, HealSettings
from express_path.domain.network.resources import TargetKind, VpcEndpoint
from express_path.domain.path.outcomes import nat_on
from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.remedy.texts import PAGES, Names, Remedy, association_text, listed
from express_path.domain.remedy.unresolved_egress import how_to_find_out
from express_path.domain.verdict.evaluator import Verdict


def association(verdicts: Sequence[Verdict], endpoint: VpcEndpoint) -> Remedy:
    """Return the remedy that associates the route tables of all these verdicts with an endpoint, in one command."""
    table_ids = list(dict.fromkeys(str(verdict.route_table_id) for verdict in verdicts))
    names, url = _joint_names(verdicts, table_ids), PAGES[verdicts[0].reason]
    if endpoint.id == NEW_ENDPOINT:
        named = replace(names, endpoint=f"a new gateway endpoint for S3 Express in {names.vpc}")
        patches, owner = create_patches(endpoint, table_ids, FULL_ACCESS), ""
    else:
        named = replace(names, endpoint=f"gateway endpoint {endpoint.id}")
        patches, owner = associate_patches(endpoint, table_ids), owner_tag(endpoint, HealSettings())
    text = named.fill(association_text(verdict.reason for verdict in verdicts))
    if endpoint.id == NEW_ENDPOINT and len(table_ids) > 1:
        text += " One endpoint serves all of these route tables."
    if owner:
        text += f" {endpoint.id} has the tag {owner}: make the change in that tool."
    is_safe = all(re.fullmatch(r"[\w(). -]+", part) for part in (*table_ids, endpoint.id, endpoint.vpc_id))
    return Remedy(text, patches["cli"].strip(), url, patches) if is_safe else Remedy(text, url=url)


def _joint_names(verdicts: Sequence[Verdict], table_ids: Sequence[str]) -> Names:
    """Return the names in verdicts of one VPC together."""
    # Most subnets of a route table have the same path.
    distinct = {(verdict.reason, verdict.path): verdict for verdict in verdicts}
    names = [(verdict.reason, names_of(verdict)) for verdict in distinct.values()]
    nats = [found.nat for reason, found in names if reason in NAT_REASONS]
    appliances = [found.appliance for reason, found in names if reason is Reason.NAT_BEHIND_APPLIANCE]
    named = "route table " if len(table_ids) == 1 else "route tables "
    return replace(
        names[0][1],
        table=listed(table_ids, "and", "route tables", named),
        nat=listed(nats, "or", "NATs"),
        appliance=listed(appliances, "and", "appliances"),
    )


def names_of(verdict: Verdict) -> Names:
    """Return the names that the verdict itself contains."""
    names = Names(subnet=verdict.subnet_id, note=verdict.note, how=how_to_find_out(verdict))
    nat, first = nat_on(verdict.path), next(iter(verdict.path), None)
    appliance = next((hop for hop in verdict.path if hop.kind is TargetKind.APPLIANCE_ENDPOINT), first)
    return replace(
        names,
        table=f"route table {verdict.route_table_id}" if verdict.route_table_id else names.table,
        vpc=verdict.vpc_id or names.vpc,
        endpoint=f"a gateway endpoint for S3 Express in {verdict.vpc_id or names.vpc}",
        nat=nat.id if nat else names.nat,
        appliance=appliance.id if appliance else names.appliance,
        route=f"route {first.destination} -> {first.id}" if first else names.route,
    )
