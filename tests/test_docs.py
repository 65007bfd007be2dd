"""Documents cannot rot: what the product knows, they name, and what they link to is there."""

import re
from pathlib import Path

import pytest
import yaml

from express_path.domain.heal.records import Blocker
from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.parameters import PARAMETERS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("events/*.md"), *ROOT.glob("tests/networks/*.md")]
)
RUNBOOKS = sorted((ROOT / "runbooks").glob("*.yaml"))
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def text(name: str) -> str:
    """A document's text."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_readme_explains_every_rule_parameter(parameter: str) -> None:
    """Whoever deploys finds each rule parameter in the README."""
    assert f"`{parameter}`" in text("README.md")


@pytest.mark.parametrize("reason", Reason)
def test_readme_tells_what_to_do_about_every_reason(reason: Reason) -> None:
    """Whoever reads a result finds its reason in the README, and how it is decided beside the recordings."""
    assert f"`{reason}`" in text("README.md")
    assert reason in text("docs/how-it-decides.md")


@pytest.mark.parametrize("blocker", Blocker)
def test_healing_document_has_a_cure_for_every_blocker(blocker: Blocker) -> None:
    """Whoever meets a blocker finds it where healing is explained."""
    assert blocker in text("docs/healing.md")


@pytest.mark.parametrize("runbook", RUNBOOKS, ids=lambda path: path.stem)
def test_every_runbook_and_each_of_its_inputs_is_documented(runbook: Path) -> None:
    """Whoever starts a runbook by hand finds it and its inputs explained."""
    healing = text("docs/healing.md")
    assert runbook.stem in healing
    for name in yaml.safe_load(runbook.read_text(encoding="utf-8"))["parameters"]:
        assert name in healing, name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    """A link to a file of the repository leads to one."""
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target
