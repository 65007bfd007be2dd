"""The options that several commands share."""

import pytest

from express_path.domain.verdict.parameters import PARAMETERS
from express_path.errors import ParameterError
from express_path_cli.aws.options import LiveOptions, rule_parameters
from express_path_cli.terminal.errors import OptionError, one_line


def test_parameters_can_be_repeated() -> None:
    """Each --parameter adds one."""
    parameters = rule_parameters(["publicSubnets=NON_COMPLIANT", "excludeTag=a=b"])
    assert (parameters.public_subnets, parameters.exclude_tag) == ("NON_COMPLIANT", "a=b")


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        (["scop=ALL"], "scop"),
        (["scope"], "name=value"),
        ([""], "name=value"),
        (["=ALL"], "one of the names"),
        (["scope=all"], "ALL, DIRECTORY_BUCKETS"),
        (["scope=ALL", "scope=ALL"], "given once"),
        *(([f"{name}="], name) for name in PARAMETERS),
    ],
)
def test_wrong_parameters_are_refused(pairs: list[str], says: str) -> None:
    """The error names the parameter and what is allowed."""
    with pytest.raises(ParameterError) as raised:
        rule_parameters(pairs)
    assert says in one_line(raised.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (LiveOptions(regions=("eu-west-1",), all_regions=True), "--region and --all-regions cannot be used together"),
        (LiveOptions(organization=True), "--organization needs a role"),
        (LiveOptions(role_name="Audit"), "--role-name needs --organization"),
        *(
            (LiveOptions(organization=True, role_name=name), "not a valid role name")
            for name in ("arn:aws:iam::123456789012:role/Audit", "/Audit", "Audit role", "a" * 65, "Prüfer")
        ),
    ],
)
def test_options_that_conflict_are_refused(options: LiveOptions, says: str) -> None:
    """They are refused before anything is read, with what to use instead."""
    with pytest.raises(OptionError, match=says) as raised:
        options.check()
    assert raised.value.hint
    LiveOptions(organization=True, role_name="team/audit/Reader").check()
