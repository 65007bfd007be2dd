"""The labels of a verdict's resources: their Name tags, and the tags that the user selected, such as an owner."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from express_path.domain.network.resources import Tags
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.sources.network import View

_NO_TAGS: Tags = {}


class Names(NamedTuple):
    """The Name tags of a subnet, its route table and its VPC; empty without one. A tuple, since a scan has many."""

    subnet: str
    route_table: str
    vpc: str

    def fields(self) -> dict[str, str]:
        """Return the names as documents have them, without those that are empty."""
        named = {"subnet": self.subnet, "routeTable": self.route_table, "vpc": self.vpc}
        return {field: name for field, name in named.items() if name}


def notes_on_tags(views: Sequence[View], tag_keys: Iterable[str]) -> list[str]:
    """Return a note for each selected key that no resource has: it is misspelled, or nobody has set the tag yet."""
    missing = (key for key in tag_keys if not any(key in tags for tags in _all_tags(views)))
    return [
        f"no subnet, route table or VPC that was read has the tag {key} (keys are case-sensitive)"
        for key in missing
        if views
    ]


def _all_tags(views: Iterable[View]) -> Iterator[Tags]:
    """Yield the tags of every resource once; the accounts of one Region share a snapshot."""
    for tracer in dict.fromkeys(view.tracer for view in views):
        snapshot = tracer.snapshot
        for resources in (snapshot.subnets, snapshot.route_tables, snapshot.vpcs):
            for resource in resources.values():
                yield resource.tags


class ResourceLabels:
    """The labels of the resources in the networks that were read."""

    def __init__(self, views: Iterable[View], tag_keys: Iterable[str] = ()) -> None:
        """Look up resources in these views, and the tags with these keys."""
        self._snapshots = {(view.account.id, view.region): view.tracer.snapshot for view in views}
        self._tag_keys = tuple(tag_keys)

    def names(self, verdict: Verdict) -> Names:
        """Return the names of a verdict's subnet, route table and VPC."""
        return _names(self._tags(verdict))

    def subnet_name(self, verdict: Verdict) -> str:
        """Return the name of a verdict's subnet, empty without one."""
        snapshot = self._snapshots.get((verdict.account_id, verdict.region))
        subnet = snapshot.subnets.get(verdict.subnet_id) if snapshot else None
        return subnet.tags.get("Name", "") if subnet else ""

    def tags(self, verdict: Verdict) -> Mapping[str, str]:
        """Return the selected tags that a verdict's subnet has, or else its route table, or else its VPC."""
        if not self._tag_keys:
            return _NO_TAGS
        found: dict[str, str] = {}
        for tags in self._tags(verdict):
            found |= {key: tags[key] for key in self._tag_keys if key in tags and key not in found}
        return {key: found[key] for key in self._tag_keys if key in found}

    def _tags(self, verdict: Verdict) -> tuple[Tags, Tags, Tags]:
        """Return the tags of a verdict's subnet, route table and VPC."""
        snapshot = self._snapshots.get((verdict.account_id, verdict.region))
        return _tags_in(snapshot, verdict) if snapshot else (_NO_TAGS, _NO_TAGS, _NO_TAGS)


def names_in(snapshot: Snapshot, verdict: Verdict) -> Names:
    """Return the names that a verdict's subnet, route table and VPC have in a snapshot."""
    return _names(_tags_in(snapshot, verdict))


def _names(tags: tuple[Tags, Tags, Tags]) -> Names:
    subnet, route_table, vpc = tags
    return Names(subnet.get("Name", ""), route_table.get("Name", ""), vpc.get("Name", ""))


def _tags_in(snapshot: Snapshot, verdict: Verdict) -> tuple[Tags, Tags, Tags]:
    subnet = snapshot.subnets.get(verdict.subnet_id)
    route_table = snapshot.route_tables.get(verdict.route_table_id or "")
    vpc = snapshot.vpcs.get(verdict.vpc_id)
    return (
        subnet.tags if subnet else _NO_TAGS,
        route_table.tags if route_table else _NO_TAGS,
        vpc.tags if vpc else _NO_TAGS,
    )
