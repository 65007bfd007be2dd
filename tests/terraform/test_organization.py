"""The Terraform example of the roll-out passes parameters that the templates have."""

import re

from org.expansion import expand
from tests.support.template import ROOT

EXAMPLE = ROOT / "org" / "terraform" / "main.tf"


def test_example_passes_parameters_of_the_templates() -> None:
    """The names of parameters in the example exist, and the example stays about forty lines long."""
    text = EXAMPLE.read_text(encoding="utf-8")
    named = set(re.findall(r"\b([A-Z]\w+)\s+=", text))
    parameters = expand(ROOT / "template.yaml", "code.zip")["Parameters"]
    assert {"ArtifactBucketPrefix", "CodeKey", "RemediationMode", "LedgerTableName", "ExcludeTag"} <= named
    assert named <= parameters.keys()
    assert len(text.splitlines()) < 50
