"""The texts of BrowserGym's actions, which are calls of Python functions with literals."""

from __future__ import annotations

import ast
import json
import keyword
from itertools import takewhile

from components.records import ToolCall

MESSAGES = ("send_msg_to_user", "report_infeasible")
"""Actions that give the final answer."""


def calls_of(text: str) -> list[ToolCall]:
    """Actions such as `fill('a12', 'tea')` as calls with numbered arguments; other text becomes the name of one call.

    Nothing is run. An agent may be allowed several actions, each on a line.
    """
    try:
        calls = [_call_of(statement) for statement in ast.parse(text.strip()).body]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        calls = []
    return calls or [ToolCall(name=text.strip())]


def _call_of(statement: ast.stmt) -> ToolCall:
    """The call of a statement.

    Raises:
        ValueError: the statement is not a call.
    """
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError("the statement is not a call of a named function")
    arguments = {str(number): ast.literal_eval(argument) for number, argument in enumerate(call.args)}
    arguments |= {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg is not None}
    return ToolCall(name=call.func.id, arguments=json.loads(json.dumps(arguments)))


def text_of(call: ToolCall) -> str:
    """The text that `calls_of` reads as the call.

    Arguments with names that Python does not allow are one object. A text that became a name stays as it is.
    """
    if not call.name.isidentifier() or keyword.iskeyword(call.name):
        return call.name if not call.arguments else f"{call.name}({call.arguments!r})"
    numbers = [*takewhile(call.arguments.__contains__, map(str, range(len(call.arguments))))]
    named = {name: value for name, value in call.arguments.items() if name not in numbers}
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in named):
        return f"{call.name}({call.arguments!r})"
    words = [repr(call.arguments[number]) for number in numbers] + [
        f"{name}={value!r}" for name, value in named.items()
    ]
    return f"{call.name}({', '.join(words)})"
