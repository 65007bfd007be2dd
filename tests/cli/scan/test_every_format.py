"""Every format renders every scan: each output is what that format's own schema or parser accepts, and counts what JSON counts.

What a format shows, and how, is tested beside it (tests/cli/findings/formats).
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fluidattacks_core.sarif import SarifLog
from jsonschema import Draft202012Validator
from junitparser import Failure, JUnitXml
from py_ocsf_models.events.findings.compliance_finding import ComplianceFinding

from config_rule_sandbox.server import Sandbox
from express_path_cli.findings.formats import Format
from express_path_cli.findings.formats.markdown import MAX_COMMENT
from express_path_cli.findings.settings import FILE
from express_path_cli.schema.command import FILES, Schema
from tests.cli.findings.formats.html.test_page import Parsed
from tests.cli.findings.formats.test_markdown import tables_in
from tests.cli.findings.test_settings import entry
from tests.cli.scan.test_plan import CENTRAL, MAIN, endpoint_of_a_hub, replaced_table
from tests.cli.scan.test_template import NEW_TABLE, STACK, TEMPLATE, VPC, change, change_set
from tests.docs.comments import TOKEN, Api, serving
from tests.support.command import NO_CREDENTIALS, invoke
from tests.support.network import Builder, Private
from tests.support.network_files import write_dump
from tests.support.plans import PlanBuilder, nat_route, network
from tests.support.scenarios import dump_of

SCHEMA = Draft202012Validator(json.loads(FILES[Schema.SCAN].read_text(encoding="utf-8")))
COMPLIANCES = ("NON_COMPLIANT", "COMPLIANT", "NOT_APPLICABLE")
ODD = 'data](x) "a"|<b>, \u00e9'
"""A name that needs care in every format."""

# --- scans -----------------------------------------------------------------------------------------------------------


def from_dump(name: str) -> list[str]:
    """Return the options that read a test network."""
    return ["--from-dump", str(dump_of(name))]


def named(plan: PlanBuilder) -> PlanBuilder:
    """Return a plan in which everything that can have one has the same name."""
    for row in plan.document["resource_changes"]:
        if row["type"] in ("aws_vpc", "aws_subnet", "aws_route_table"):
            row["change"]["after"]["tags"] = {"Name": ODD}
    for block in plan.document["configuration"]["root_module"]["resources"]:
        block["expressions"]["tags"] = {"constant_value": {"Name": ODD}}
    return plan


def plan(made: PlanBuilder, folder: Path, *options: str) -> list[str]:
    """Write a plan and its configuration, and return the options that judge it."""
    (folder / "main.tf").write_text(MAIN, encoding="utf-8")
    return ["--plan", str(made.write(folder)), "--no-terraform", *options]


def template(folder: Path, name: str = "") -> list[str]:
    """Write a template, whose subnets have a name if one is given, and return the options that judge it."""
    tags = f", Tags: [{{Key: Name, Value: {json.dumps(name)}}}]" if name else ""
    text = re.sub(r"(Type: AWS::EC2::Subnet\n.*)\}", lambda found: f"{found[1]}{tags}}}", TEMPLATE)
    (folder / "template.yaml").write_text(text, encoding="utf-8")
    return ["--plan", str(folder / "template.yaml"), "--plan-only", "--region", "us-east-1"]


def changes(folder: Path) -> list[str]:
    """Write a change set and its template, and return the options that judge it over the sample network."""
    (folder / "stack.yaml").write_text(STACK, encoding="utf-8")
    tags = [{"Key": "Name", "Value": ODD}]
    subnet = change("Add", "New", "Subnet", {"VpcId": VPC, "CidrBlock": "10.0.9.0/24", "Tags": tags})
    file = change_set(folder, *NEW_TABLE, subnet)
    return ["--plan", str(file), "--source", str(folder / "stack.yaml"), "--example"]


def saved(folder: Path) -> list[str]:
    """Save a scan, and return the options that show it."""
    invoke(["scan", *from_dump("two-accounts"), "--output", str(folder / "saved.json")])
    return ["--from", str(folder / "saved.json")]


def compared(folder: Path) -> list[str]:
    """Save a scan as a baseline, with a finding that is fixed, and one that is missing; return the options of a later one."""
    file = folder / "baseline.json"
    invoke(["scan", *from_dump("two-accounts"), "--output", str(file)])
    document = json.loads(file.read_text(encoding="utf-8"))
    flagged = [row for row in document["subnets"] if row["compliance"] == "NON_COMPLIANT"]
    good = next(row for row in document["subnets"] if row["compliance"] == "COMPLIANT")
    flagged[0].update(compliance="COMPLIANT", reason="ENDPOINT")
    good.update(compliance="NON_COMPLIANT", reason="NAT_GATEWAY")
    file.write_text(json.dumps(document), encoding="utf-8")
    return [*from_dump("two-accounts"), "--baseline", str(file)]


def ignored(folder: Path) -> list[str]:
    """Write a configuration file that ignores a finding, and return the options of a scan in its folder."""
    (folder / FILE).write_text(entry(route_table="rtb-0"), encoding="utf-8")
    return three_owners(folder)


def three_owners(folder: Path) -> list[str]:
    """Write the dump of a VPC whose route tables have three owners, and return the options that read it."""
    owners = ("billing", "../data team", "web|<b>")
    tables = {
        f"rtb-{place}": {
            "subnets": [f"subnet-{place}"],
            "routes": ["0.0.0.0/0 -> nat-app"],
            "tags": {"owner": owner, "Name": ODD},
        }
        for place, owner in enumerate(owners)
    }
    vpc = {
        "subnets": {
            "subnet-public": {"cidr": "10.0.9.0/24"},
            **{f"subnet-{place}": {"cidr": f"10.0.{place}.0/24"} for place in range(len(owners))},
        },
        "route_tables": {
            "rtb-main": {"main": True},
            "rtb-public": {"subnets": ["subnet-public"], "routes": ["0.0.0.0/0 -> igw-app"]},
            **tables,
        },
        "nat_gateways": {"nat-app": {"subnet": "subnet-public"}},
    }
    write_dump(folder / "owned", {"vpcs": {"vpc-app": vpc}})
    return ["--from-dump", str(folder / "owned")]


SCANS: Mapping[str, Callable[[Path], list[str]]] = {
    "live": lambda _: ["--region", "us-east-1"],
    "dump": lambda _: from_dump("two-accounts"),
    "saved": saved,
    "baseline": compared,
    "ignored": ignored,
    "Terraform plan": lambda folder: plan(nat_route(network()), folder),
    "Terraform plan with names": lambda folder: plan(named(nat_route(network())), folder),
    "Terraform plan over a network": lambda folder: plan(named(replaced_table()), folder, "--example"),
    "Terraform plan that changes nothing": lambda folder: plan(PlanBuilder(), folder, "--example"),
    "Terraform plan that takes a path away": lambda folder: plan(endpoint_of_a_hub(), folder, *CENTRAL),
    "change set": changes,
    "template": template,
    "template with names": lambda folder: template(folder, ODD),
    "hub": lambda _: from_dump("transit-gateway-then-endpoint"),
    "three owners": three_owners,
    "nothing found": lambda _: from_dump("vpc-without-subnets"),
}
"""How each scan is prepared in a folder: the options of `express-path scan`."""


class Scan(NamedTuple):
    """A scan: its options, its JSON document, and the folder in which it is made."""

    options: list[str]
    document: Mapping[str, Any]
    folder: Path

    def output(self, *options: str) -> str:
        """Return what the command prints, which is the same status with each format."""
        result = invoke(["scan", *self.options, "--quiet", *options])
        assert (result.exit_code, "a bug" in result.stderr) == (self.status, False), result.output
        return result.stdout

    @property
    def status(self) -> int:
        """The exit status: 1 with a finding."""
        return int(bool(self.flagged()))

    def flagged(self) -> list[Mapping[str, Any]]:
        """Return the subnets with a finding that counts, whether it is new or not."""
        rows = self.document["subnets"]
        return [row for row in rows if row["compliance"] == "NON_COMPLIANT" and "ignored" not in row]

    def lists(self, row: Mapping[str, Any]) -> bool:
        """Return whether formats other than JSON list a subnet: with a plan or a baseline, only if it has news."""
        if "fixed" not in self.document or row["baseline"] not in (None, "unchanged"):
            return True
        return "plan" in self.document and row["before"] != row["reason"]

    def listed(self, compliance: str, *, with_ignored: bool = False) -> list[Mapping[str, Any]]:
        """Return the subnets with a compliance that formats other than JSON list."""
        rows = [row for row in self.document["subnets"] if self.lists(row)]
        return [row for row in rows if row["compliance"] == compliance and (with_ignored or "ignored" not in row)]

    def counts(self, *, with_ignored: bool = False) -> dict[str, int]:
        """Return how many subnets have each compliance."""
        return {name: len(self.listed(name, with_ignored=with_ignored)) for name in COMPLIANCES}


@pytest.fixture
def scan(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scan:
    """Prepare the scan of a test, and return it with its JSON document."""
    name = request.param
    monkeypatch.chdir(tmp_path)
    if name == "live":
        sandbox: Sandbox = request.getfixturevalue("sandbox")
        network_of = Private(Builder(sandbox))
        tag = {"Key": "Name", "Value": ODD}
        sandbox.client("ec2", sandbox.region).create_tags(Resources=[network_of.subnet, network_of.table], Tags=[tag])
    else:
        for variable, value in NO_CREDENTIALS.items():
            monkeypatch.setenv(variable, value)
    options = SCANS[name](tmp_path)
    result = invoke(["scan", *options, "--quiet", "--format", "json"])
    assert result.exit_code in (0, 1), result.output
    return Scan(options, json.loads(result.stdout), tmp_path)


# --- formats ---------------------------------------------------------------------------------------------------------


def check_summary(text: str, scan: Scan) -> None:
    """Check the numbers of a text's summary."""
    found = re.search(r"(\d+) NON\\?_COMPLIANT, (\d+) COMPLIANT, (\d+) NOT\\?_APPLICABLE", text)
    numbers = map(int, found.groups()) if found else (0, 0, 0)
    assert found or "nothing is new" in text, text
    assert dict(zip(COMPLIANCES, numbers, strict=True)) == scan.counts()
    check_not_news(text, scan)


def check_not_news(text: str, scan: Scan) -> None:
    """Check that one line counts what is not new, if the output is about news and that is not all."""
    old = [row for row in scan.document["subnets"] if "ignored" not in row and not scan.lists(row)]
    findings = sum(row["compliance"] == "NON_COMPLIANT" for row in old)
    lines = re.findall(r"Not listed: (?:(\d+) findings? that (?:is|are) not new)?.*--show all lists them", text)
    assert [int(number or 0) for number in lines] == ([findings] if old else [])


def check_json(scan: Scan) -> None:
    """The document fits its schema, and its totals count its rows."""
    SCHEMA.validate(scan.document)
    totals, rows = scan.document["totals"], scan.document["subnets"]
    counts = Counter(row["compliance"] for row in rows)
    assert (totals["evaluated"], totals["compliances"]) == (len(rows), {name: counts[name] for name in COMPLIANCES})


def check_table(scan: Scan) -> None:
    """The summary has the numbers, and `--show` lists each subnet in a line."""
    check_summary(scan.output("--format", "table"), scan)
    words = [word for name in COMPLIANCES for word in ("--show", name)]
    lines = [line.split() for line in scan.output("--format", "table", *words).splitlines()]
    assert Counter(word for line in lines for word in line[5:6] if word in COMPLIANCES) == +Counter(scan.counts())


def check_csv(scan: Scan) -> None:
    """Each row has a cell for each column."""
    rows = list(csv.DictReader(io.StringIO(scan.output("--format", "csv"), newline=""), strict=True))
    assert all(None not in row and None not in row.values() for row in rows)
    check_compliances((row["compliance"] for row in rows), scan)


def check_compliances(found: Iterable[str], scan: Scan) -> None:
    """Check the compliances of a format that also lists what is ignored."""
    assert Counter(found) == +Counter(scan.counts(with_ignored=True))


def check_markdown(scan: Scan) -> None:
    """Its tables are those of a page, and list each finding."""
    text = scan.output("--format", "markdown")
    assert len(text) <= MAX_COMMENT
    check_summary(text, scan)
    cells = [row[0] for table in tables_in(text) for row in table]
    assert sum("NON_COMPLIANT" in cell for cell in cells) == len(scan.listed("NON_COMPLIANT"))


def check_html(scan: Scan) -> None:
    """A parser finds the data, with a row for each subnet."""
    text = scan.output("--format", "html")
    check_not_news(text, scan)
    data = Parsed(text).data()
    assert Counter(data["compliances"][row[5]] for row in data["subnets"]) == +Counter(scan.counts())


def check_junit(scan: Scan) -> None:
    """Each route table with a finding is a failed test, and the totals count them."""
    text = scan.output("--format", "junit")
    check_not_news(text, scan)
    suites = JUnitXml.fromstring(text.encode())
    failed = [case for suite in suites for case in suite if any(isinstance(one, Failure) for one in case.result)]
    tables = {
        (row["accountId"], row["region"], row["vpcId"], row["routeTableId"], row.get("routeTableAddress"))
        for row in scan.listed("NON_COMPLIANT")
    }
    assert (len(failed), suites.failures) == (len(tables), len(tables))
    assert suites.tests == sum(len(list(suite)) for suite in suites)


def check_sarif(scan: Scan) -> None:
    """The log is valid, and its results have all subnets."""
    text = scan.output("--format", "sarif")
    SarifLog.model_validate_json(text)
    check_not_news(text, scan)
    found: Counter[str] = Counter()
    kinds = {"fail": "NON_COMPLIANT", "pass": "COMPLIANT", "notApplicable": "NOT_APPLICABLE"}
    for result in json.loads(text)["runs"][0]["results"]:
        if result.get("baselineState") != "absent":  # a fixed finding, whose subnets have another result
            found[kinds[result["kind"]]] += len(result["properties"]["subnetIds"])
    assert found == +Counter(scan.counts())


def check_ocsf(scan: Scan) -> None:
    """Each subnet is a finding of the published model."""
    findings = json.loads(scan.output("--format", "ocsf"))
    for finding in findings:
        ComplianceFinding.model_validate(finding)
    statuses = {"Fail": "NON_COMPLIANT", "Pass": "COMPLIANT", "Not applicable": "NOT_APPLICABLE"}
    check_compliances((statuses[finding["compliance"]["status"]] for finding in findings), scan)


def check_github(scan: Scan) -> None:
    """Each line is a workflow command, and there is an error for each route table with a finding."""
    text = scan.output("--format", "github")
    check_not_news(text, scan)
    commands = [re.fullmatch(r"::(error|notice)( [^:\n]+)?::(.+)", line) for line in text.splitlines()]
    assert all(commands)
    errors = [command for command in commands if command and command[1] == "error"]
    tables = {(row["vpcId"], row["routeTableId"], row.get("routeTableAddress")) for row in scan.listed("NON_COMPLIANT")}
    assert len(errors) == len(tables)
    assert sum(int(re.findall(r"\((\d+) subnets?\)", error[3])[0]) for error in errors) == len(
        scan.listed("NON_COMPLIANT")
    )


def check_comment(scan: Scan) -> None:
    """The comment on a pull request has the text, with its summary."""
    scan.output("--output", str(scan.folder / "scan.md"))
    with serving() as api, pytest.MonkeyPatch.context() as environment:
        for name, value in job(api, scan.folder).items():
            environment.setenv(name, value)
        assert invoke(["comment", str(scan.folder / "scan.md"), "--about", ODD]).exit_code == 0
        [comment] = api.comments
    check_summary(comment["body"], scan)


def job(api: Api, folder: Path) -> dict[str, str]:
    """Return the variables of the job of a pull request."""
    return {**api.job("github", folder), "GITHUB_TOKEN": TOKEN}


def check_tickets(scan: Scan) -> None:
    """The files of all owners have each finding once. A plan has no tickets, because its network does not exist yet."""
    folder = scan.folder / "owners"
    options = ["--split-by", "tag:owner", "--output", str(folder)]
    if "plan" in scan.document:
        result = invoke(["scan", *scan.options, "--quiet", *options])
        assert (result.exit_code, "a bug" in result.stderr, folder.exists()) == (2, False, False), result.output
        return
    scan.output(*options)
    found: Counter[str] = Counter()
    for file in folder.glob("*/subnets.csv"):
        rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline=""), strict=True)
        flagged = [row for row in rows if row["compliance"] == "NON_COMPLIANT" and not row.get("ignored")]
        found.update(row["subnetId"] for row in flagged)
    assert found == Counter(row["subnetId"] for row in scan.flagged())
    assert (folder / "index.md").exists()


def check_baseline(scan: Scan) -> None:
    """The document is the baseline of the same scan: nothing is new. That of a plan is none: it has subnets without an ID."""
    file = scan.folder / "earlier.json"
    file.write_text(json.dumps(scan.document), encoding="utf-8")
    options = scan.options[: scan.options.index("--baseline")] if "--baseline" in scan.options else scan.options
    result = invoke(["scan", *options, "--quiet", "--baseline", str(file), "--fail-on", "new", "--format", "json"])
    assert "a bug" not in result.stderr
    if any(row["subnetId"] is None for row in scan.document["subnets"]) or "--from" in options:
        assert result.exit_code in (0, 2), result.output
        return
    assert result.exit_code == 0, result.output
    marks = Counter(row["baseline"] for row in json.loads(result.stdout)["subnets"])
    assert marks["new"] == 0
    assert marks["unchanged"] == scan.document["totals"]["compliances"]["NON_COMPLIANT"]


CHECKS: Mapping[str, Callable[[Scan], None]] = {
    Format.JSON: check_json,
    Format.TABLE: check_table,
    Format.CSV: check_csv,
    Format.MARKDOWN: check_markdown,
    Format.HTML: check_html,
    Format.JUNIT: check_junit,
    Format.SARIF: check_sarif,
    Format.OCSF: check_ocsf,
    Format.GITHUB: check_github,
    "comment": check_comment,
    "tickets": check_tickets,
    "baseline": check_baseline,
}
"""What is true of each format, whatever the scan is."""


@pytest.mark.parametrize("chosen", CHECKS)
@pytest.mark.parametrize("scan", SCANS, indirect=True)
def test_each_format_renders_each_scan(scan: Scan, chosen: str) -> None:
    """It is valid, has the numbers of JSON, and the exit status is the same."""
    CHECKS[chosen](scan)


def test_no_format_is_left_out() -> None:
    """A new format is checked, too."""
    assert set(Format) <= CHECKS.keys()
