"""Errors carry data and mention it in their message."""

import pytest

from express_path import errors

ROWS = [{"ComplianceResourceId": f"subnet-{number}"} for number in range(7)]
EXAMPLES = {
    errors.ParameterError: (("scope", "SOME", "one of ALL, DIRECTORY_BUCKETS"), ["scope='SOME'", "one of ALL"]),
    errors.SettingError: (("WARN_ONLY", "ALL", "any of QUOTA"), ["WARN_ONLY='ALL'", "any of QUOTA"]),
    errors.RecordError: (("rtb-1", "VpcId", "", "a string"), ["rtb-1", "VpcId", "''", "a string"]),
    errors.DumpError: (("vpcs.json", "is missing", "make it"), ["vpcs.json", "is missing", "make it"]),
    errors.ApiError: (("ec2:DescribeVpcs", "Throttling", "slow down"), ["ec2:DescribeVpcs", "Throttling", "slow"]),
    errors.ReportError: ((ROWS,), ["7 evaluations", "subnet-0", "subnet-4"]),
    errors.FindingsError: (
        ([("subnet-1", "InvalidInput", "no title")],),
        ["1 findings", "subnet-1: InvalidInput, no title"],
    ),
    errors.BlockedError: (
        ("BLOCKED: two routes", {"terraform": "resource"}),
        ["two routes", "--- terraform", "resource"],
    ),
    errors.TableChangedError: (("subnet-1", "rtb-1", "rtb-2"), ["subnet-1", "from rtb-1", "to rtb-2", "again"]),
    errors.ApprovedPlanError: (("subnet-1", "rtb-1"), ["APPROVAL_REQUIRED", "subnet-1", "rtb-1", "again"]),
    errors.ElectionError: (("vpc-1",), ["vpc-1", "step elect"]),
    errors.EndpointNotReadyError: (("subnet-1", "vpce-1 is pending"), ["subnet-1", "vpce-1 is pending", "again"]),
    errors.UndoError: (("run-1", "nothing", "list heals"), ["run run-1 cannot be undone: nothing (list heals)"]),
    errors.ContractError: (("0", "1"), ["version '0'", "version '1'", "start the run again"]),
    errors.PolicyError: (("data--x-s3", "it has too many conditions"), ["data--x-s3: it has too many conditions"]),
    errors.ClaimHeldError: (("rtb-1", "run-2"), ["run run-2 is still changing rtb-1", "start again"]),
    errors.ClaimLostError: (("rtb-1", "run-1", "run-2"), ["run run-1", "rtb-1", "run run-2", "start again"]),
    errors.NotDisassociatedError: (("rtb-1", "vpce-1"), ["rtb-1", "vpce-1", "start the undo again"]),
    errors.NotDeletedError: (("vpce-1", "OperationNotPermitted", "no"), ["vpce-1", "OperationNotPermitted: no"]),
    errors.NotAssociatedError: (("rtb-1", "vpce-1"), ["rtb-1", "vpce-1", "start the heal again"]),
    errors.StepsFailedError: (("run-1", "step create failed: LimitExceeded"), ["step create failed: LimitExceeded"]),
    errors.SightLostError: (
        (["ec2:DescribeSubnets"], ["subnet-1"], "arn:aws:iam::123456789012:role/network"),
        ["ec2:DescribeSubnets denied", "role/network (networkRoleArn)", "1 subnets", "subnet-1", "restore"],
    ),
    errors.NotCuredError: (("subnet-1", "PARTLY_NAT"), ["subnet-1", "PARTLY_NAT"]),
}


def test_every_error_has_an_example_here() -> None:
    """Every error class has an example in this file."""
    known = {
        subclass for subclass in errors.ExpressPathError.__subclasses__() if subclass.__module__ == errors.__name__
    }
    assert known == set(EXAMPLES)


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda error_class: error_class.__name__)
def test_an_error_says_what_it_carries(kind: type[errors.ExpressPathError]) -> None:
    """The message contains all data that a reader needs."""
    arguments, expected_text = EXAMPLES[kind]
    message = str(kind(*arguments))
    assert [fragment for fragment in expected_text if fragment not in message] == []


def test_a_long_value_is_cut() -> None:
    """A long value, such as a whole event, is cut in the message."""
    assert len(str(errors.RecordError("rtb-1", "Routes", "x" * 10_000, "less"))) < 300


def test_of_many_refused_evaluations_only_the_first_are_named() -> None:
    """The message names only the first ids, while the error keeps all of them."""
    error = errors.ReportError(ROWS)
    assert "subnet-5" not in str(error)
    assert error.failed == tuple(ROWS)
