"""The run's own lists: its probes are those of what we rely on, its calls are those that its policy allows, and facts compare."""

import ast
import json
from pathlib import Path

import yaml

from acceptance.facts import Facts, differences
from acceptance.plan import POLICY, actions, calls

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
        call.args[0] for call in found if isinstance(call.func, ast.Attribute) and call.func.attr == "add" and call.args
    ]
    return [str(name.value) for name in added if isinstance(name, ast.Constant)]


def test_the_policy_allows_what_a_run_calls_and_nothing_else() -> None:
    """The calls are those that a run in the sandbox made."""
    statements = json.loads(POLICY.read_bytes())["Statement"]
    allowed = [action for statement in statements for action in statement["Action"]]
    assert sorted(allowed) == sorted(actions(calls()))


def test_facts_have_no_ids_and_two_files_compare() -> None:
    """Two runs of different accounts and times have equal facts, and a different answer is shown."""
    found = [Facts("us-east-1", "run1"), Facts("eu-north-1", "run2")]
    for facts, account in zip(found, ("123456789012", "210987654321"), strict=True):
        facts.add("probe", "ec2", "?", f"arn:aws:ec2:{facts.region}:{account}:subnet/subnet-0{account}", True)
    answers = [facts.found["probe"].answer for facts in found]
    assert answers == ["arn:aws:ec2:REGION:ACCOUNT:subnet/subnet-ID"] * 2
    rows = [{"name": "probe", "answer": answer, "date": answer} for answer in ("one", "other")]
    [shown] = differences(rows[:1], rows[1:])
    assert '- {"answer": "one"' in shown
    assert '+ {"answer": "other"' in shown
    assert differences(rows[:1], rows[:1]) == []
