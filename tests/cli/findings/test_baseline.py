"""A scan compared with an earlier one: which findings are new, unchanged, fixed, or unknown, and when that fails."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from fluidattacks_core.sarif import SarifLog
from hypothesis import given
from hypothesis import strategies as st
from py_ocsf_models.events.findings.compliance_finding import ComplianceFinding

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.baseline import PAST, Baseline, Cause, compare, comparison_lines, read_baseline
from express_path_cli.findings.row import Mark, Row
from express_path_cli.findings.scan_file import FindingId
from tests.support.changing_network import dump_with
from tests.support.command import invoke

BEFORE = {
    "kept": "nat",
    "healed": "nat",
    "worse": "nat",
    "cut": "nat",
    "dropped": "nat",
    "silenced": "nat",
    "hidden": "nat",
    "deleted": "nat",
    "good": "endpoint",
}
AFTER = {
    "kept": "nat",
    "healed": "endpoint",
    "worse": "partly",
    "cut": "isolated",
    "dropped": "dropped",
    "silenced": "excluded",
    "hidden": "unresolved",
    "good": "nat",
    "added": "nat",
}


def scanned(dump: Path, *options: str, status: int = 1) -> dict[str, Any]:
    """Return the JSON output of a scan."""
    result = invoke(["scan", "--from-dump", str(dump), "--format", "json", "--quiet", *options])
    assert result.exit_code == status, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def baseline_of(tmp_path: Path, paths: dict[str, str], *options: str) -> Path:
    """Write the JSON output of a scan of a network with these paths, and return its file."""
    file = tmp_path / "last.json"
    dump = dump_with(tmp_path / "before", paths)
    result = invoke(["scan", "--from-dump", str(dump), "--output", str(file), *options])
    assert result.exit_code in (0, 1), result.stderr
    return file


def subnets(rows: list[dict[str, Any]], *keys: str) -> dict[str, Any]:
    """Return the values of these keys by the subnet's name."""
    return {row["subnetId"].removeprefix("subnet-"): tuple(row[key] for key in keys) for row in rows}


def test_each_finding_is_new_unchanged_fixed_or_unknown(tmp_path: Path) -> None:
    """Only a subnet whose path was followed to an end without a NAT is fixed; another reason is a new finding."""
    last = baseline_of(tmp_path, BEFORE)
    document = scanned(dump_with(tmp_path / "after", AFTER), "--baseline", str(last))
    assert subnets(document["subnets"], "baseline") == {
        "public": (None,),
        "kept": ("unchanged",),
        "healed": ("fixed",),
        "worse": ("new",),
        "cut": ("fixed",),
        "dropped": ("fixed",),
        "silenced": ("unknown",),
        "hidden": ("unknown",),
        "good": ("new",),
        "added": ("new",),
    }
    assert subnets(document["fixed"], "reason", "now", "cause") == {
        "healed": ("NAT_GATEWAY", "ENDPOINT", None),
        "cut": ("NAT_GATEWAY", "NO_ROUTE", None),
        "dropped": ("NAT_GATEWAY", "DROPPED", None),
    }
    assert subnets(document["unknown"], "reason", "now", "cause") == {
        "silenced": ("NAT_GATEWAY", "EXCLUDED", "PATH_UNKNOWN"),
        "hidden": ("NAT_GATEWAY", "UNRESOLVED_EGRESS", "PATH_UNKNOWN"),
        "deleted": ("NAT_GATEWAY", None, "NOT_LISTED"),
    }
    assert subnets(document["replaced"], "reason", "now", "cause") == {"worse": ("NAT_GATEWAY", "PARTLY_NAT", None)}
    assert document["schemaVersion"] == 1
    place = {"accountId": "123456789012", "region": "us-east-1", "vpcId": "vpc-app"}
    assert all(place.items() <= past.items() for mark in PAST for past in document[mark])


def test_without_a_baseline_nothing_is_marked(tmp_path: Path) -> None:
    """A scan without --baseline has neither marks nor lists."""
    document = scanned(dump_with(tmp_path / "now", {"kept": "nat"}))
    assert not {*PAST} & document.keys()
    assert all("baseline" not in row for row in document["subnets"])


def test_what_was_not_evaluated_is_unknown(tmp_path: Path) -> None:
    """An account that is not read, and a subnet that is not selected, are unknown and never fixed."""
    both = tmp_path / "both"
    dump_with(both / "one", {"a": "nat", "b": "nat"})
    dump_with(both / "two", {"c": "nat"}, account="210987654321")
    dump_with(both / "three", {"d": "nat"}, region="eu-west-1")
    last = tmp_path / "last.json"
    assert invoke(["scan", "--from-dump", str(both), "--output", str(last)]).exit_code == 1
    document = scanned(both / "one", "--baseline", str(last))
    assert subnets(document["unknown"], "cause") == {"c": ("NOT_READ",), "d": ("NOT_READ",)}
    assert document["fixed"] == []
    assert {row["baseline"] for row in document["subnets"] if row["baseline"]} == {"unchanged"}
    subnets_file = both / "one" / "subnets.json"
    described = json.loads(subnets_file.read_text(encoding="utf-8"))
    for row in described["Subnets"]:
        row["Tags"] = [{"Key": "team", "Value": "data"}] if row["SubnetId"] == "subnet-a" else []
    subnets_file.write_text(json.dumps(described), encoding="utf-8")
    document = scanned(both, "--region", "us-east-1", "--tag", "team", "--baseline", str(last))
    assert subnets(document["unknown"], "cause") == {
        "b": ("NOT_SELECTED",),
        "c": ("NOT_SELECTED",),
        "d": ("NOT_READ",),
    }


def test_an_unknown_finding_stays_in_the_next_baseline(tmp_path: Path) -> None:
    """If each scan replaces the baseline, a finding that one of them could not see is not new in the next."""
    last = baseline_of(tmp_path, {"a": "nat", "b": "nat", "gone": "nat"})
    command = ["scan", "--quiet", "--baseline", str(last), "--output", str(last), "--from-dump"]
    seen = {"a": "nat", "b": "unresolved"}
    assert invoke([*command, str(dump_with(tmp_path / "now", seen))]).exit_code == 1
    assert subnets(json.loads(last.read_text(encoding="utf-8"))["unknown"], "cause") == {
        "b": ("PATH_UNKNOWN",),
        "gone": ("NOT_LISTED",),
    }
    document = scanned(dump_with(tmp_path / "now", {"a": "nat", "b": "nat"}), "--baseline", str(last))
    assert subnets(document["subnets"], "baseline") == {"public": (None,), "a": ("unchanged",), "b": ("unchanged",)}
    assert document["unknown"] == []


def test_other_rule_parameters_fix_nothing(tmp_path: Path) -> None:
    """If a path is the same and only the parameters changed, the finding is unknown, and a note names the parameter."""
    last = baseline_of(tmp_path, {"a": "nat"}, "--parameter", "publicSubnets=NON_COMPLIANT")
    result = invoke(
        ["scan", "--from-dump", str(tmp_path / "before"), "--format", "json", "--baseline", str(last)],
    )
    document = json.loads(result.stdout)
    assert subnets(document["unknown"], "reason", "now", "cause") == {
        "public": ("INTERNET_GATEWAY", "INTERNET_GATEWAY", "OTHER_PARAMETERS")
    }
    assert "note: since the baseline, publicSubnets changed from NON_COMPLIANT to COMPLIANT\n" in result.stderr


@pytest.mark.parametrize(
    ("after", "words", "status"),
    [
        ({"a": "nat"}, ["new"], 0),
        ({"a": "endpoint"}, ["new"], 0),
        ({"a": "unresolved"}, ["new"], 0),
        ({"a": "partly"}, ["new"], 1),
        ({"a": "nat", "b": "nat"}, ["NEW"], 1),
        ({"a": "nat", "b": "dropped"}, ["new"], 0),
        ({"a": "nat", "b": "dropped"}, ["new", "DROPPED"], 1),
        ({"a": "nat"}, ["new", "NON_COMPLIANT"], 1),
        ({"a": "nat"}, [], 1),
        ({"a": "nat", "b": "nat"}, ["never"], 0),
    ],
)
def test_only_new_findings_fail(tmp_path: Path, after: dict[str, str], words: list[str], status: int) -> None:
    """With --fail-on new, the status is 1 only for a new finding; another word can be added."""
    last = baseline_of(tmp_path, {"a": "nat"})
    fail_on = [f"--fail-on={word}" for word in words]
    scanned(dump_with(tmp_path / "after", after), "--baseline", str(last), *fail_on, status=status)


def test_new_findings_count_if_they_are_not_shown(tmp_path: Path) -> None:
    """--verdict hides rows, but neither new findings nor the lists of past ones."""
    last = baseline_of(tmp_path, {"a": "nat", "b": "nat"}, "--show", "NON_COMPLIANT")
    dump = dump_with(tmp_path / "after", {"a": "endpoint", "b": "nat", "c": "nat"})
    options = ("--baseline", str(last), "--fail-on", "new", "--show", "COMPLIANT")
    document = scanned(dump, *options)
    assert {row["compliance"] for row in document["subnets"]} == {"COMPLIANT"}
    assert subnets(document["fixed"], "now") == {"a": ("ENDPOINT",)}


def test_a_failed_read_takes_precedence(tmp_path: Path) -> None:
    """If something could not be determined, the status is 2, whether or not a finding is new."""
    last = baseline_of(tmp_path, {"a": "nat"})
    dump = dump_with(tmp_path / "after", {"b": "nat"})
    options = ("--baseline", str(last), "--fail-on", "new", "--vpc", "vpc-missing", "--vpc", "vpc-app")
    document = scanned(dump, *options, status=2)
    assert subnets(document["subnets"], "baseline") == {"public": (None,), "b": ("new",)}


def test_new_without_a_baseline_is_refused(tmp_path: Path) -> None:
    """--fail-on new without --baseline, or with never, ends with status 2 and one line that says what to add."""
    dump = str(dump_with(tmp_path / "now", {"a": "nat"}))
    result = invoke(["scan", "--from-dump", dump, "--fail-on", "new"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "express-path: --fail-on new needs a baseline (add --baseline FILE, the JSON output of an earlier scan)\n"
    )
    last = str(baseline_of(tmp_path, {"a": "nat"}))
    result = invoke(["scan", "--from-dump", dump, "--baseline", last, "--fail-on", "new", "--fail-on", "never"])
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_missing_baseline_says_how_to_make_one(tmp_path: Path) -> None:
    """The first run of a pipeline has no baseline, so the message has the command that makes one."""
    dump = str(dump_with(tmp_path / "now", {"a": "nat"}))
    result = invoke(["scan", "--from-dump", dump, "--baseline", str(tmp_path / "last.json")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"express-path: {tmp_path / 'last.json'} cannot be read: No such file or directory "
        "(make one with: express-path scan --format json --output last.json)\n"
    )


ROW = {
    "accountId": "123456789012",
    "region": "us-east-1",
    "vpcId": "vpc-app",
    "subnetId": "subnet-a",
    "compliance": "NON_COMPLIANT",
    "reason": "NAT_GATEWAY",
}


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"schemaVersion": 1, "subnets": [ROW | {"accountId": 123456789012}]}, "subnet-a: field accountId"),
        ({"schemaVersion": 1, "subnets": [ROW | {"reason": None}]}, "subnet-a: field reason"),
        ({"schemaVersion": 1, "subnets": [ROW | {"compliance": "non_compliant"}]}, "subnet-a: field compliance"),
        ({"schemaVersion": 1, "subnets": [ROW | {"subnetId": "\x1b[2J"}]}, "field subnetId"),
        ({"schemaVersion": 1, "subnets": [{}]}, "field subnetId"),
        ({"schemaVersion": 1, "subnets": [], "unknown": 1}, "field unknown"),
        ({"schemaVersion": 1, "subnets": [], "unknown": [{"subnetId": "subnet-a"}]}, "subnet-a: field accountId"),
        ({"schemaVersion": 1, "subnets": [ROW], "madeAt": "2026-02-13T05:48:51Z"}, "field NON_COMPLIANT"),
        ({"schemaVersion": 2, "subnets": [ROW]}, "schemaVersion 2"),
        ({"heals": []}, "is not the JSON output of a scan"),
    ],
)
def test_a_baseline_that_is_not_a_scan_is_refused(tmp_path: Path, document: object, fault: str) -> None:
    """A file that could hide a finding ends with status 2 and one line with the file and the fault, before any read."""
    file = tmp_path / "last.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    result = invoke(["scan", "--from-dump", str(tmp_path / "no dump"), "--baseline", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"express-path: {file}")
    assert fault in line


def test_a_minimal_document_is_a_baseline(tmp_path: Path) -> None:
    """The version and the rows are enough, unknown keys are ignored, and so is a byte order mark of PowerShell."""
    file = tmp_path / "last.json"
    file.write_text(json.dumps({"schemaVersion": 1, "subnets": [ROW], "addedLater": {}}), encoding="utf-16")
    dump = dump_with(tmp_path / "now", {"a": "nat"})
    assert scanned(dump, "--baseline", str(file), "--fail-on", "new", status=0)["unknown"] == []


def test_a_baseline_without_all_findings_is_refused(tmp_path: Path) -> None:
    """A baseline that was filtered would make old findings new."""
    last = baseline_of(tmp_path, {"a": "nat", "b": "partly"}, "--show", "PARTLY_NAT")
    result = invoke(["scan", "--from-dump", str(tmp_path / "before"), "--baseline", str(last)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "last.json lists 1 of its 2 NON_COMPLIANT subnets (make the baseline without --show" in result.stderr


def test_a_baseline_of_less_is_noted(tmp_path: Path) -> None:
    """Notes say what the baseline did not cover, since findings there count as new."""
    last = baseline_of(tmp_path, {"a": "nat"})
    document = json.loads(last.read_text(encoding="utf-8"))
    document |= {"accounts": [], "notRead": [{"where": "account 444455556666 eu-west-1", "error": "denied"}]}
    last.write_text(json.dumps(document), encoding="utf-8")
    result = invoke(["scan", "--from-dump", str(tmp_path / "before"), "--baseline", str(last), "--vpc", "vpc-app"])
    assert result.stderr == (
        "express-path: note: since the baseline, 123456789012 us-east-1 was added\n"
        "express-path: note: since the baseline, the filters changed from none to --vpc vpc-app\n"
        "express-path: note: the baseline lacks account 444455556666 eu-west-1: findings there count as new\n"
    )


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the output of a scan with a baseline in each format."""
    folder = tmp_path_factory.mktemp("compared")
    last = baseline_of(folder, BEFORE)
    dump = dump_with(folder / "after", AFTER)
    command = ["scan", "--from-dump", str(dump), "--baseline", str(last), "--format"]
    formats = ("csv", "markdown", "sarif", "junit", "ocsf", "table", "html")
    outputs = {form: invoke([*command, form]).stdout for form in formats}
    return outputs | {"details": invoke([*command, "table", "--details"]).stdout}


def test_the_table_counts_and_names_findings(compared: dict[str, str]) -> None:
    """The counts come first, then what is new, fixed, or unknown; each row of the worklist counts its new subnets."""
    lines = compared["table"].splitlines()
    assert lines[1].startswith("Compared with the baseline: 3 new (1 NON_COMPLIANT before, for another reason), 1 unch")
    assert "  new: 123456789012 us-east-1 vpc-app subnet-worse NAT_GATEWAY -> PARTLY_NAT" in lines
    assert "  fixed: 123456789012 us-east-1 vpc-app subnet-healed NAT_GATEWAY -> ENDPOINT" in lines
    assert len([line for line in lines if line.startswith("  unknown: ")]) == 3
    new = {line.split()[3]: line.split()[1] for line in lines if " rtb-" in line and " nat-app" in line[-10:]}
    assert (new["rtb-added"], new["rtb-kept"]) == ("1", "0")


def test_details_have_a_column(compared: dict[str, str]) -> None:
    """With --details, the line of each subnet has its mark, so that grep finds new findings."""
    marked = [line.split() for line in compared["details"].splitlines() if " rtb-" in line]
    assert {words[3] for words in marked if "new" in words} == {"subnet-added", "subnet-good", "subnet-worse"}


def test_a_terminal_shows_some_findings_of_each_kind(tmp_path: Path) -> None:
    """In a terminal, a long list ends with how many more there are; in a pipe it is complete."""
    last = baseline_of(tmp_path, {"a": "endpoint"})
    document = scanned(dump_with(tmp_path / "after", {f"n{number}": "nat" for number in range(25)}))
    verdicts = [
        Row(row["accountId"], row["region"], row["vpcId"], row["subnetId"], "", None, *FLAGGED, "x")
        for row in document["subnets"]
        if row["compliance"] == "NON_COMPLIANT"
    ]
    comparison = compare(read_baseline(last), verdicts, {})
    assert len(list(comparison_lines(comparison))) == 25
    *first, rest = comparison_lines(comparison, 20)
    assert len(first) == 20
    assert rest == "new: 5 more, which --format json lists"


def test_the_page_has_the_numbers(compared: dict[str, str]) -> None:
    """An HTML page shows how many findings are new among its notes."""
    assert "<li>Compared with the baseline: 3 new (1 NON_COMPLIANT before" in compared["html"]


def test_a_file_is_summarized_with_its_comparison(tmp_path: Path) -> None:
    """With --output, standard error says how many findings are new; the file may be the baseline itself."""
    last = baseline_of(tmp_path, {"a": "nat"})
    dump = dump_with(tmp_path / "after", {"a": "nat", "b": "nat"})
    result = invoke(["scan", "--from-dump", str(dump), "--baseline", str(last), "--output", str(last)])
    assert "Compared with the baseline: 1 new, 1 unchanged, 0 fixed, 0 unknown\n" in result.stderr
    assert subnets(json.loads(last.read_text(encoding="utf-8"))["subnets"], "baseline")["b"] == ("new",)


def test_csv_has_a_column(compared: dict[str, str]) -> None:
    """The last column has the mark of each subnet."""
    rows = list(csv.DictReader(io.StringIO(compared["csv"], newline="")))
    assert list(rows[0])[-1] == "baseline"
    marks = {row["subnetId"]: row["baseline"] for row in rows}
    assert (marks["subnet-added"], marks["subnet-kept"], marks["subnet-public"]) == ("new", "unchanged", "")


def test_markdown_has_a_column_and_lists(compared: dict[str, str]) -> None:
    """The counts come first, then the findings that only the baseline has, and each row has its mark."""
    text = compared["markdown"]
    assert (
        "**Compared with the baseline: 3 new (1 NON\\_COMPLIANT before, for another reason), 1 unchanged, 3 fixed, "
        "3 unknown**\n"
    ) in text
    assert "- fixed: 123456789012 us-east-1 vpc-app subnet-healed NAT\\_GATEWAY -> ENDPOINT\n" in text
    assert "subnet-deleted NAT\\_GATEWAY (the subnet is no longer listed)\n" in text
    [header] = [line for line in text.splitlines() if "| Subnet |" in line]
    assert header.endswith("| Baseline |")
    [row] = [line for line in text.splitlines() if "`subnet-added`" in line]
    assert row.endswith("| new |")
    assert row.count(" | ") == header.count(" | ")


def test_sarif_has_the_baseline_state(compared: dict[str, str]) -> None:
    """Findings are new or unchanged, fixed ones are absent and pass, and unknown ones are notifications."""
    log = json.loads(compared["sarif"])
    SarifLog.model_validate(log)
    [run] = log["runs"]
    names = [result["locations"][0]["logicalLocations"][0]["name"] for result in run["results"]]
    states = [(name, result.get("baselineState")) for name, result in zip(names, run["results"], strict=True)]
    assert ("subnet-added", "new") in states
    assert ("subnet-worse", "new") in states
    assert ("subnet-kept", "unchanged") in states
    absent = [result for result in run["results"] if result.get("baselineState") == "absent"]
    assert [(result["ruleId"], result["kind"], result["level"]) for result in absent] == [
        ("NAT_GATEWAY", "pass", "none")
    ] * 3
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == "NAT_GATEWAY" for result in absent)
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert len(notes) == 3
    assert all(note["level"] == "note" and "unknown" in note["message"]["text"] for note in notes)


def test_junit_names_the_mark(compared: dict[str, str]) -> None:
    """The test of a subnet says in its output whether its finding is new."""
    assert compared["junit"].count("baseline: new") == 3
    assert compared["junit"].count("baseline: unchanged") == 1


def test_ocsf_says_what_happened(compared: dict[str, str]) -> None:
    """A new finding is created, an unchanged one updated, and a fixed one closed and resolved."""
    findings = {finding["resources"][0]["uid"].rpartition("/")[2]: finding for finding in json.loads(compared["ocsf"])}
    for finding in findings.values():
        ComplianceFinding.model_validate(finding)
    shown = {
        name: (findings[f"subnet-{name}"]["activity_name"], findings[f"subnet-{name}"].get("status"))
        for name in ("added", "kept", "healed", "hidden", "public")
    }
    assert shown == {
        "added": ("Create", "New"),
        "kept": ("Update", None),
        "healed": ("Close", "Resolved"),
        "hidden": ("Update", None),
        "public": ("Create", None),
    }
    assert findings["subnet-healed"]["type_uid"] == 200303


FLAGGED = (Compliance.NON_COMPLIANT, Reason.NAT_GATEWAY)
NOW = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(list(Reason)))
PAST_FINDINGS = st.dictionaries(st.sampled_from("abcde"), st.sampled_from(["NAT_GATEWAY", "PARTLY_NAT", "ENDPOINT"]))


@given(NOW, PAST_FINDINGS, st.booleans(), st.booleans())
def test_every_finding_has_one_mark(now: dict[str, Reason], past: dict[str, str], is_read: bool, failed: bool) -> None:
    """Each finding of either scan is in exactly one list, and only a followed path without a NAT is fixed."""
    verdicts = [
        Row("1", "r", "v", name, "z", "t", RuleParameters().compliance_of(reason), reason, "x")
        for name, reason in now.items()
        if is_read
    ]
    baseline = Baseline({FindingId("1", "r", name, reason): "v" for name, reason in past.items()})
    listed = {("1", "r"): {*now, "d"}} if is_read else {}
    comparison = compare(baseline, verdicts, listed, ["account 1 r"] if failed else [])
    flagged = {verdict for verdict in verdicts if verdict.compliance is Compliance.NON_COMPLIANT}
    assert {*comparison.new} | {*comparison.unchanged} == flagged
    assert len(comparison.new) + len(comparison.unchanged) == len(flagged)
    assert len(comparison.unchanged) + len(comparison.past) == len(past)
    assert all(past.get(verdict.subnet_id) == verdict.reason for verdict in comparison.unchanged)
    assert all(past.get(verdict.subnet_id) != verdict.reason for verdict in comparison.new)
    for finding in comparison.fixed:
        assert is_read
        assert not failed
        assert finding.now
        assert finding.now.reason in (Reason.ENDPOINT, Reason.INTERNET_GATEWAY, Reason.DROPPED, Reason.NO_ROUTE)
        assert finding.now.reason != finding.finding.reason
    assert all(finding.cause in Cause for finding in comparison.unknown)
    assert all((finding.mark is Mark.UNKNOWN) == (finding.cause is not None) for finding in comparison.past)
