"""The report as one self-contained HTML document: it needs no network, no other file and no storage."""

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

from express_path_cli.findings.formats.html.additions import NO_ADDITIONS, Additions
from express_path_cli.findings.formats.html.data import contents
from express_path_cli.findings.formats.html.headline import headline, not_read, separate_counts, whereabouts
from express_path_cli.findings.result import Result
from express_path_cli.terminal.errors import Failure, hint_for

SCRIPTS = (
    "elements.js",
    "model.js",
    "filters.js",
    "summary.js",
    "trend.js",
    "rollups.js",
    "resources.js",
    "details.js",
    "download.js",
    "table.js",
    "worklist.js",
    "layout.js",
    "drawing.js",
    "vpcs.js",
    "page.js",
)
"""The page's scripts, which are joined to one module; each uses only those before it."""


def as_html(result: Result, additions: Additions = NO_ADDITIONS) -> str:
    """Return the document. No name or message can become markup: texts are escaped, and data is not a script."""
    style, script = _file("page.css"), "\n".join(map(_file, SCRIPTS))
    return Template(_file("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        headline=escape(headline(result)),
        whereabouts=escape(" ".join(filter(None, (whereabouts(result), separate_counts(result), not_read(result))))),
        made_at=result.made_at.isoformat(timespec="seconds"),
        made=f"{result.made_at:%Y-%m-%d %H:%M %Z}",
        version=version("express-path"),
        failures="".join(map(_failure, result.failures)),
        notes="".join(f"<li>{escape(note)}</li>" for note in result.notes),
        without_failures="" if result.failures else "hidden",
        without_notes="" if result.notes else "hidden",
        data=_data(result, additions),
    )


@cache
def _file(name: str) -> str:
    return files("express_path_cli.findings.formats.html").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that allows only the page's own style and script.

    https://www.w3.org/TR/CSP3/#grammardef-hash-source; the trusted types prevent the script itself from turning text
    into markup (https://www.w3.org/TR/trusted-types/).
    """
    directives = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _failure(failure: Failure) -> str:
    hint = hint_for(failure.error)
    text = f"<strong>{escape(failure.where)}</strong> {escape(str(failure.error))}"
    return f"<li>{text}{f' <em>{escape(hint)}</em>' if hint else ''}</li>"


def _data(result: Result, additions: Additions) -> str:
    """Return JSON that an HTML parser reads as one text: it has no less-than sign that could end the script.

    https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
    """
    return json.dumps(contents(result, additions), separators=(",", ":")).replace("<", "\\u003c")
