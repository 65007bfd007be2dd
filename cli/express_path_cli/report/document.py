"""The report as one HTML document that needs nothing else: no network, no other file, no storage."""

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

from express_path_cli.problems import hint_for
from express_path_cli.report.contents import contents
from express_path_cli.report.headline import apart, headline, missing, whereabouts
from express_path_cli.result import Failure, Result

SCRIPTS = (
    "elements.js",
    "model.js",
    "filters.js",
    "summary.js",
    "details.js",
    "table.js",
    "layout.js",
    "drawing.js",
    "vpcs.js",
    "page.js",
)
"""The page's scripts, in the order in which they build upon each other; together they are one module."""


def as_html(result: Result) -> str:
    """The whole document. Nothing that AWS or a person named can become markup: text is escaped, data is no script."""
    style, script = _file("page.css"), "\n".join(map(_file, SCRIPTS))
    return Template(_file("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        headline=escape(headline(result)),
        whereabouts=escape(" ".join(filter(None, (whereabouts(result), apart(result), missing(result))))),
        made_at=result.made_at.isoformat(timespec="seconds"),
        made=f"{result.made_at:%Y-%m-%d %H:%M %Z}",
        version=version("express-path"),
        failures="".join(map(_failure, result.failures)),
        notes="".join(f"<li>{escape(each)}</li>" for each in result.notes),
        without_failures="" if result.failures else "hidden",
        without_notes="" if result.notes else "hidden",
        data=_data(result),
    )


@cache
def _file(name: str) -> str:
    return files("express_path_cli.report").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy under which the page's own style and script run and nothing else does.

    https://www.w3.org/TR/CSP3/#grammardef-hash-source; the trusted types keep the script itself from making markup
    out of text (https://www.w3.org/TR/trusted-types/).
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
    told = f"<strong>{escape(failure.where)}</strong> {escape(str(failure.error))}"
    return f"<li>{told}{f' <em>{escape(hint)}</em>' if hint else ''}</li>"


def _data(result: Result) -> str:
    """JSON that an HTML parser takes for one text, whatever is in it: there is no less-than sign to end it by.

    https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
    """
    return json.dumps(contents(result), separators=(",", ":")).replace("<", "\\u003c")
