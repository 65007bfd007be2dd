"""A scan compared with an earlier one: which findings are new, unchanged, fixed, or unknown, and when that fails."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.parameters import RuleParameters, parse_parameters
from express_path_cli.findings.baseline import (
    Baseline,
    Cause,
    Coverage,
    compare,
    comparison_lines,
    comparison_text,
    notes_on_scope,
    parameter_values,
    read_baseline,
)
from express_path_cli.findings.row import Mark, Row
from express_path_cli.findings.scan_file import FindingId
from express_path_cli.terminal.errors import OptionError
from tests.cli.findings.results import FLAGGED, compared
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
    """Only a subnet whose path was followed to an end without a NAT is fixed; another reason is a new finding.

    Behind a NAT gateway that was deleted, AWS drops the traffic, so nothing is fixed.
    """
    last = baseline_of(tmp_path, BEFORE)
    document = scanned(dump_with(tmp_path / "after", AFTER), "--baseline", str(last))
    assert subnets(document["subnets"], "baseline") == {
        "public": (None,),
        "kept": ("unchanged",),
        "healed": ("fixed",),
        "worse": ("new",),
        "cut": ("fixed",),
        "dropped": ("unknown",),
        "silenced": ("unknown",),
        "hidden": ("unknown",),
        "good": ("new",),
        "added": ("new",),
    }
    assert subnets(document["fixed"], "now") == {"healed": ("ENDPOINT",), "cut": ("NO_ROUTE",)}
    assert subnets(document["unknown"], "now", "cause") == {
        "silenced": ("EXCLUDED", "PATH_UNKNOWN"),
        "dropped": ("DROPPED", "DROPPED"),
        "hidden": ("UNRESOLVED_EGRESS", "PATH_UNKNOWN"),
        "deleted": (None, "NOT_LISTED"),
    }
    assert subnets(document["replaced"], "reason", "now", "cause") == {"worse": ("NAT_GATEWAY", "PARTLY_NAT", None)}


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
    subnets_file = both / "one" / "subnets.json"
    described = json.loads(subnets_file.read_text(encoding="utf-8"))
    for row in described["Subnets"]:
        row["Tags"] = [{"Key": "team", "Value": "data"}] if row["SubnetId"] == "subnet-a" else []
    subnets_file.write_text(json.dumps(described), encoding="utf-8")
    document = scanned(both, "--region", "us-east-1", "--tag", "team", "--baseline", str(last))
    assert subnets(document["unknown"], "cause") == {"b": ("NOT_SELECTED",), "c": ("NOT_SELECTED",), "d": ("NOT_READ",)}


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
    result = invoke(["scan", "--from-dump", str(tmp_path / "before"), "--format", "json", "--baseline", str(last)])
    assert subnets(json.loads(result.stdout)["unknown"], "reason", "now", "cause") == {
        "public": ("INTERNET_GATEWAY", "INTERNET_GATEWAY", "OTHER_PARAMETERS")
    }
    assert (
        result.stderr
        == "express-path: note: since the baseline, publicSubnets changed from NON_COMPLIANT to COMPLIANT\n"
    )
    page = invoke(["scan", "--from-dump", str(tmp_path / "before"), "--format", "html", "--baseline", str(last)]).stdout
    assert "<li>since the baseline, publicSubnets changed" in page
    assert "<li>Compared with the baseline: 0 new, 1 unchanged, 0 fixed, 1 unknown</li>" in page


@pytest.mark.parametrize(
    ("after", "words", "status"),
    [
        ({"a": "nat"}, ["new"], 0),
        ({"a": "endpoint"}, ["new"], 0),
        ({"a": "unresolved"}, ["new"], 0),
        ({"a": "partly"}, ["new"], 1),
        ({"a": "nat", "b": "nat"}, ["NEW"], 1),
        ({"a": "nat", "b": "dropped"}, ["new", "DROPPED"], 1),
        ({"a": "nat"}, ["new", "NON_COMPLIANT"], 1),
        ({"a": "nat"}, [], 1),
    ],
)
def test_only_new_findings_fail(tmp_path: Path, after: dict[str, str], words: list[str], status: int) -> None:
    """With --fail-on new, the status is 1 only for a new finding, shown or not; another word can be added."""
    last = baseline_of(tmp_path, {"a": "nat"})
    fail_on = [f"--fail-on={word}" for word in words]
    dump = dump_with(tmp_path / "after", after)
    document = scanned(dump, "--baseline", str(last), "--show", "COMPLIANT", *fail_on, status=status)
    assert document["totals"]["evaluated"] == len(after) + 1  # the public subnet


def test_a_failed_read_takes_precedence(tmp_path: Path) -> None:
    """If something could not be determined, the status is 2, whether or not a finding is new."""
    last = baseline_of(tmp_path, {"a": "nat"})
    dump = dump_with(tmp_path / "after", {"b": "nat"})
    options = ("--baseline", str(last), "--fail-on", "new", "--vpc", "vpc-missing", "--vpc", "vpc-app")
    document = scanned(dump, *options, status=2)
    assert subnets(document["subnets"], "baseline") == {"public": (None,), "b": ("new",)}


def test_a_baseline_that_lacks_findings_is_refused_before_any_read(tmp_path: Path) -> None:
    """A baseline that was filtered would make old findings new. One with all findings is enough."""
    last = baseline_of(tmp_path, {"a": "nat", "b": "partly"}, "--show", "PARTLY_NAT")
    result = invoke(["scan", "--from-dump", str(tmp_path / "no dump"), "--baseline", str(last)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "last.json lists 1 of its 2 NON_COMPLIANT subnets (make the baseline without --show" in result.stderr
    last = baseline_of(tmp_path, {"a": "nat", "b": "partly"}, "--show", "NON_COMPLIANT")
    assert len(read_baseline(last).findings) == 2


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("totals", None, "field totals is None"),
        ("totals", {"compliances": {"NON_COMPLIANT": -1}}, "is -1"),
        ("totals", {"compliances": {"NON_COMPLIANT": "1"}}, "is '1'"),
        ("accounts", "123456789012", "field accounts"),
        ("parameters", {"scope": 1}, "field scope"),
        ("notRead", [{}], "field where"),
        ("filters", ["\x1b[31m"], "field filters"),
        ("unknown", 1, "field unknown"),
        ("unknown", [{"subnetId": "subnet-a"}], "subnet-a: field accountId"),
    ],
)
def test_a_field_with_a_wrong_value_is_named(tmp_path: Path, field: str, value: object, fault: str) -> None:
    """A wrong value could hide a finding or a difference in scope, so the file and the field are named."""
    file = baseline_of(tmp_path, {"a": "endpoint"})
    document = json.loads(file.read_text(encoding="utf-8")) | {field: value, "addedLater": "ignored"}
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(OptionError, match=f"last.json: .*{fault}"):
        read_baseline(file)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (
            Coverage(("1 r", "2 r"), ("--vpc vpc-1",), {"scope": "ALL"}),
            Coverage(("3 r",)),
            [
                "3 r was added",
                "1 r and 1 more were not read",
                "the filters changed from --vpc vpc-1 to none",
                "scope changed from ALL to none",
            ],
        ),
        (Coverage(("1 r",), ("--tag a",)), Coverage(("1 r",), ("--tag a",)), []),
    ],
)
def test_differences_in_scope_are_in_words(before: Coverage, after: Coverage, changes: list[str]) -> None:
    """Several accounts are one difference, and findings that the baseline could not see count as new."""
    denied = "account 4 (web) r"
    assert notes_on_scope(Baseline({}, before, (denied,)), after) == [
        *(f"since the baseline, {change}" for change in changes),
        f"the baseline lacks {denied}: findings there count as new",
    ]


def test_what_a_baseline_covered_is_read(tmp_path: Path) -> None:
    """Its accounts, filters, and parameters with a value, and the places that its scan could not read."""
    file = baseline_of(tmp_path, {"a": "nat"}, "--vpc", "vpc-app")
    document = json.loads(file.read_text(encoding="utf-8"))
    document["notRead"] = [{"where": "account 444455556666 eu-west-1", "error": "denied"}]
    file.write_text(json.dumps(document), encoding="utf-8")
    parameters = {
        "publicSubnets": "COMPLIANT",
        "unresolvedEgress": "NOT_APPLICABLE",
        "scope": "ALL",
        "excludeTag": "express-path:exclude",
    }
    baseline = read_baseline(file)
    assert baseline.coverage == Coverage(("123456789012 us-east-1",), ("--vpc vpc-app",), parameters)
    assert baseline.not_read == ("account 444455556666 eu-west-1",)
    without_tags = parameter_values(parse_parameters({"excludeTag": "NONE", "vpcIds": "vpc-2,vpc-1"}))
    assert (without_tags["excludeTag"], without_tags["vpcIds"]) == ("NONE", "vpc-1,vpc-2")


def test_a_comparison_is_in_words() -> None:
    """The counts are one line; each route table with findings that are not unchanged has a line, or the first of them."""
    comparison = compared().comparison
    assert comparison
    assert comparison_text(comparison) == (
        "Compared with the baseline: 2 new (1 NON_COMPLIANT before, for another reason), 1 unchanged, 1 fixed, 2 unknown"
    )
    where = "111122223333 us-east-1 vpc-0edcd841989b4dde2"
    table = f"{where} {FLAGGED.route_table_id}"
    assert list(comparison_lines(comparison)) == [
        f"new: {table} NAT_GATEWAY: subnet-new",
        f"new: {table} NAT_GATEWAY -> PARTLY_NAT: subnet-worse",
        f"fixed: {table} NAT_GATEWAY -> ENDPOINT: subnet-fixed",
        f"unknown: {where} NAT_GATEWAY (the subnet is no longer listed): subnet-gone",
        f"unknown: {where} NAT_GATEWAY -> UNRESOLVED_EGRESS (its path is not known): subnet-hidden",
    ]
    assert [line for line in comparison_lines(comparison, 1) if "more" in line] == [
        "new: 1 more route tables, which --format json lists",
        "unknown: 1 more route tables, which --format json lists",
    ]
    many = replace(comparison, new=[replace(FLAGGED, subnet_id=f"subnet-{number}") for number in range(9)])
    assert next(comparison_lines(many)) == f"new: {table} NAT_GATEWAY: 9 subnets"


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
