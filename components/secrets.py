"""Keeping passwords out of what others read: MLflow, logs, the terminal.

A recipe names environment variables for keys, never the keys. What is left are passwords in addresses, such as
`tracking_uri: postgresql://waymark:PASSWORD@host/mlflow`.
"""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(?P<before>[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@'\"]*:)[^/\s@'\"]+(?=@)")


def redacted(text: str) -> str:
    """The text with `***` for the password in each address."""
    return _PASSWORD.sub(r"\g<before>***", text)


def has_password(url: str) -> bool:
    """Whether an address has a password in it."""
    return _PASSWORD.search(url) is not None
