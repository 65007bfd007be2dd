"""A VPC to heal among foreign resources, and what heals and undos of it promise."""

import json
from ipaddress import ip_network
from itertools import chain
from typing import Any

import pytest

from config_rule_sandbox.networks.central_egress import EVERY_VPC, Hub, attach
from express_path.domain.heal.ledger_records import ApprovalState, TableState
from tests.support.heals import Approval, Deployment, Run, Vpc, status
from tests.support.network import Builder


class Bench:
    """A VPC to heal, and foreign resources: in another VPC, and another endpoint and a route table in the same one.

    A spoke reaches S3 Express through that route table, so no heal may change it.
    """

    def __init__(self, deployment: Deployment, builder: Builder, patches: pytest.MonkeyPatch) -> None:
        """Make the other VPC."""
        self.deployment, self.builder, self.patches = deployment, builder, patches
        self.approval: Approval | None = None
        self.ledgers = [deployment.ledger]
        self._other = Vpc(builder).id
        builder.endpoint(self._other, deployment.tables(self._other)[-1]["RouteTableId"])
        self._hub = Hub(builder)
        self._hub.join(builder)
        lists = deployment.ec2.describe_prefix_lists()["PrefixLists"]
        [express] = [found["Cidrs"] for found in lists if found["PrefixListName"].endswith(".s3express")]
        self._addresses = chain.from_iterable(ip_network(block).hosts() for block in express)
        self.renew()

    def renew(self) -> None:
        """Make another VPC to heal."""
        self.vpc = Vpc(self.builder, tables=2)
        self.builder.endpoint(self.vpc.id, *self.vpc.tables, service="s3")
        attachment = attach(self.builder, self._hub.gateway, self.vpc.id, self.vpc.subnets[1])
        self._hub.lead(f"{next(self._addresses)}/32", attachment)
        self.builder.route(self.vpc.tables[1], EVERY_VPC, TransitGatewayId=self._hub.gateway)
        self.foreign, self.before = self.described_foreign(), self.described_table()

    def described(self) -> str:
        """Return the description of the route tables and S3 Express endpoints of the VPC, without the endpoints' states.

        A new endpoint becomes available by itself.
        """
        endpoints = [{**endpoint, "State": ""} for endpoint in self.deployment.endpoints(self.vpc.id)]
        return json.dumps([self.deployment.tables(self.vpc.id), endpoints], default=str)

    def described_table(self) -> str:
        """Return the description of the route table to heal, without the ids of associations, which change if one moves."""
        table = self._table(self.vpc.table)
        subnets = [association.get("SubnetId") for association in table.pop("Associations")]
        return json.dumps([table, subnets], default=str)

    def described_foreign(self) -> str:
        """Return the description of everything that no heal and no undo may change."""
        endpoints = self.deployment.ec2.describe_vpc_endpoints()["VpcEndpoints"]
        others = [
            found for found in endpoints if found["VpcId"] == self.vpc.id and found["ServiceName"].endswith(".s3")
        ]
        other_vpc = self.deployment.tables(self._other), self.deployment.endpoints(self._other)
        return json.dumps([other_vpc, others, self._table(self.vpc.tables[1])], default=str)

    def _table(self, table_id: str) -> dict[str, Any]:
        [found] = [table for table in self.deployment.tables(self.vpc.id) if table["RouteTableId"] == table_id]
        return found

    @property
    def endpoints(self) -> list[str]:
        """The S3 Express endpoints of the VPC to heal."""
        return [str(endpoint["VpcEndpointId"]) for endpoint in self.deployment.endpoints(self.vpc.id)]

    @property
    def is_healed(self) -> bool:
        """Whether the table that governs the subnet to heal has a route to an S3 Express endpoint."""
        [governing] = [
            table["RouteTableId"]
            for table in self.deployment.tables(self.vpc.id)
            if any(association.get("SubnetId") == self.vpc.subnet for association in table["Associations"])
        ]
        return any(governing in tables for tables in self.deployment.associations(self.vpc.id).values())

    @property
    def record(self) -> dict[str, Any]:
        """The ledger's item of the table to heal."""
        return self.deployment.ledger.item(f"TABLE#{self.vpc.table}")

    def check_ledgers(self) -> None:
        """Check that all states are known, and that the ledger has each endpoint and association, if only as intended."""
        items = [item for ledger in self.ledgers for item in ledger.items("")]
        assert {item["state"] for item in items if "state" in item} <= {*TableState}
        assert {item["approvalState"] for item in items if "approvalState" in item} <= {*ApprovalState}
        created = {endpoint_id for item in items for endpoint_id in item.get("createdIds", ())}
        creates = any("creationIntendedAt" in item and item["vpcId"] == self.vpc.id for item in items)
        intended = {(item["endpointId"], item["routeTableId"]) for item in items if "intendedAt" in item}
        for endpoint_id, table_ids in self.deployment.associations(self.vpc.id).items():
            assert endpoint_id in created or creates, f"the ledger does not have {endpoint_id}"
            for table_id in {*table_ids} - {self.vpc.tables[1]}:  # a team may use that one
                assert (endpoint_id, table_id) in intended, f"the ledger does not have the association of {table_id}"

    def require_approval(self) -> None:
        """Put the stack in mode APPROVAL."""
        self.approval = Approval(self.deployment, self.patches.setenv)

    def heal(self) -> Run:
        """Heal the subnet, approved if that is necessary."""
        if self.approval:
            self.approval.approve(self.vpc.subnet)
        return self.deployment.heal(self.vpc.subnet)

    def ask(self, answer: str = "Approve", **more: str) -> Run:
        """Run the approval runbook, and answer its request; with an empty answer, do not."""
        assert self.approval
        if not answer:
            return self.approval.run(self.vpc.subnet, **more)
        return self.approval.answer(self.approval.start(self.vpc.subnet, **more), answer)

    def undo(self, run_id: str) -> str:
        """Undo a heal, check everything that an undo promises, and return how it ended."""
        run_item = self.deployment.ledger.item(f"RUN#{run_id}")
        table, endpoints = self.described_table(), self.endpoints
        calls = self.deployment.sandbox.calls
        modified = len(calls.of("ec2", "ModifyVpcEndpoint"))
        run = self.deployment.undo(run_id)
        message = str(run.get("FailureMessage", ""))
        assert self.described_foreign() == self.foreign, "the undo changed something foreign"
        if "associatedAt" in run_item:
            if self.last_heal(run_item) != run_id:
                assert "undo that run" in message, message
                assert self.described_table() == table, "the undo of a replaced heal changed the route table"
                return "replaced"
            assert status(run) == "Success", message
            assert self.described_table() == self.before, "the route table is not as before"
            assert self.deployment.ledger.item(f"TABLE#{run_item['routeTableId']}")["state"] == "UNDONE"
            return "undone"
        assert len(calls.of("ec2", "ModifyVpcEndpoint")) == modified, "an open intention was undone"
        assert self.described_table() == table, "the undo of an open intention changed the route table"
        if status(run) == "Success":
            assert run_item["createdEndpoint"] is True
            return "unused endpoint deleted"
        assert self.endpoints == endpoints, "the undo of an open intention deleted an endpoint"
        if not run_item:
            assert "the ledger has no such run" in message, message
            return "nothing to undo"
        for text in ("BLOCKED", "CloudTrail", run_id):
            assert text in message, message
        return "blocked"

    def last_heal(self, run_item: dict[str, Any]) -> str:
        """Return the last run that started to associate the table of a run's item."""
        return str(self.deployment.ledger.item(f"TABLE#{run_item['routeTableId']}").get("healRunId"))

    def heal_and_undo(self) -> str:
        """Heal by a person, check that the table uses an endpoint, undo its last heal, and return how that ended."""
        run = self.heal()
        assert status(run) == "Success", run.get("FailureMessage")
        assert (self.is_healed, self.record["state"]) == (True, "HEALED")
        assert self.described_foreign() == self.foreign, "the heal changed something foreign"
        self._check_hub()
        return self.undo(self.record["healRunId"])

    def _check_hub(self) -> None:
        """Check that a heal leaves the table of the spokes' traffic alone, also if a team gave it the endpoint."""
        hub_table = self.vpc.tables[1]
        has_endpoint = any(hub_table in tables for tables in self.deployment.associations(self.vpc.id).values())
        run = self.deployment.heal(self.vpc.subnets[1])
        if has_endpoint:
            assert status(run) == "Success", run.get("FailureMessage")
        else:
            assert "TRANSIT_TRAFFIC" in str(run.get("FailureMessage")), "a heal of the hub was not blocked"
        assert self.described_foreign() == self.foreign, "a heal of the hub changed something foreign"
