"""The conditions of filter: and, or, parentheses, equality, membership, and isIpv4InSubnet.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-operations-functions.html.
"""

import ast
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address, IPv4Network

Record = Mapping[str, str]
Condition = Callable[[Record], bool]

_UNDERSTOOD = (
    ast.Expression,
    ast.BoolOp,
    ast.boolop,
    ast.Compare,
    ast.Eq,
    ast.In,
    ast.Call,
    ast.List,
    ast.Constant,
    ast.Name,
    ast.Load,
)


def condition(text: str) -> Condition:
    """Return a condition as a function of a record. NotImplementedError for one that is not understood here.

    With == for equality, it is an expression of Python, which has the same precedence. A missing field equals nothing.
    """
    try:
        expression = ast.parse(text.replace(" = ", " == "), mode="eval")
    except SyntaxError as error:
        raise NotImplementedError(f"the sandbox does not understand the condition {text}") from error
    for node in ast.walk(expression):
        if not isinstance(node, _UNDERSTOOD):
            raise NotImplementedError(f"the sandbox does not understand {ast.unparse(node)} in the condition {text}")
    code = compile(expression, "condition", "eval")
    names = [node.id for node in ast.walk(expression) if isinstance(node, ast.Name)]
    functions = {"__builtins__": {}, "isIpv4InSubnet": _is_inside}

    def holds(record: Record) -> bool:
        return bool(eval(code, {name: record.get(name) for name in names} | functions))

    return holds


def _is_inside(address: str, subnet: str) -> bool:
    try:
        return IPv4Address(address) in IPv4Network(subnet)
    except AddressValueError:
        return False
