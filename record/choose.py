"""Choose the mutants of the base commit, once: python record/choose.py TREE > mutants.tsv, in .venv-record.

The operators for Python are mutmut's. Those for YAML are here.
"""

import ast
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.mutators import mutation_operators
from places import blocks, count, definitions, places
from rows import Mutant, write

SEED = 22
MOST_TEXT = 300
WANTED = (
    ("functions/express_path/domain", 115),
    ("functions/express_path/adapters", 75),
    ("functions/express_path", 75),
    ("cli/express_path_cli/bench", 8),
    ("cli/express_path_cli", 135),
    ("runbooks", 45),
    ("template.yaml", 55),
)
"""How many mutants each part gets; a file belongs to the first part that it is in."""
SKIPPED = (cst.Annotation, cst.Decorator, cst.FormattedString, cst.ConcatenatedString, cst.Import, cst.ImportFrom)


def python_mutants(file: str, source: str) -> Iterator[Mutant]:
    """Return every mutant that can be found again."""
    wrapper = MetadataWrapper(cst.parse_module(source))
    parents, positions = wrapper.resolve(ParentNodeProvider), wrapper.resolve(PositionProvider)
    named = list(definitions(ast.parse(source)))
    for node in parents:
        above = list(_above(node, parents))
        if any(isinstance(found, SKIPPED) for found in above) or _is_prose(node, above):
            continue
        line = positions[node].start.line
        around = [(name, found) for name, found in named if found.lineno <= line <= (found.end_lineno or 0)]
        if not around:
            continue
        name, statement = around[-1]
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                for changed in operator(node):
                    texts = _texts(wrapper.module, node, changed, above, statement)
                    if texts:
                        yield Mutant(0, file, name, *texts, operator.__name__.removeprefix("operator_"))


def _above(node: cst.CSTNode, parents) -> Iterator[cst.CSTNode]:  # noqa: ANN001  # libcst's mapping
    while node is not None and not isinstance(node, cst.Module):
        yield node
        node = parents.get(node)


def _is_prose(node: cst.CSTNode, above: list[cst.CSTNode]) -> bool:
    if isinstance(node, cst.SimpleString):
        if len(above) > 1 and isinstance(above[1], cst.Expr):
            return True
        return any(isinstance(found, cst.Arg) and found.keyword and found.keyword.value == "help" for found in above)
    return False


def _texts(module, node, changed, above, statement):  # noqa: ANN001, ANN202  # a helper of the function above
    for outer in above:
        if isinstance(outer, cst.FunctionDef | cst.ClassDef):
            return None
        is_text = isinstance(outer, cst.BaseExpression | cst.SimpleStatementLine | cst.BaseCompoundStatement)
        if not is_text or (isinstance(outer, cst.GeneratorExp) and not outer.lpar):
            continue
        new = changed if outer is node else outer.deep_replace(node, changed)
        original, replacement = (dedent(module.code_for_node(found)).strip() for found in (outer, new))
        if len(original) > MOST_TEXT or '"""' in original or "#" in original or original == replacement:
            return None
        try:
            if count(statement, original) == 1:
                ast.parse(f"(\n{replacement}\n)" if isinstance(outer, cst.BaseExpression) else replacement)
                return original, replacement
        except (SyntaxError, ValueError):
            return None
    return None


OTHER = {
    "true": "false",
    "false": "true",
    "Allow": "Deny",
    "Deny": "Allow",
    "GreaterThanThreshold": "LessThanThreshold",
    "GreaterThanOrEqualToThreshold": "GreaterThanThreshold",
    "notBreaching": "breaching",
    "breaching": "notBreaching",
    "Abort": "Continue",
    "Continue": "Abort",
}
OPERATORS = {
    "StringEquals": "StringNotEquals",
    "StringNotEquals": "StringEquals",
    "StringLike": "StringNotLike",
    "BooleanEquals": "StringEquals",
    "ArnLike": "ArnNotLike",
    "ArnEquals": "ArnNotEquals",
    "NumericEquals": "NumericGreater",
    "And": "Or",
    "Or": "And",
    "EndsWith": "StartsWith",
    "Bool": "Null",
}
NEXT = ("nextStep", "NextStep", "Default", "onFailure", "onCancel")
CONSTRAINTS = (
    "AllowedPattern",
    "AllowedValues",
    "MinLength",
    "MaxLength",
    "MinValue",
    "MaxValue",
    "ConstraintDescription",
)
PROSE = ("Description", "description", "ConstraintDescription")


def yaml_mutants(file: str, source: str) -> Iterator[Mutant]:
    """Return mutants of a runbook or a template."""
    lines = source.splitlines()
    steps = re.findall(r"^\s*- name: (\w+)$", source, re.MULTILINE)
    named = list(blocks(source))
    for number, line in enumerate(lines):
        around = [(name, first, last) for name, first, last in named if first <= number < last]
        found = re.fullmatch(r"(\s*)(- )?([\w:!]+): (.+?)", line) or re.fullmatch(r"(\s*)(- )()(\S.*)", line)
        bare = re.fullmatch(r"(\s*)(- )?([\w:]+):", line)
        if not around:
            continue
        name, first, last = around[-1]
        for kind, old, new in _changes(line.strip(), found, bare, steps):
            yield from _unique(file, lines, (name, first, last), number, number + 1, kind, line.replace(old, new, 1))
        # A block goes: a constraint, a condition, a statement, an item of a list.
        end = _end_of_block(lines, number)
        key = (found or bare or [""] * 4)[3] if found else (bare[3] if bare else "")
        is_item = line.lstrip().startswith("- ")
        has_sibling = is_item and any(
            _indent(other) == _indent(line) and other.lstrip().startswith("- ")
            for other in (lines[end] if end < len(lines) else "", lines[number - 1] if number else "")
        )
        gone = "constraint" if key in CONSTRAINTS[:-1] else "condition" if key == "Condition" and bare else ""
        if not gone and has_sibling and "- name:" not in line:
            gone = "statement" if key in ("Sid", "Effect") else "item"
        if gone and end - number <= 25:
            yield from _unique(file, lines, (name, first, last), number, end, f"yaml_delete_{gone}", None)


def _changes(text: str, found, bare, steps) -> Iterator[tuple[str, str, str]]:  # noqa: ANN001  # matches
    if bare and bare[3] in OPERATORS:
        yield "yaml_condition", f"{bare[3]}:", f"{OPERATORS[bare[3]]}:"
    if not found or found[3] in PROSE:
        return
    key, value = found[3], found[4].strip("\"'")
    if key in OPERATORS:
        yield "yaml_condition", f"{key}:", f"{OPERATORS[key]}:"
    if value in OTHER:
        yield "yaml_value", f" {value}", f" {OTHER[value]}"
    elif re.fullmatch(r"\d+", value):
        yield "yaml_number", value, str(int(value) + 1)
        yield "yaml_number", value, str(int(value) * 10)
    elif re.fullmatch(r"PT?\d+[A-Z]", value):
        yield "yaml_number", value, value.replace("T", "T9")
    elif re.fullmatch(r"[a-z0-9-]+:[A-Z]\w+\*?", value):
        yield "yaml_action", value, f"{value}X"
    elif key in NEXT and (value in steps or value.startswith("step:")):
        others = [step for step in steps if step not in value]
        yield "yaml_next_step", value.removeprefix("step:"), random.choice(others)
    elif key in ("Api", "Operation", "action"):
        yield "yaml_action", value, f"{value}X"
    elif key in ("Selector", "Variable") and value:
        yield "yaml_selector", value, f"{value}X"
    elif key and re.fullmatch(r"[\w.:/*-]+", value) and key not in ("name", "Sid"):
        yield "yaml_string", value, f"{value}X"
    elif "!Ref " in text:
        yield "yaml_reference", "!Ref ", "!Sub "


def _unique(file, lines, around, start, end, kind, changed) -> Iterator[Mutant]:  # noqa: ANN001  # as above
    name, first, last = around
    for before in range(4):
        begin = start - before
        if begin < first:
            return
        wanted = [line.strip() for line in lines[begin:end]]
        size = len(wanted)
        same = sum([line.strip() for line in lines[at : at + size]] == wanted for at in range(first, last - size + 1))
        if same == 1 and not any(line.startswith("#") for line in wanted):
            new = [*lines[begin:start], *([changed] if changed is not None else [])]
            width = _indent(lines[begin])
            original, replacement = (
                "\n".join(line[min(width, _indent(line)) :] for line in found) for found in (lines[begin:end], new)
            )
            if all(_indent(line) >= width for line in lines[begin:end]) and original != replacement:
                yield Mutant(0, file, name, original, replacement, kind)
                return


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _end_of_block(lines: list[str], number: int) -> int:
    end = number + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(lines[number])):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def part_of(file: str) -> str:
    """Return the part that a file belongs to, empty if none."""
    return next((part for part, _ in WANTED if file == part or file.startswith(f"{part}/")), "")


def main() -> None:
    """Print the chosen mutants."""
    random.seed(SEED)
    tree = Path(sys.argv[1]).resolve()
    pools = defaultdict(list)
    for file in [*sorted((tree / "functions").rglob("*.py")), *sorted((tree / "cli").rglob("*.py"))]:
        name = str(file.relative_to(tree))
        if part_of(name):
            pools[part_of(name)].extend(python_mutants(name, file.read_text(encoding="utf-8")))
    for file in [*sorted((tree / "runbooks").glob("*.yaml")), tree / "template.yaml"]:
        name = str(file.relative_to(tree))
        pools[part_of(name)].extend(yaml_mutants(name, file.read_text(encoding="utf-8")))
    chosen: list[Mutant] = []
    for part, wanted in WANTED:
        # Operators take turns, and files too, so that neither long files nor strings fill the list.
        pool = pools[part]
        random.shuffle(pool)
        files, operators, taken = Counter(), Counter(), set()
        weight = {"string": 2.0, "arg_removal": 1.5, "assignment": 1.5, "yaml_string": 2.0}
        for _ in range(wanted):
            left = [mutant for mutant in pool if (mutant.file, mutant.definition, mutant.original) not in taken]
            if not left:
                break
            mutant = min(
                left[:4000],
                key=lambda one: (
                    (files[one.file] / (3 if part in ("runbooks", "template.yaml") else 1))
                    + operators[one.operator] * weight.get(one.operator, 1.0) / 4
                ),
            )
            taken.add((mutant.file, mutant.definition, mutant.original))  # no two in the same place
            files[mutant.file] += 1
            operators[mutant.operator] += 1
            found = places(tree, mutant.file, mutant.definition, mutant.original)
            if not found or found[0].file != mutant.file:
                raise ValueError(f"not found again: {mutant}")
            chosen.append(mutant)
    write(sys.stdout, [mutant.numbered(number) for number, mutant in enumerate(chosen, 1)])


if __name__ == "__main__":
    main()
