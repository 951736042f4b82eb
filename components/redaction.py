"""Keeps passwords out of MLflow, logs, the terminal and published data.

Recipes name environment variables instead of keys. So passwords occur only in addresses, such as
`tracking_uri: postgresql://waymark:PASSWORD@host/mlflow`, and in the values of those variables (`Redaction`).
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

_PASSWORDS = (
    re.compile(r"(?P<before>[a-zA-Z0-9+.-]://[^/\s:'\"]*:)[^/\s@'\"]+(?=@)"),
    re.compile(
        r"(?P<before>\b(?:postgres(?:ql)?|postgress|mysql|mariadb|mssql|oracle)(?:\+\w+)?://[^/\s:'\"]+:)"
        r"(?!\d{1,5}[/\s'\"?])[^@\n]{1,2000}+(?=@)"
    ),
)
"""In addresses of databases a password may have slashes, quotation marks and spaces, as SQLAlchemy reads them. Digits
before these are a port. A user may have an `@`. A text takes linear time: repetitions are bounded, or end where another
match may begin."""
MARK = "***"
SHORTEST_SECRET = 6
"""Characters. A shorter value would be replaced in words that have nothing to do with it."""
SECRET_KEYS = ("key_variable", "password_env")
"""Keys of a recipe whose value is the name of an environment variable with a secret."""


def redacted(text: str) -> str:
    """The text with `***` in place of the password in each address."""
    for pattern in _PASSWORDS:
        text = pattern.sub(rf"\g<before>{MARK}", text)
    return text


class Redaction:
    """Replaces passwords in addresses and the given secrets by `***`: as they are, and as JSON, addresses and HTML
    write them.

    Args:
        secrets: texts that must not be published.

    Raises:
        ValueError: a secret has fewer than `SHORTEST_SECRET` characters.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        given = {*secrets}
        escaped = {form for secret in given for form in _forms(secret)}
        self._secrets = sorted(given | escaped, key=len, reverse=True)  # a secret may be part of a longer one
        if any(len(secret) < SHORTEST_SECRET for secret in given):
            raise ValueError(f"a secret has fewer than {SHORTEST_SECRET} characters: replacing it would damage words")

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        return redacted(text)


def _forms(secret: str) -> set[str]:
    """How a secret is written in JSON, in addresses and in HTML."""
    json_forms = {json.dumps(secret, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
    in_addresses = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    in_lower_case = {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), form) for form in in_addresses}
    in_html = {html.escape(secret, quote=quotes) for quotes in (True, False)}
    return json_forms | in_addresses | in_lower_case | in_html


def secret_variables(recipe: Any) -> list[str]:
    """The environment variables that a recipe, as JSON values, names for its secrets."""
    if isinstance(recipe, Mapping):
        own = [value for key, value in recipe.items() if key in SECRET_KEYS and isinstance(value, str)]
        return sorted({*own, *(name for value in recipe.values() for name in secret_variables(value))})
    if isinstance(recipe, list):
        return sorted({name for value in recipe for name in secret_variables(value)})
    return []


def secrets_of(variables: Iterable[str]) -> list[str]:
    """The values of those of these environment variables that are set.

    Raises:
        ValueError: one has fewer than `SHORTEST_SECRET` characters; the message names its variable.
    """
    values = {name: value for name in variables if (value := os.environ.get(name))}
    if short := [name for name, value in values.items() if len(value) < SHORTEST_SECRET]:
        raise ValueError(
            f"the secret in {', '.join(short)} has fewer than {SHORTEST_SECRET} characters: replacing it would damage "
            "other words; change the secret, or, if the value is none, unset the variable for this command"
        )
    return [*values.values()]


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """A value with all of its texts cleaned, at any depth; keys and numbers stay, because those of a record are its
    fields. JSON is cleaned before it is written, because it escapes."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: cleaned(item, clean) for key, item in value.items()}
    return [cleaned(item, clean) for item in value] if isinstance(value, list) else value


def cleaned_json(value: Any, clean: Callable[[str], str]) -> Any:
    """A JSON value of any form, such as the arguments of a call, with all of its texts and keys cleaned. A number with
    a secret in its digits becomes a cleaned text."""
    if isinstance(value, dict):
        return {clean(key): cleaned_json(item, clean) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned_json(item, clean) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = str(value)
        return value if clean(text) == text else clean(text)
    return clean(value) if isinstance(value, str) else value
