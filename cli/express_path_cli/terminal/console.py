"""Write text that may contain somebody else's names without the characters that control a terminal."""

import re
from collections.abc import Iterator

import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

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


class Terminal(Console):
    """A rich console that prints no control characters of a text, only those of styles."""

    def __init__(self, *, stderr: bool = False) -> None:
        """Print texts as they are, without highlighting numbers and paths."""
        super().__init__(highlight=False, stderr=stderr)
        self.push_render_hook(_Cleaning())


class _Cleaning(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Cleaned(renderable) for renderable in renderables]


class _Cleaned:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self._renderable, options):
            yield Segment(text if control else without_controls(text), style, control)
