"""What a run has recorded: a fact for each probe of what we rely on, and the policy of its calls; and how facts compare."""

from pathlib import Path

import pytest
import yaml

from acceptance.facts import RECORDED, are_equal, read, removed, write
from acceptance.plan import policy

LIST = Path(__file__).parents[2] / "tests" / "docs" / "what_we_rely_on.yaml"


def test_every_line_with_a_probe_has_a_fact() -> None:
    """Whatever only the acceptance run shows is a fact of the recorded run."""
    rows = [line for lines in yaml.safe_load(LIST.read_bytes()).values() for line in lines]
    assert {row["probe"] for row in rows if "probe" in row} <= read(RECORDED, "facts").keys()


def test_the_policy_is_that_of_the_calls() -> None:
    """The policy in the repository has the actions of the recorded calls, and those of the run's templates."""
    assert read(RECORDED, "policy") == policy(read(RECORDED, "calls"))


def test_facts_have_no_ids_and_two_files_compare(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two runs of different accounts and times have equal facts, and a different answer is shown."""
    answers = [
        removed(f"arn:aws:ec2:{region}:{account}:subnet/subnet-0{account}", {region: "REGION"})
        for region, account in (("us-east-1", "123456789012"), ("eu-north-1", "210987654321"))
    ]
    assert answers == ["arn:aws:ec2:REGION:ACCOUNT:subnet/subnet-ID"] * 2
    shown = "create-vpc-endpoint", "s3express_vpc_ID.id", "tgw-attach-ID", "HASH"
    written = "create-vpc-endpoint", "s3express_vpc_37daa8d42a92f11df.id", "tgw-attach-37daa8d42a92f11df", "9af0" * 16
    assert removed(list(written), {}) == list(shown)
    for name, answer, date in (("one", "one", 1), ("other", "other", 1), ("later", "one", 2)):
        write(tmp_path, {name: {"probe": {"answer": answer, "date": date}}})
    assert are_equal(tmp_path / "one.json", tmp_path / "later.json")
    assert not are_equal(tmp_path / "one.json", tmp_path / "other.json")
    assert '+  "answer": "other"' in capfd.readouterr().out
