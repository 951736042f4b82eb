"""Keeps passwords out of MLflow, logs and the terminal.

Recipes name environment variables instead of keys. So passwords occur only in addresses, such as
`tracking_uri: postgresql://waymark:PASSWORD@host/mlflow`.
"""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"(?P<before>[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@'\"]*:)[^/\s@'\"]+(?=@)")


def redacted(text: str) -> str:
    """The text with `***` in place of the password in each address."""
    return _PASSWORD.sub(r"\g<before>***", text)
