"""Calls in task files: `func:name('argument')`, parsed and never executed.

The published harnesses pass such strings to Python's `eval`. Here they are parsed: a call of one of five known
functions with literal arguments, or an error when the task is loaded. `pages` and
`page_texts` have JavaScript for them.
"""

from __future__ import annotations

import ast
from typing import Literal, get_args

from components.records import Record

PREFIX = "func:"
LAST_URL, PAGE = "__last_url__", "__page__"
"""Arguments that stand for the address and the page with which an episode ended."""
AddressFunction = Literal["reddit_get_post_url", "shopping_get_latest_order_url"]
TextFunction = Literal[
    "gitlab_get_project_memeber_role",  # the published files have this spelling
    "shopping_get_sku_latest_review_author",
    "shopping_get_sku_latest_review_rating",
    "shopping_get_sku_latest_review_text",
    "shopping_get_sku_latest_review_title",
    "shopping_get_order_product_name_list",
    "shopping_get_order_product_option",
    "shopping_get_order_product_quantity",
    "shopping_get_product_attributes",
    "shopping_get_product_price",
    "shopping_get_num_reviews",
    "shopping_get_rating_as_percentage",
    "reddit_get_latest_comment_content_by_username",
    "reddit_get_parent_comment_username_of_latest_comment_by_username",
    "get_query_text",
    "get_query_text_lowercase",
]
_PARAMETERS: dict[str, tuple[str | type[str], ...]] = {
    "reddit_get_post_url": (LAST_URL,),
    "shopping_get_latest_order_url": (),
    "gitlab_get_project_memeber_role": (PAGE, str),
    "shopping_get_sku_latest_review_author": (str,),
    "shopping_get_sku_latest_review_rating": (str,),
    "shopping_get_sku_latest_review_text": (str,),
    "shopping_get_sku_latest_review_title": (str,),
    "shopping_get_order_product_name_list": (PAGE,),
    "shopping_get_order_product_option": (PAGE, str, str),
    "shopping_get_order_product_quantity": (PAGE, str),
    "shopping_get_product_attributes": (PAGE, str),
    "shopping_get_product_price": (PAGE,),
    "shopping_get_num_reviews": (PAGE,),
    "shopping_get_rating_as_percentage": (PAGE,),
    "reddit_get_latest_comment_content_by_username": (PAGE, str),
    "reddit_get_parent_comment_username_of_latest_comment_by_username": (PAGE, str),
    "get_query_text": (PAGE, str),
    "get_query_text_lowercase": (PAGE, str),
}
"""The arguments of each function: a placeholder, or a string of the task."""


class AddressCall(Record):
    """A call whose value is the address of a page."""

    function: AddressFunction


class TextCall(Record):
    """A call whose value is a text. `arguments` are the task's own: a product's number, an account's name, a
    selector."""

    function: TextFunction
    arguments: list[str]


def address_call(text: str) -> AddressCall:
    """Read `func:reddit_get_post_url('__last_url__')` or `func:shopping_get_latest_order_url()`.

    Raises:
        ValueError: the function or its arguments are unknown.
    """
    name, _ = _call(text, get_args(AddressFunction))
    return AddressCall.model_validate({"function": name})


def text_call(text: str) -> TextCall:
    """Read a call of one of the functions of `TextFunction`.

    Raises:
        ValueError: the function or its arguments are unknown.
    """
    name, arguments = _call(text, get_args(TextFunction))
    own = [argument for argument, expected in zip(arguments, _PARAMETERS[name], strict=True) if expected is str]
    return TextCall.model_validate({"function": name, "arguments": own})


def _call(text: str, known: tuple[str, ...]) -> tuple[str, list[str]]:
    try:
        node = ast.parse(text.removeprefix(PREFIX).strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not a function call: {error.msg}") from error
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        raise ValueError(f"{text!r} is not a function call with positional arguments")
    name = node.func.id
    if name not in known:
        raise ValueError(
            f"{text!r} calls none of {', '.join(known)}: implement it in components/judge/rules/page_texts.py"
        )
    arguments = [_argument(argument) for argument in node.args]
    parameters = _PARAMETERS[name]
    matches = len(arguments) == len(parameters) and all(
        isinstance(argument, str) if expected is str else argument == expected
        for argument, expected in zip(arguments, parameters, strict=True)
    )
    if not matches:
        expected_arguments = ", ".join("a string" if expected is str else str(expected) for expected in parameters)
        raise ValueError(f"{text!r}: {name} takes ({expected_arguments})")
    return name, [argument for argument in arguments if argument is not None]


def _argument(node: ast.expr) -> str | None:
    """The value of a literal string, or a name; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return node.id if isinstance(node, ast.Name) else None
