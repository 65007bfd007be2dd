"""What a Terraform configuration reads: which values follow from which attributes, by its sources.

A plan says what an argument refers to, and not what local values do, nor which attribute is read of a whole resource. The
sources say both. They are not evaluated: whatever may be read counts as read.

- A resource that is named as a whole (`for table in aws_route_table.t`, `each.value`, a local value) may be read wherever the
  sources have the name of an attribute: `.owner_id`, or "owner_id".
- An index that is no literal, and a function that takes whole resources, may read every attribute.
- What is in a set, or is a key of a map, comes out in the order of its values, which nobody knows of new ids.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from express_path_cli.sources.change.references import inside
from express_path_cli.sources.change.source_lines import module_texts
from express_path_cli.sources.change.tokens import (
    Block,
    Body,
    Token,
    TokenError,
    TokenKind,
    body_of,
    closing,
    parts_of,
    tokens_of,
)

EVERY = "*"
"""In place of the name of an attribute: all of them."""
_READS_WHOLE = frozenset(
    {
        *(
            "jsonencode",
            "yamlencode",
            "templatefile",
            "templatestring",
            "toset",
            "contains",
            "index",
            "distinct",
            "setunion",
        ),
        *(
            "setintersection",
            "setsubtract",
            "setproduct",
            "matchkeys",
            "transpose",
            "zipmap",
            "tomap",
            "merge",
            "values",
        ),
        *("keys", "lookup"),
    }
)
"""The functions that read or compare the attributes of a resource that they are given as a whole."""
_TAKES_MAP = frozenset({"tomap", "merge", "values", "keys", "lookup"})
"""Those that do not, if they are given a map or a list of resources."""
_SORTS = frozenset({"sort", "toset", "setunion", "setintersection", "setsubtract", "setproduct", "zipmap", "transpose"})
"""The functions that put values in the order of what they are."""
_LISTS = frozenset({"tolist", "flatten", "join", "formatlist", "jsonencode", "yamlencode"})
"""The functions that make a list of a set."""
_SETS = frozenset(
    {
        *("subnet_ids", "route_table_ids", "security_group_ids", "vpc_security_group_ids", "network_interface_ids"),
        *("propagating_vgws", "sync_states", "subnet_mapping", "route", "entry", "private_ips", "ipv6_addresses"),
        *("vpc_zone_identifier", "secondary_private_ip_addresses", "subnet_configuration"),
    }
)
"""The attributes that are sets."""
_ID_ENDS = ("id", "ids", "arn", "arns")
_SCALARS = frozenset({"id", "arn", "key"})
"""The attributes after which there is no whole resource left."""
_NO_ROOTS = frozenset(
    {"count", "path", "terraform", "self", "true", "false", "null", "in", "if", "else", "endif", "endfor"}
)
_NUMBERS = frozenset({"length", "index", "floor", "ceil", "min", "max", "abs", "tonumber", "parseint", "sum"})
_SPELLS = frozenset(
    {
        *("substr", "parseint", "md5", "sha1", "sha256", "sha512", "base64sha256", "base64sha512", "uuidv5", "strrev"),
        *("base64encode", "strcontains", "endswith", "regex", "regexall"),
    }
)
"""The functions whose result depends on the letters of an id."""
_VARIES = frozenset({"plantimestamp", "timestamp", "uuid"})
"""The functions that return something else in every run."""
_META = frozenset({"count", "for_each"})
_NO_VALUES = frozenset(
    {
        *("depends_on", "provider", "providers", "source", "version"),
        *("lifecycle", "provisioner", "connection", "timeouts"),
    }
)
"""The arguments and blocks from which no value of a resource follows."""


class Value(NamedTuple):
    """A value with an expression of its own.

    kind: local, variable, output, argument (of a resource), or repeat, which is the count or for_each of a resource or module.
    owner: the address of the resource or module without keys; that of a data source ends with data.TYPE.NAME. name: empty for
    repeat, and for all outputs of a module.
    """

    kind: str
    owner: str
    name: str = ""


@dataclass(slots=True)
class Reading:
    """What an expression reads.

    attributes: of resources, by the addresses of their blocks. whole: the blocks of resources that are named as a whole.
    values: the other values that it names. holders: those of them that may be, or contain, a whole resource. words: names of
    attributes, and texts. has_variables: it names what the expression around it declares. opened: the parts of which every
    attribute may be read. sorted: what is put in the order of what it is. listed: what is a list, and may have been a set.
    spelled: what is taken apart by its letters. varies: it may be another value in every run.
    """

    attributes: set[tuple[str, str]] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    values: set[Value] = field(default_factory=set)
    holders: set[Value] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    has_variables: bool = False
    opened: list["Reading"] = field(default_factory=list)
    sorted: list["Reading"] = field(default_factory=list)
    listed: list["Reading"] = field(default_factory=list)
    spelled: list["Reading"] = field(default_factory=list)
    varies: bool = False


class _Module(NamedTuple):
    """A module: its address, and its resources and data sources with whether they have count or for_each."""

    address: str
    resources: Mapping[str, bool]


class Configuration:
    """The values of a configuration, and what each of them reads.

    names_workspace: it says terraform.workspace, which a plan does not show.
    """

    def __init__(self, folder: Path, data_folder: Path) -> None:
        """Read the sources. All values of a module of which a file cannot be read may follow from anything.

        folder: that of the root module. data_folder: where Terraform keeps the modules that it installed.
        """
        self._readings: dict[Value, Reading] = {}
        self.names_workspace = False
        bodies: dict[str, list[Body]] = {}
        lost = set()
        for module, text in module_texts(folder, data_folder):
            bodies.setdefault(module, [])
            if text is None:
                lost.add(module)
                continue
            try:
                bodies[module].append(body_of(tokens_of(text)))
            except (TokenError, RecursionError, IndexError):
                lost.add(module)
        for address, parts in bodies.items():
            known = {*self._readings}
            self._read_module(address, parts)
            for value in self._readings.keys() - known if address in lost else ():
                self._readings[value].varies = True
        outputs: defaultdict[str, set[Value]] = defaultdict(set)
        for value in self._readings:
            if value.kind == "output":
                outputs[value.owner].add(value)
        for address, values in outputs.items():
            self._readings[Value("output", address)] = Reading(values=values, holders=values)
        self._holding = self._find_holding()

    def has(self, value: Value) -> bool:
        """Return whether the sources have an expression for a value."""
        return value in self._readings

    def says(self, roots: Iterable[Value], words: Iterable[str]) -> bool:
        """Return whether one of some words is the name of an attribute that these values may read."""
        return any(not self._readings[value].words.isdisjoint(words) for value in self._followed(roots))

    # --- reading -----------------------------------------------------------------------------------------------------

    def _read_module(self, address: str, bodies: Sequence[Body]) -> None:
        blocks = [block for body in bodies for block in body.blocks]
        resources = {}
        for block in blocks:
            if block.type in ("resource", "data"):
                resources[_name_of(block)] = not _META.isdisjoint(block.body.arguments)
        module = _Module(address, resources)
        for body in bodies:
            texts = [token.text for token in body.tokens]
            for number, text in enumerate(texts):
                if text == "terraform" and texts[number + 1 : number + 2] == ["."]:
                    self.names_workspace = self.names_workspace or texts[number + 2] in ("workspace", "env")
        for block in blocks:
            match block.type, block.labels:
                case "locals", _:
                    for name, tokens in block.body.arguments.items():
                        self._add(Value("local", address, name), module, tokens)
                case "output", [name]:
                    self._add(Value("output", address, name), module, block.body.arguments.get("value", ()))
                case "module", [name]:
                    self._add_arguments("variable", inside(address, f"module.{name}"), module, block.body)
                case (("resource" | "data"), [_, _]):
                    self._add_arguments("argument", inside(address, _name_of(block)), module, block.body)

    def _add_arguments(self, kind: str, owner: str, module: _Module, body: Body) -> None:
        """Add the values of a block. All nested blocks of one type are one value."""
        repeat = Value("repeat", owner)
        self._readings.setdefault(repeat, Reading())
        arguments = dict(body.arguments)
        for block in body.blocks:
            name = block.labels[0] if block.type == "dynamic" and block.labels else block.type
            arguments[name] = (*arguments.get(name, ()), *block.body.tokens)
        for name, tokens in arguments.items():
            if name in _META:
                self._add(repeat, module, tokens)
            elif name not in _NO_VALUES:
                self._add(Value(kind, owner, name), module, tokens, repeat)

    def _add(self, value: Value, module: _Module, tokens: Sequence[Token], repeat: Value | None = None) -> None:
        reading = self._readings.setdefault(value, Reading())
        try:
            _Reader(module, repeat).read(tokens, reading)
        except (TokenError, IndexError, RecursionError):
            reading.varies = True

    # --- what may be a whole resource --------------------------------------------------------------------------------

    def _find_holding(self) -> set[Value]:
        """Return the values that may be, or contain, a whole resource."""
        users: defaultdict[Value, set[Value]] = defaultdict(set)
        for value, reading in self._readings.items():
            for source in reading.holders:
                users[source].add(value)
        left = [value for value, reading in self._readings.items() if reading.whole or reading.varies]
        left += [source for source in users if self._is_lost(source)]
        return _reached(left, users)

    def _holds(self, reading: Reading, around: Reading) -> bool:
        """Return whether a part of an expression may be a whole resource."""
        parts = [reading, around] if reading.has_variables else [reading]
        return any(part.whole or not self._holding.isdisjoint(part.holders) for part in parts)

    # --- what follows from what --------------------------------------------------------------------------------------

    def doubtful(
        self, roots: Iterable[Value], untrue: Mapping[str, set[str]], is_later: Callable[[Value], bool]
    ) -> set[Value]:
        """Return the values that may follow from attributes that are others in a test than after the apply.

        roots: the values that matter. untrue: these attributes by the address of their block, EVERY for all of them. is_later:
        returns whether a value is doubtful by itself.
        """
        read = self._followed(roots)
        words = self._words(read)
        users: defaultdict[Value, set[Value]] = defaultdict(set)
        doubted = []
        for value in read:
            reading, sources = self._readings[value], list(self._sources(value, words.get(value)))
            for source in sources:
                users[source].add(value)
            is_read = any(not {name, EVERY}.isdisjoint(untrue.get(block, ())) for block, name in reading.attributes)
            is_read_whole = any(_share(untrue.get(block, set()), words[value]) for block in reading.whole)
            is_spelled = any(self._blocks_of(part, reading) for part in reading.spelled)
            is_lost = any(map(self._is_lost, sources))
            if reading.varies or is_read or is_read_whole or is_spelled or is_lost or is_later(value):
                doubted.append(value)
        return _reached(doubted, users)

    def _words(self, read: Iterable[Value]) -> Mapping[Value, set[str]]:
        """Return which attributes may be read of the whole resources that a value names: what follows from it has the words."""
        users: defaultdict[Value, set[Value]] = defaultdict(set)
        for value in read:
            for source in self._sources(value, None):
                users[source].add(value)
        words: dict[Value, set[str]] = {}
        for value in read:
            if self._readings[value].whole:
                words[value] = set()
                for user in _reached([value], users):
                    words[value] |= self._readings[user].words
                    if any(self._holds(part, self._readings[user]) for part in self._readings[user].opened):
                        words[value].add(EVERY)
        return words

    def in_order(self, roots: Iterable[Value]) -> Mapping[Value, set[str]]:
        """Return the values that may depend on the order of ids, each with the blocks of the resources whose ids they are."""
        found = {}
        for value in self._followed(roots):
            reading = self._readings[value]
            blocks: set[str] = set()
            for part in reading.sorted:
                blocks |= self._blocks_of(part, reading)
            for part in reading.listed:
                if self._reads_set(part):
                    blocks |= self._blocks_of(part, reading)
            if blocks:
                found[value] = blocks
        return found

    def _parts(self, reading: Reading) -> list[Reading]:
        """Return an expression, and those of the values from which it follows."""
        sources = self._followed(self._sources_of(reading, None))
        return [reading, *(self._readings[value] for value in sources)]

    def _blocks_of(self, reading: Reading, around: Reading) -> set[str]:
        """Return the blocks of managed resources from which a part of an expression follows."""
        parts = self._parts(reading)
        if reading.has_variables:
            parts += self._parts(around)
        blocks = {block for part in parts for block in (*part.whole, *(block for block, _ in part.attributes))}
        return {block for block in blocks if "data" not in block.split(".")[-3:-2]}

    def _reads_set(self, reading: Reading) -> bool:
        return any(not _SETS.isdisjoint(part.words) for part in self._parts(reading))

    def _is_lost(self, value: Value) -> bool:
        """Return whether nothing is known of a value. A variable may have its default, and an attribute no argument."""
        if value in self._readings:
            return False
        if value.kind in ("variable", "argument"):
            return value.owner != "" and Value("repeat", value.owner) not in self._readings
        return True

    def _sources(self, value: Value, words: set[str] | None) -> Iterator[Value]:
        return self._sources_of(self._readings[value], words) if value in self._readings else iter(())

    def _sources_of(self, reading: Reading, words: set[str] | None) -> Iterator[Value]:
        """Yield the values from which an expression follows. words: the attributes that are read of a whole resource."""
        yield from reading.values
        for block, attribute in reading.attributes:
            yield Value("argument", block, attribute)
            if "data" in block.split(".")[-3:-2]:
                yield from self._arguments(block, None)
        for block in reading.whole:
            yield Value("repeat", block)
            yield from self._arguments(block, words)

    def _arguments(self, block: str, words: set[str] | None) -> Iterator[Value]:
        for value in self._by_owner[block]:
            if words is None or EVERY in words or value.name in words:
                yield value

    @cached_property
    def _by_owner(self) -> Mapping[str, list[Value]]:
        found: defaultdict[str, list[Value]] = defaultdict(list)
        for value in self._readings:
            if value.kind == "argument":
                found[value.owner].append(value)
        return found

    def _followed(self, roots: Iterable[Value]) -> set[Value]:
        """Return values, and all from which they follow."""
        found: set[Value] = set()
        left = list(roots)
        while left:
            value = left.pop()
            if value not in found and value in self._readings:
                found.add(value)
                left.extend(self._sources(value, None))
        return found


def _reached(values: Iterable[Value], users: Mapping[Value, set[Value]]) -> set[Value]:
    """Return values, and all that follow from them. users: what names a value."""
    found: set[Value] = set()
    left = list(values)
    while left:
        value = left.pop()
        if value not in found:
            found.add(value)
            left.extend(users.get(value, ()))
    return found


def _share(names: set[str], words: set[str]) -> bool:
    """Return whether one of some names is read."""
    return bool(names) and (EVERY in names or EVERY in words or not names.isdisjoint(words))


def _name_of(block: Block) -> str:
    name = ".".join(block.labels)
    return f"data.{name}" if block.type == "data" else name


class _Reader:
    """Reads one expression, or the body of a nested block.

    repeat: where each.value is from. _keys: the variables that have the keys of a map, or the numbers of a list.
    """

    def __init__(self, module: _Module, repeat: Value | None) -> None:
        self._module, self._repeat = module, repeat
        self._keys: set[str] = set()

    def read(self, tokens: Sequence[Token], reading: Reading, bound: set[str] | None = None) -> None:
        """Add what an expression reads. bound: the variables that it declares itself. Raise TokenError."""
        bound = set() if bound is None else bound
        for position, token in enumerate(tokens):
            before = tokens[position - 1] if position else None
            after = tokens[position + 1] if position + 1 < len(tokens) else None
            if token.kind in (TokenKind.TEXT, TokenKind.TEMPLATE) or (
                token.kind is TokenKind.NAME and before is not None and before.is_sign(".")
            ):
                reading.words.add(token.text)
            elif token.kind is TokenKind.NAME and after is not None and after.is_sign("("):
                self._read_call(tokens, position, reading)
            elif token.kind is TokenKind.NAME and token.text == "for":
                bound.update(self._read_for(tokens, position, reading))
            elif token.kind is TokenKind.NAME and not (after is not None and after.is_sign("=", "{")):
                self._read_traversal(tokens, position, reading, bound)
            elif token.is_sign("[") and before is not None and before.is_sign(")"):
                if _reads_any(tokens[position + 1 : closing(tokens, position)]):
                    reading.opened.append(Reading(has_variables=True))
            elif token.is_sign("("):
                end = closing(tokens, position)
                if end + 1 < len(tokens) and tokens[end + 1].is_sign("=", ":"):  # the key of a map
                    reading.sorted.append(self._part(tokens[position + 1 : end]))

    def _part(self, tokens: Sequence[Token], *bound: str) -> Reading:
        part = Reading()
        self.read(tokens, part, {*bound})
        return part

    # --- names -------------------------------------------------------------------------------------------------------

    def _read_traversal(self, tokens: Sequence[Token], position: int, reading: Reading, bound: set[str]) -> None:
        """Add what a name reads, with the attributes and indexes after it."""
        root = tokens[position].text
        if root in _NO_ROOTS:
            return
        steps, end = _steps(tokens, position + 1)
        names = [step for step in steps if isinstance(step, str)]
        part = Reading()
        match root, steps:
            case "each", _:
                if self._repeat:
                    self._add_value(self._repeat, names, part)
            case "var", [str() as name, *_]:
                self._add_value(Value("variable", self._module.address, name), names[1:], part)
            case "local", [str() as name, *_]:
                self._add_value(Value("local", self._module.address, name), names[1:], part)
            case "module", [str() as call, *_]:
                output = names[1] if len(names) > 1 else ""
                value = Value("output", inside(self._module.address, f"module.{call}"), output)
                self._add_value(value, names[2:], part)
            case "data", [str() as type_, str() as name, *left]:
                self._read_resource(f"data.{type_}.{name}", left, part)
            case _, [str() as name, *left] if f"{root}.{name}" in self._module.resources:
                self._read_resource(f"{root}.{name}", left, part)
            case _:
                part.has_variables = root not in bound | self._keys
        is_resource = bool(part.attributes or part.whole)
        indexes = steps[2 if is_resource and root != "data" else 0 :]
        if not is_resource and any(_reads_any(step) for step in indexes if isinstance(step, list)):
            part.opened.append(Reading(part.attributes, part.whole, part.values, part.holders, has_variables=True))
        if part.whole and _is_compared(tokens, position, end):
            part.opened.append(Reading(whole=part.whole))
        for number, step in enumerate(steps):
            if step == [] and any(name in _SETS for name in steps[:number] if isinstance(name, str)):
                part.listed.append(
                    Reading(part.attributes, part.whole, part.values, words={*names}, has_variables=True)
                )
        _merge(reading, part)

    def _add_value(self, value: Value, names: Sequence[str], part: Reading) -> None:
        part.values.add(value)
        if not names or names[-1] not in _SCALARS:
            part.holders.add(value)

    def _read_resource(self, name: str, steps: Sequence[object], part: Reading) -> None:
        """Add what is read of a resource: an attribute, or all of it."""
        block, left = inside(self._module.address, name), list(steps)
        if self._module.resources.get(name) and left and isinstance(left[0], list):
            left.pop(0)  # the key of an instance
        while left and left[0] == []:  # each of them
            left.pop(0)
        if not left:
            part.whole.add(block)
            return
        step = left[0]
        if isinstance(step, str):
            part.attributes.add((block, step))
        elif isinstance(step, list) and [token.kind for token in step] == [TokenKind.TEXT]:
            part.attributes.add((block, step[0].text))
        else:
            part.whole.add(block)
            part.opened.append(Reading(whole={block}))

    # --- functions and `for` -----------------------------------------------------------------------------------------

    def _read_call(self, tokens: Sequence[Token], position: int, reading: Reading) -> None:
        name, end = tokens[position].text, closing(tokens, position + 1)
        arguments = list(parts_of(tokens[position + 2 : end], ","))
        reading.varies = reading.varies or name in _VARIES
        is_by_name = name == "lookup" and [token.kind for token in _trimmed(arguments[1])] == [TokenKind.TEXT]
        for number, argument in enumerate(arguments):
            is_map = self._is_map(argument)
            if name in _READS_WHOLE and not is_by_name and not (is_map and name in _TAKES_MAP):
                reading.opened.append(self._part(argument))
            if name in _SORTS and (name != "zipmap" or number == 0):
                reading.sorted.append(self._part(argument))
            if name in _SPELLS:
                reading.spelled.append(self._part(argument))
            if name in _LISTS:
                reading.listed.append(self._part(argument))

    def _is_map(self, tokens: Sequence[Token]) -> bool:
        """Return whether an expression is a map or a list of resources: one with count or for_each, or one in brackets."""
        trimmed = _trimmed(tokens)
        if trimmed and trimmed[0].is_sign("{", "["):
            return closing(trimmed, 0) == len(trimmed) - 1
        return self._module.resources.get("".join(token.text for token in trimmed), False)

    def _read_for(self, tokens: Sequence[Token], position: int, reading: Reading) -> Sequence[str]:
        """Add what a `for` reads of what it goes through, and of the keys that it makes. Return its variables."""
        number = position
        while tokens[number].text != "in":
            number += 1
        variables = [token.text for token in tokens[position + 1 : number] if token.kind is TokenKind.NAME]
        self._keys -= {*variables}
        self._keys |= {*variables[:-1]}
        end = number
        while not tokens[end].is_sign(":"):
            end = _after(tokens, end)
        source, is_map = tokens[number + 1 : end], self._is_map(tokens[number + 1 : end])
        part = self._part(source)
        if len(variables) > 1 and not is_map:
            reading.opened.append(part)
        result = _until_closed(tokens, end + 1)
        if position and _opens(tokens, position).is_sign("{"):
            [key, *_] = parts_of(result, "=>")
            self._read_key(key, variables, part, reading)
        elif not (is_map or _is_one(tokens, position) or _selects(result)):
            reading.listed.append(part)
        return variables

    def _read_key(self, key: Sequence[Token], variables: Sequence[str], source: Reading, reading: Reading) -> None:
        """Add what the keys of a map are, unless they are keys already, or attributes that are no ids."""
        names = [token.text for token in _trimmed(key)]
        if len(variables) > 1 and names == variables[:1]:
            return
        part = self._part(key, *variables)
        if part.words and not any(word.split("_")[-1] in _ID_ENDS for word in part.words):
            return
        if variables[-1] in names:
            _merge(part, source)
        reading.sorted.append(part)


def _merge(reading: Reading, part: Reading) -> None:
    """Add what a part of an expression reads."""
    reading.attributes |= part.attributes
    reading.whole |= part.whole
    reading.values |= part.values
    reading.holders |= part.holders
    reading.words |= part.words
    reading.opened += part.opened
    reading.sorted += part.sorted
    reading.listed += part.listed
    reading.spelled += part.spelled
    reading.has_variables = reading.has_variables or part.has_variables
    reading.varies = reading.varies or part.varies


def _steps(tokens: Sequence[Token], position: int) -> tuple[list[object], int]:
    """Return the attributes and indexes of a traversal, and its end. An index is a list of tokens, empty for each of all."""
    steps: list[object] = []
    while position + 1 < len(tokens):
        if tokens[position].is_sign("."):
            token = tokens[position + 1]
            index = [] if token.is_sign("*") else [token]
            steps.append(token.text if token.kind is TokenKind.NAME else index)
            position += 2
        elif tokens[position].is_sign("["):
            end = closing(tokens, position)
            inner = list(tokens[position + 1 : end])
            steps.append([] if inner and inner[0].is_sign("*") else inner)
            position = end + 1
        else:
            break
    return steps, position


def _reads_any(index: Sequence[Token]) -> bool:
    """Return whether an index may name any attribute: it is no literal, no number, and not for each."""
    inner = _trimmed(index)
    if not inner or [token.kind for token in inner] in ([TokenKind.TEXT], [TokenKind.NUMBER]) or inner[0].is_sign("*"):
        return False
    texts = [token.text for token in inner]
    if "?" not in texts and (
        len(list(parts_of(inner, "+", "-", "*", "/", "%"))) > 1 or texts == ["count", ".", "index"]
    ):
        return False
    return not (texts[0] in _NUMBERS and inner[1].is_sign("(") and closing(inner, 1) == len(inner) - 1)


def _is_compared(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Return whether a traversal is compared with something else than null."""
    if start and tokens[start - 1].is_sign("==", "!="):
        return tokens[start - 2].text != "null"
    return end < len(tokens) and tokens[end].is_sign("==", "!=") and tokens[end + 1].text != "null"


def _trimmed(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return an expression without the lines around it."""
    return [token for token in tokens if token.kind is not TokenKind.LINE]


def _after(tokens: Sequence[Token], position: int) -> int:
    """Return what is after a token, or after what it opens."""
    return closing(tokens, position) + 1 if tokens[position].is_sign("(", "[", "{") else position + 1


def _opens(tokens: Sequence[Token], position: int) -> Token:
    """Return the token before a position that is not a line."""
    while position and tokens[position - 1].kind is TokenKind.LINE:
        position -= 1
    return tokens[max(position - 1, 0)]


def _until_closed(tokens: Sequence[Token], position: int) -> Sequence[Token]:
    """Return the tokens up to the bracket that closes what they are in."""
    end = position
    while end < len(tokens) and not tokens[end].is_sign(")", "]", "}"):
        end = _after(tokens, end)
    return tokens[position:end]


def _is_one(tokens: Sequence[Token], position: int) -> bool:
    """Return whether a `for` is the only argument of one(), which has no order."""
    texts = [token.text for token in _trimmed(tokens[:position])[-3:]]
    return texts == ["one", "(", "["]


def _selects(result: Sequence[Token]) -> bool:
    """Return whether a `for` takes only what is equal to something."""
    position = 0
    while position < len(result) and result[position].text != "if":
        position = _after(result, position)
    condition = result[position:]
    is_other = any(token.is_sign("||", "!=", "!") for token in condition)
    return not is_other and any(token.is_sign("==") for token in condition)
