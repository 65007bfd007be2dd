"""The documentation site. `make site` builds it with Sphinx, and fails if a link or an anchor leads nowhere.

The pages are written for GitHub: their links lead to files of the repository, so the whole repository is the source. The pages in
build/reference/ are only on the site: `make site` makes them from the command and from a list.
"""

from typing import Any

project = "express-path"
extensions = ["myst_parser", "sphinxcontrib.mermaid"]
root_doc = "README"
include_patterns = [
    "*.md",
    "acceptance/README.md",
    "docs/**.md",
    "build/reference/*.md",
    "events/README.md",
    "instrument/README.md",
    "sandbox/README.md",
    "tests/networks/README.md",
]
exclude_patterns = [".*", "build/[!r]*"]  # environments have many thousands of files
suppress_warnings = ["toc.not_included"]  # the READMEs of folders
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
html_theme = "furo"
html_title = project

NAVIGATION = """
```{toctree}
:hidden:
:caption: Use

docs/start
docs/faq
docs/fix
docs/pipeline
docs/deploy
docs/organization
docs/heal-and-undo
docs/terraform
docs/troubleshoot
docs/traffic
docs/integrations
```
```{toctree}
:hidden:
:caption: Reference

build/reference/command
docs/reference/how-it-decides
docs/reference/glossary
docs/reference/stability
build/reference/what-we-rely-on
docs/what-aws-leaves-open
SECURITY
CHANGELOG
```
```{toctree}
:hidden:
:caption: Develop

CONTRIBUTING
docs/architecture
docs/write-a-config-rule
docs/releasing
```
```{toctree}
:hidden:
:caption: Decisions
:glob:

docs/decisions/*
```
"""


def add_navigation(_: object, page: str, text: list[str]) -> None:
    """Add the list of pages to the front page, where GitHub does not show it."""
    if page == root_doc:
        text[0] += NAVIGATION


def setup(app: Any) -> None:  # noqa: ANN401  # Sphinx is installed only where the site is built
    """Register the function above."""
    app.connect("source-read", add_navigation)
