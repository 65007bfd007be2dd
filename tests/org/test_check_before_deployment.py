"""What `express-path org check` reports before a roll-out is why stack instances fail, and nothing else fails."""

import json

from moto.config.models import config_backends

from sandbox.config_items.direct import acting_in, direct_client
from sandbox.dynamic import Client
from sandbox.server import Sandbox
from tests.org.test_deployment import CAUSES
from tests.support.command import invoke
from tests.support.organization import PREFIX, Organization, Packaged

REGIONS = ("us-east-1", "eu-north-1")
Reasons = dict[tuple[str, str], list[str]]


def blocking(packaged: Packaged) -> Reasons:
    """Return what a check says would make stack instances fail, by account name and Region."""
    regions = [word for region in REGIONS for word in ("--region", region)]
    artifact = ("--artifact-bucket-prefix", PREFIX, "--artifact-key", packaged.keys["CodeKey"])
    result = invoke(["org", "check", "--role-name", "Audit", *regions, *artifact, "--format", "json"])
    return {
        (place["accountName"], place["region"]): [problem["reason"] for problem in place["problems"]]
        for place in json.loads(result.stdout)["places"]
    }


def test_the_reported_places_fail_for_a_reported_reason(sandbox: Sandbox, packaged: Packaged) -> None:
    """A missing bucket, a missing recorder, and a taken name are reported, and deployments fail there for that reason.

    After the roll-out, what the StackSet created is not in the way.
    """
    organization = Organization(sandbox, packaged, "apps", "data", "legacy")
    organization.provide_code(REGIONS[0])
    for name in organization.accounts:
        for region in REGIONS:
            organization.record(name, region)
    config_backends[organization.accounts["data"]][REGIONS[0]].recorders.clear()
    documents: Client = direct_client(sandbox, "ssm", REGIONS[0])
    with acting_in(organization.accounts["legacy"]):
        step = {"name": "wait", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}}
        content = json.dumps({"schemaVersion": "0.3", "mainSteps": [step]})
        documents.create_document(Name="RemoveS3ExpressGatewayEndpoint", Content=content, DocumentType="Automation")
    reported = blocking(packaged)
    assert reported == {
        ("apps", REGIONS[0]): [],
        ("data", REGIONS[0]): ["RECORDER_MISSING"],
        ("legacy", REGIONS[0]): ["NAME_TAKEN"],
        **{(name, REGIONS[1]): ["BUCKET_MISSING"] for name in organization.accounts},
    }
    for (name, region), reasons in reported.items():
        failure = organization.deploy_rule(name, region, "StackSet-express-path-ou-ab12-c3d4e5f6").failure
        causes = list(dict.fromkeys(CAUSES[text] for text in CAUSES if text in str(failure)))
        assert causes == reasons, (name, region, failure)
    assert blocking(packaged)["apps", REGIONS[0]] == []
