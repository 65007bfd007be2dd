"""Undoing heals that the ledger records: what a heal added goes, and nothing else."""

import json

from tests.handlers.network import Builder
from tests.runbooks.heals import Deployment, Vpc, status
from tests.runbooks.ledgers import LedgerTable


def described(deployment: Deployment, vpc: Vpc) -> str:
    """Everything that EC2 says about the tables of a VPC."""
    return json.dumps(deployment.tables(vpc.id), default=str)


def test_undo_restores_the_tables_and_records_it(
    deployment: Deployment, builder: Builder, ledger: LedgerTable, vpc: Vpc
) -> None:
    """The tables are as before, the endpoint that the heal created is gone, and the ledger says so."""
    before = described(deployment, vpc)
    heal = ledger.heal(builder, vpc.id, vpc.table)
    [endpoint] = deployment.endpoints(vpc.id)
    undone = deployment.undo(heal)
    run_id = undone["AutomationExecutionId"]
    assert status(undone) == "Success", undone.get("FailureMessage")
    assert (described(deployment, vpc), deployment.endpoints(vpc.id)) == (before, [])
    table = ledger.item(f"TABLE#{vpc.table}")
    assert (table["state"], table["runId"]) == ("UNDONE", run_id)
    assert ledger.item(f"VPC#{vpc.id}")["deletedIds"] == [endpoint["VpcEndpointId"]]
    run = ledger.item(f"RUN#{run_id}")
    assert (run["kind"], run["healRunId"], run["endpointId"]) == ("UNDO", heal, endpoint["VpcEndpointId"])
    assert {"startedAt", "associatedAt", "deletedAt", "finishedAt"} <= run.keys()
    assert ledger.item(f"RUN#{heal}")["undoRunId"] == run_id
