"""The tokens of Terraform's language: names, texts, numbers, and signs, without comments.

https://developer.hashicorp.com/terraform/language/syntax/configuration and
https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md describe the language. Nothing is evaluated here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class TokenKind(StrEnum):
    """What a token is. A TEMPLATE is a text with expressions in it, whose tokens follow in parentheses."""

    NAME = "name"
    NUMBER = "number"
    TEXT = "text"
    TEMPLATE = "template"
    SIGN = "sign"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Token:
    """A token, with the content of a text, or of a template without its expressions."""

    kind: TokenKind
    text: str

    def is_sign(self, *signs: str) -> bool:
        """Return whether it is one of these signs."""
        return self.kind is TokenKind.SIGN and self.text in signs


_TOKEN = re.compile(
    r"(?P<space>[ \t\r\ufeff]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)"
    r"|(?P<line>\n)"
    r"|<<-?(?P<heredoc>[\w-]+)[ \t\r]*\n"
    r'|(?P<quote>")'
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d][\w-]*)"
    r"|(?P<sign>=>|==|!=|<=|>=|&&|\|\||\.\.\.|::|.)",
    re.DOTALL,
)
_IN_TEXT = re.compile(r'(?P<literal>\\.|\$\$\{|%%\{|[^"\\$%]+)|(?P<open>[$%]\{)|(?P<close>")|(?P<sign>[$%])', re.DOTALL)
_IN_HEREDOC = re.compile(r"(?P<literal>\$\$\{|%%\{|[^$%]+)|(?P<open>[$%]\{)|(?P<close>\Z)|(?P<sign>[$%])", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class TokenError(Exception):
    """A text is not in Terraform's language, as far as it is read here."""


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a file. Raise TokenError, or RecursionError if texts are nested very deeply."""
    tokens: list[Token] = []
    _read(text, 0, tokens, is_inside=False)
    return tokens


def _read(text: str, start: int, tokens: list[Token], *, is_inside: bool) -> int:
    """Add tokens up to the end, or inside a text up to the brace that closes an expression. Return what is after it."""
    position, depth = start, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise TokenError
        position = match.end()
        match match.lastgroup:
            case "line":
                tokens.append(Token(TokenKind.LINE, "\n"))
            case "heredoc":
                end = re.compile(rf"^[ \t]*{re.escape(match['heredoc'])}[ \t\r]*$", re.MULTILINE).search(text, position)
                if end is None:
                    raise TokenError
                _read_text(text[position : end.start()], 0, tokens, _IN_HEREDOC)
                position = end.end()
            case "quote":
                position = _read_text(text, position, tokens, _IN_TEXT)
            case "number" | "name" as kind:
                tokens.append(Token(TokenKind(kind), match[0]))
            case "sign":
                depth += {"{": 1, "}": -1}.get(match[0], 0)
                if depth < 0 and is_inside:
                    return position
                tokens.append(Token(TokenKind.SIGN, match[0]))
    if is_inside:
        raise TokenError
    return position


def _read_text(text: str, start: int, tokens: list[Token], pattern: re.Pattern[str]) -> int:
    """Add the token of a text, and those of the expressions in it. Return the position after it."""
    position, literal, inner = start, "", list[Token]()
    while True:
        match = pattern.match(text, position)
        if match is None:
            raise TokenError
        position = match.end()
        if match.lastgroup == "close":
            break
        if match.lastgroup == "open":
            inner.append(Token(TokenKind.SIGN, "("))
            position = _read(text, position, inner, is_inside=True)
            inner.append(Token(TokenKind.SIGN, ")"))
        else:
            literal += match[0]
    tokens.append(Token(TokenKind.TEMPLATE if inner else TokenKind.TEXT, literal))
    tokens.extend(inner)
    return position


@dataclass(frozen=True, slots=True)
class Block:
    """A block: its type, its labels, and its body."""

    type: str
    labels: Sequence[str]
    body: "Body"


@dataclass(frozen=True, slots=True)
class Body:
    """What is in a file or a block: the tokens of each argument, by its name, and blocks. tokens: all of them."""

    arguments: Mapping[str, Sequence[Token]]
    blocks: Sequence[Block]
    tokens: Sequence[Token]


def body_of(tokens: Sequence[Token]) -> Body:
    """Return the arguments and blocks in a file or a block. Raise TokenError."""
    arguments: dict[str, Sequence[Token]] = {}
    blocks = []
    position = 0
    while position < len(tokens):
        if tokens[position].kind is TokenKind.LINE:
            position += 1
            continue
        if position + 1 < len(tokens) and tokens[position + 1].is_sign("="):
            end = _end_of_line(tokens, position + 2)
            arguments[tokens[position].text] = tokens[position + 2 : end]
            position = end
            continue
        start = position
        while position < len(tokens) and not tokens[position].is_sign("{"):
            if tokens[position].kind not in (TokenKind.NAME, TokenKind.TEXT):
                raise TokenError
            position += 1
        end = closing(tokens, position)
        labels = [token.text for token in tokens[start + 1 : position]]
        blocks.append(Block(tokens[start].text, labels, body_of(tokens[position + 1 : end])))
        position = end + 1
    return Body(arguments, blocks, tokens)


def closing(tokens: Sequence[Token], position: int) -> int:
    """Return the position of the bracket that closes the one at a position. Raise TokenError if there is none."""
    stack = []
    for number in range(position, len(tokens)):
        token = tokens[number]
        if token.is_sign("(", "[", "{"):
            stack.append(_CLOSING[token.text])
        elif token.is_sign(")", "]", "}"):
            if not stack or stack.pop() != token.text:
                raise TokenError
            if not stack:
                return number
    raise TokenError


def _end_of_line(tokens: Sequence[Token], position: int) -> int:
    """Return the end of an expression: a line ends it, except in brackets."""
    while position < len(tokens) and tokens[position].kind is not TokenKind.LINE:
        position = closing(tokens, position) + 1 if tokens[position].is_sign("(", "[", "{") else position + 1
    return position


def parts_of(tokens: Sequence[Token], *signs: str) -> Iterator[Sequence[Token]]:
    """Yield what is between some signs, except in brackets."""
    start = position = 0
    while position < len(tokens):
        if tokens[position].is_sign(*signs):
            yield tokens[start:position]
            start = position + 1
        position = closing(tokens, position) + 1 if tokens[position].is_sign("(", "[", "{") else position + 1
    yield tokens[start:]
