"""express-path policies on files: what it prints, in which form, and with which exit status."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from express_path_cli.main import app
from tests.support.command import invoke

ADDRESSES: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {"Sid": "Ours", "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*",
         "Condition": {"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}},
        {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*",
         "Condition": {"StringNotEquals": {"aws:PrincipalOrgID": "o-exampleorg"}}},
    ],
}  # fmt: skip
FIX = (
    'replace its Condition by {"NotIpAddress": {"aws:SourceIp": ["203.0.113.0/24"]}, '
    '"StringNotEquals": {"aws:SourceVpce": ["vpce-0a"]}}'
)


def file(folder: Path, name: str, content: object) -> str:
    """Write a file of JSON, or of text."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def test_prints_one_line_for_each_statement_that_would_deny(tmp_path: Path) -> None:
    """The line names the file, the statement, the condition, and the fix. The summary is on standard error."""
    path = file(tmp_path, "vpce-only.json", ADDRESSES)
    result = invoke(["policies", path, "--endpoint", "vpce-0a", "--vpc", "vpc-0a", "--address", "203.0.113.9"])
    assert result.exit_code == 1
    assert result.stdout == (
        f"{path} Ours: would deny (NotIpAddress aws:SourceIp 203.0.113.0/24). To allow both paths, {FIX}\n"
    )
    assert result.stderr == (
        "express-path: 2 statements in 1 document: 1 would deny requests through the endpoint that are possible "
        "through the NAT\n"
    )


def test_prints_json(tmp_path: Path) -> None:
    """Every statement has a row, by its Sid or its number, with the outcome, the condition, and the fix."""
    path = file(tmp_path, "bucket.json", ADDRESSES)
    result = invoke(["policies", path, "--format", "json", "--endpoint", "vpce-0a"])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["schemaVersion"], found["notRead"]) == (1, 1, [])
    assert found["statements"] == [
        {
            "source": path,
            "statement": "Ours",
            "outcome": "WOULD_DENY",
            "condition": "NotIpAddress aws:SourceIp 203.0.113.0/24",
            "fix": FIX,
        },
        {"source": path, "statement": 2, "outcome": "UNCHANGED", "condition": None, "fix": None},
    ]


def test_what_is_known_decides(tmp_path: Path) -> None:
    """A list of addresses denies nothing more if the NAT's address is not in it. Nothing is printed then."""
    path = file(tmp_path, "bucket.json", ADDRESSES)
    result = invoke(["policies", path, "--address", "192.0.2.1"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "express-path: 2 statements in 1 document: none would deny what was possible before\n"
    assert invoke(["policies", path, "--quiet", "--address", "192.0.2.1"]).output == ""


def test_unreadable_files_are_named_and_the_others_are_judged(tmp_path: Path) -> None:
    """The exit status is 2, standard error names each file and its fault, and the other files are judged."""
    good = file(tmp_path, "good.json", ADDRESSES)
    bad = {
        str(tmp_path / "missing.json"): "No such file or directory",
        file(tmp_path, "text.json", "Deny"): "must be a policy document in JSON",
        file(tmp_path, "list.json", []): "must be a policy document: an object with Statement",
        file(
            tmp_path, "effect.json", {"Statement": {"Effect": "No"}}
        ): "Statement[0]: field Effect is 'No': must be Allow or Deny",
    }
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    bad[str(tmp_path / "binary.json")] = "cannot be read"
    result = invoke(["policies", *bad, good, "--format", "json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [row["outcome"] for row in found["statements"]] == ["WOULD_DENY", "UNCHANGED"]
    assert [row["where"] for row in found["notRead"]] == list(bad)
    for path, fault in bad.items():
        assert any(path in line and fault in line for line in result.stderr.splitlines()), path


def test_a_policy_that_takes_too_long_is_named(tmp_path: Path) -> None:
    """A policy that cannot be judged is like one that cannot be read."""
    path = file(tmp_path, "huge.json", {"Statement": ADDRESSES["Statement"] * 20_000})
    result = invoke(["policies", path])
    assert result.exit_code == 2
    assert f"{path}: it has more than 5,000 values" in result.stderr


WRAPPERS = {
    "s3api get-bucket-policy": {"Policy": json.dumps(ADDRESSES)},
    "s3control get-access-point-policy": {"Policy": json.dumps(ADDRESSES)},
    "iam get-policy-version": {"PolicyVersion": {"Document": ADDRESSES, "VersionId": "v1", "IsDefaultVersion": True}},
    "iam get-role-policy": {"RoleName": "r", "PolicyName": "p", "PolicyDocument": ADDRESSES},
    "organizations describe-policy": {"Policy": {"PolicySummary": {"Id": "p-1"}, "Content": json.dumps(ADDRESSES)}},
}


@pytest.mark.parametrize("output", WRAPPERS.values(), ids=WRAPPERS)
def test_reads_what_the_aws_cli_prints(output: object) -> None:
    """The policy is found in the output of the AWS CLI, which may come from standard input, with a byte order mark."""
    result = CliRunner().invoke(app, ["policies", "-"], input=f"\ufeff{json.dumps(output)}")
    assert (result.exit_code, result.stdout.count("\n")) == (1, 1)
    assert result.stdout.startswith("- Ours: would deny (")


def test_reads_the_policies_of_endpoints(tmp_path: Path) -> None:
    """The policy of an S3 Express endpoint applies on the endpoint path only, so all that it does not allow is denied."""
    own = {"StringEquals": {"aws:SourceVpce": "vpce-0a"}}
    everything = {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*", "Condition": own}}
    little = {
        "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:CreateSession", "Resource": "*"}]
    }
    rows = [
        {
            "VpcEndpointId": "vpce-0a",
            "ServiceName": "com.amazonaws.us-east-1.s3express",
            "PolicyDocument": json.dumps(everything),
        },
        {
            "VpcEndpointId": "vpce-0b",
            "ServiceName": "com.amazonaws.us-east-1.s3express",
            "PolicyDocument": json.dumps(little),
        },
        {"ServiceName": "com.amazonaws.us-east-1.s3express", "PolicyDocument": json.dumps(little)},
        {"VpcEndpointId": "vpce-0c", "ServiceName": "com.amazonaws.us-east-1.s3", "PolicyDocument": json.dumps(little)},
    ]
    path = file(tmp_path, "vpc-endpoints.json", {"VpcEndpoints": rows})
    result = invoke(["policies", path])
    assert result.exit_code == 1
    assert result.stdout == "".join(
        f"{name} in {path} 1: would deny (no condition). To allow both paths, "
        "add a statement that allows every principal every action on every resource\n"
        for name in ("vpce-0b", "endpoint")
    )
    broken = file(tmp_path, "broken.json", {"VpcEndpoints": ["vpce-0a", {"VpcEndpointId": "vpce-0b"}]})
    result = invoke(["policies", path, broken])
    assert result.exit_code == 2
    assert result.stderr.endswith("that are possible through the NAT; 2 documents could not be evaluated\n")
    assert f"vpce-0b in {broken}" in result.stderr


def test_a_repeated_key_is_an_error(tmp_path: Path) -> None:
    """JSON does not define which of two equal keys counts, so neither is judged."""
    path = file(tmp_path, "twice.json", '{"Statement": {"Effect": "Allow", "Action": "*", "Effect": "Deny"}}')
    result = invoke(["policies", path])
    assert result.exit_code == 2
    assert "twice" in result.stderr
    assert result.stderr.endswith("express-path: no document could be evaluated\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "express-path: no policies are given (give files, or --account to read those of your account)"),
        (["-", "--address", "203.0.113"], "express-path: --address 203.0.113 is not a public IPv4 address"),
        (["-", "--address", "10.0.0.9"], "express-path: --address 10.0.0.9 is not a public IPv4 address"),
        (["-", "--address", "2001:db8::1"], "express-path: --address 2001:db8::1 is not a public IPv4 address"),
        (["-", "--vpc", "vpce-0a"], "express-path: --vpc vpce-0a does not begin with vpc-"),
        (["-", "--endpoint", "vpc-0a"], "express-path: --endpoint vpc-0a does not begin with vpce-"),
    ],
)
def test_wrong_options_are_errors_with_a_hint(arguments: list[str], message: str) -> None:
    """No policies, and an address that is none, are errors that say what to give."""
    result = invoke(["policies", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
