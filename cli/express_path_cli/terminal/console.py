"""Write text that may contain somebody else's names without the characters that control a terminal."""

import re

import typer

_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)
"""Control characters, and those that change the direction of text, except tabs and ends of lines
(https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing). Halves of surrogate pairs, which a dump may contain,
have no form in UTF-8."""


def without_controls(text: str) -> str:
    """Return a text with a replacement character for each control character."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub("\ufffd", text)


def echo(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    """Write a text to standard output or standard error, with an end of line unless nl is False."""
    typer.echo(without_controls(text), nl=nl, err=err)
