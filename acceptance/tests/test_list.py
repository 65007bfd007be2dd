"""The run's own lists: its probes are those of what we rely on, its calls are those that its policy allows, and facts compare."""

import ast
import json
import re
from pathlib import Path

import yaml

from acceptance.facts import Facts, differences
from acceptance.plan import BY_CLOUDFORMATION, RECORDED, calls, policy
from acceptance.stack import TEMPLATES

FOLDER = Path(__file__).parents[1]
LIST = FOLDER.parent / "tests" / "docs" / "what_we_rely_on.yaml"


def test_every_line_with_a_probe_has_one_and_the_reverse() -> None:
    """The names of probes come from one list: a line without a probe here fails, and so does a probe without a line."""
    listed = [
        line["probe"] for lines in yaml.safe_load(LIST.read_bytes()).values() for line in lines if "probe" in line
    ]
    assert sorted(probes()) == sorted(listed)


def probes() -> list[str]:
    """Return the names of the facts that the probes add."""
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in (FOLDER / "probes").glob("test_*.py")]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    added = [
        call.args[0]
        for call in found
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("add", "add_at_aws") and call.args
    ]
    return [str(name.value) for name in added if isinstance(name, ast.Constant)]


def test_the_policy_is_that_of_the_calls() -> None:
    """The policy in the repository has the actions of the recorded calls, and those of the run's templates."""
    assert json.loads((RECORDED / "policy.json").read_bytes()) == policy(calls())
    types = re.findall(r"AWS::(?:EC2|SNS|SSM)::\w+", "".join(file.read_text() for file in TEMPLATES.glob("*.yaml")))
    assert set(types) - {"AWS::EC2::PrefixList"} == BY_CLOUDFORMATION.keys()


def test_facts_have_no_ids_and_two_files_compare() -> None:
    """Two runs of different accounts and times have equal facts, and a different answer is shown."""
    found = [Facts("run1", "us-east-1", is_sandbox=True), Facts("run2", "eu-north-1", is_sandbox=False)]
    for facts, account in zip(found, ("123456789012", "210987654321"), strict=True):
        facts.add("probe", "ec2", "?", f"arn:aws:ec2:{facts.region}:{account}:subnet/subnet-0{account}", True)
    answers = [facts.found["probe"].answer for facts in found]
    assert answers == ["arn:aws:ec2:REGION:ACCOUNT:subnet/subnet-ID"] * 2
    rows = [{"name": "probe", "answer": answer, "date": answer} for answer in ("one", "other")]
    [shown] = differences(rows[:1], rows[1:])
    assert '- {"answer": "one"' in shown
    assert '+ {"answer": "other"' in shown
    assert differences(rows[:1], rows[:1]) == []
