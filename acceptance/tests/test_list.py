"""The run's own lists: its probes are those of what we rely on, its calls are those that its policy allows, and facts compare."""

import re
from pathlib import Path

import pytest
import yaml

from acceptance.facts import RECORDED, are_equal, read, removed, write
from acceptance.plan import calls, policy

FOLDER = Path(__file__).parents[1]
LIST = FOLDER.parent / "tests" / "docs" / "what_we_rely_on.yaml"


def test_every_line_with_a_probe_has_one_and_the_reverse() -> None:
    """The names of probes come from one list: a line without a probe here fails, and so does a probe without a line."""
    rows = [line for lines in yaml.safe_load(LIST.read_bytes()).values() for line in lines]
    listed = {row["probe"] for row in rows if "probe" in row}
    added = {
        folder: set(re.findall(r'run.add\(\s*"([\w-]+)"', "".join(file.read_text() for file in folder.glob("*.py"))))
        for folder in (FOLDER / "probes", FOLDER / "story")
    }
    assert added[FOLDER / "probes"] | (added[FOLDER / "story"] & listed) == listed


def test_the_policy_is_that_of_the_calls() -> None:
    """The policy in the repository has the actions of the recorded calls, and those of the run's templates."""
    assert read(RECORDED, "policy") == policy(calls())


def test_facts_have_no_ids_and_two_files_compare(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two runs of different accounts and times have equal facts, and a different answer is shown."""
    answers = [
        removed(f"arn:aws:ec2:{region}:{account}:subnet/subnet-0{account}", {region: "REGION"})
        for region, account in (("us-east-1", "123456789012"), ("eu-north-1", "210987654321"))
    ]
    assert answers == ["arn:aws:ec2:REGION:ACCOUNT:subnet/subnet-ID"] * 2
    one, other, later = (
        {"probe": {"answer": answer, "date": date}} for answer, date in (("one", 1), ("other", 1), ("one", 2))
    )
    write(tmp_path, {"one": one, "other": other, "later": later})
    assert are_equal(tmp_path / "one.json", tmp_path / "later.json")
    assert not are_equal(tmp_path / "one.json", tmp_path / "other.json")
    assert '+  "answer": "other"' in capfd.readouterr().out
