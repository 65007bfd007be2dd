"""The run's own lists: its probes are those of what we rely on, its calls are those that its policy allows, and facts compare."""

import re
from pathlib import Path

import yaml

from acceptance.facts import RECORDED, differences, read, removed
from acceptance.plan import calls, policy

FOLDER = Path(__file__).parents[1]
LIST = FOLDER.parent / "tests" / "docs" / "what_we_rely_on.yaml"


def test_every_line_with_a_probe_has_one_and_the_reverse() -> None:
    """The names of probes come from one list: a line without a probe here fails, and so does a probe without a line."""
    rows = [line for lines in yaml.safe_load(LIST.read_bytes()).values() for line in lines]
    listed = {row["probe"] for row in rows if "probe" in row}
    added = {
        folder: set(re.findall(r'facts.add\(\s*"([\w-]+)"', "".join(file.read_text() for file in folder.glob("*.py"))))
        for folder in (FOLDER / "probes", FOLDER / "story")
    }
    assert added[FOLDER / "probes"] | (added[FOLDER / "story"] & listed) == listed


def test_the_policy_is_that_of_the_calls() -> None:
    """The policy in the repository has the actions of the recorded calls, and those of the run's templates."""
    assert read(RECORDED, "policy") == policy(calls())


def test_facts_have_no_ids_and_two_files_compare() -> None:
    """Two runs of different accounts and times have equal facts, and a different answer is shown."""
    answers = [
        removed(f"arn:aws:ec2:{region}:{account}:subnet/subnet-0{account}", {region: "REGION"})
        for region, account in (("us-east-1", "123456789012"), ("eu-north-1", "210987654321"))
    ]
    assert answers == ["arn:aws:ec2:REGION:ACCOUNT:subnet/subnet-ID"] * 2
    rows = [{"name": "probe", "answer": answer, "date": answer} for answer in ("one", "other")]
    [shown] = differences(rows[:1], rows[1:])
    assert '- {"answer": "one"' in shown
    assert '+ {"answer": "other"' in shown
    assert differences(rows[:1], rows[:1]) == []
