"""The report as one self-contained HTML document: it needs no network, no other file and no storage."""

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

from express_path.domain.path.reasons import Reason
from express_path_cli.findings.formats.html.data import page_data
from express_path_cli.findings.hubs import TITLE, hub_advice
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.worklist import CROSSES_NAT
from express_path_cli.terminal.errors import Failure
from express_path_cli.terminal.files import to_json
from express_path_cli.terminal.texts import count_text

SCRIPTS = (
    "elements.js",
    "model.js",
    "filters.js",
    "summary.js",
    "rollups.js",
    "details.js",
    "table.js",
    "worklist.js",
    "layout.js",
    "drawing.js",
    "vpcs.js",
    "page.js",
)
"""The page's scripts, which are joined to one module; each uses only those before it."""


def as_html(result: Result, options: RenderOptions) -> Iterator[str]:
    """Yield the document. No name or message can become markup: texts are escaped, and data is not a script."""
    style = _file("page.css")
    script = "\n".join(map(_file, SCRIPTS))
    decides = [f"{title}." for title in result.settings[:1]]
    change = result.change.sentences if result.change else ()
    lead = (*decides, *change, _whereabouts(result), f"{result.summary}.", result.not_news, _not_read(result))
    notes = [*result.settings[1:], *result.notes]
    yield Template(_file("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        headline=escape(_headline(result)),
        whereabouts=escape(" ".join(filter(None, lead))),
        made_at=result.made_at.isoformat(timespec="seconds"),
        made=f"{result.made_at:%Y-%m-%d %H:%M %Z}",
        version=version("express-path"),
        to_failures='<a href="#failures-title">What could not be read</a>' if result.failures else "",
        failures="".join(map(_failure, result.failures)),
        notes="".join(f"<li>{escape(note)}</li>" for note in notes),
        hubs_title=TITLE,
        hubs_advice=escape(" ".join(hub_advice(result.hubs))),
        hubs="".join(f"<li><strong>{escape(hub.where)}</strong> {escape(hub.what)}</li>" for hub in result.hubs),
        without_hubs="" if result.hubs else "hidden",
        without_failures="" if result.failures else "hidden",
        without_notes="" if notes else "hidden",
        data=_data(result, options),
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
    text = f"<strong>{escape(failure.where)}</strong> {escape(failure.message)}"
    if failure.hint:
        text += f" <em>{escape(failure.hint)}</em>"
    return f"<li>{text}</li>"


def _data(result: Result, options: RenderOptions) -> str:
    """Return JSON that an HTML parser reads as one text: it has no less-than sign that could end the script.

    https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
    """
    return to_json(page_data(result, options)).decode().replace("<", "\\u003c")


def _headline(result: Result) -> str:
    """Return how many subnets reach S3 Express through a NAT, in a sentence without its period."""
    total, crossing = len(result.rows), sum(row.reason in CROSSES_NAT for row in result.rows)
    if not total:
        return "Nothing is new" if result.evaluated else "No subnets were found"
    noun = "subnet with news" if result.not_news else "subnet"
    subnets = f"{total:,} {noun.replace('subnet', 'subnets')}" if total > 1 else f"1 {noun}"
    verb = "reaches" if 1 in (crossing, total) else "reach"
    unresolved = sum(row.reason is Reason.UNRESOLVED_EGRESS for row in result.rows)
    also = f", and the path of {count_text(unresolved, 'subnet')} is not known" if unresolved else ""
    lost = sum(row.reason is Reason.LOSES_PATH for row in result.rows)
    if lost:
        also += f", and {count_text(lost, 'subnet')} {'loses' if lost == 1 else 'lose'} the path"
    return f"{crossing:,} of {subnets} {verb} S3 Express through a NAT{also}"


def _whereabouts(result: Result) -> str:
    """Return in how many VPCs, accounts and Regions these subnets are."""
    if result.is_about_news:
        return ""
    if not result.rows:
        return "The accounts and Regions that were read have no subnets."
    crossing = [row for row in result.rows if row.reason in CROSSES_NAT]
    parts = [
        _part({key(row) for row in crossing}, {key(row) for row in result.rows}, noun)
        for noun, key in (
            ("VPC", lambda row: (row.region, row.vpc_id)),
            ("account", lambda row: row.account_id),
            ("Region", lambda row: row.region),
        )
    ]
    subject = "They are in" if crossing else "All are in"
    return f"{subject} {parts[0]}, {parts[1]} and {parts[2]}."


def _not_read(result: Result) -> str:
    """Return how many places could not be read and are not counted; empty if everything was read."""
    if not result.failures:
        return ""
    number = len(result.failures)
    verb = "is" if number == 1 else "are"
    return f"{count_text(number, 'place')} could not be read and {verb} not counted."


def _part(crossing: set[object], total: set[object], noun: str) -> str:
    """Return how many of all VPCs, accounts, or Regions have a path that crosses a NAT."""
    if not crossing or crossing == total:
        return count_text(len(total), noun)
    return f"{len(crossing):,} of {count_text(len(total), noun)}"
