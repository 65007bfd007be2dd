"""Goes through DynamoDB's expressions without asking at each node again which classes of nodes matter."""

import pickle
from copy import deepcopy
from functools import cache

from moto.dynamodb.parsing import ast_nodes, validators

from sandbox.dynamic import Moto
from sandbox.patches import Patches

_NODES: Moto = ast_nodes


def apply(patches: Patches) -> None:
    """Traverse and copy expressions faster."""
    patches.set(_NODES.DepthFirstTraverser, "traverse", _traverse)
    patches.set(_NODES.Node, "find_clauses", _find_clauses)
    patches.set(validators, "deepcopy", _copy)


def _copy(value: Moto) -> Moto:
    return pickle.loads(pickle.dumps(value)) if isinstance(value, _NODES.Node) else deepcopy(value)


def _find_clauses(node: Moto, classes: list[type]) -> list[Moto]:
    """Return the nodes of these classes, as moto's method of the same name."""
    found: list[Moto] = []
    for child in node.children or ():
        kind: Moto = type(child)
        if kind in classes:
            found.append(child)
        elif _first_base(kind, (_NODES.Expression, _NODES.UpdateExpressionFunction)):
            found.extend(_find_clauses(child, classes))
    return found


def _traverse(traverser: Moto, node: Moto) -> Moto:
    """Process the nodes of a tree from its leaves to its root, as moto's method of the same name."""
    return _visit(traverser, traverser._processing_map(), node)


def _visit(traverser: Moto, processors: dict[type, Moto], node: Moto, place: int = -1) -> Moto:
    """Process a node, which is at a place among its parent's children, after its own children."""
    kind: Moto = type(node)
    if not _first_base(kind, (_NODES.Node,)):
        return node
    parent = node.parent
    for child_place, child in enumerate(node.children or ()):
        traverser.pre_processing_of_child(node, child_place)
        _visit(traverser, processors, child, child_place)
    processed = _first_base(kind, tuple(processors))
    if processed:
        node = processors[processed](node)
        node.parent = parent
        if parent:
            parent.children[place] = node
    return node


@cache
def _first_base(kind: Moto, classes: tuple[Moto, ...]) -> Moto:
    """Return the first of these classes that a class inherits from, or None."""
    return next((base for base in classes if issubclass(kind, base)), None)
