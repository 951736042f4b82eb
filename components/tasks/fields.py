"""Field types of several schemas: non-empty text, ids, addresses."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

NonEmpty = Annotated[str, Field(pattern=r"\S")]
"""Text with at least one visible character."""

Id = Annotated[NonEmpty, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
"""An id; some sets number their tasks."""


def website_of(url: str) -> str:
    """The website of a start page: its host, lower case, without `www.`.

    Raises:
        ValueError: it is not an http(s) URL, or contains a password.
    """
    parts = urlsplit(url)
    if parts.password is not None:
        raise ValueError(f"{parts.hostname}: an address with a password would be copied into every trajectory")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an http(s) address")
    return parts.hostname.removeprefix("www.")


def _require_address(url: object) -> object:
    if isinstance(url, str):
        website_of(url)
    return url


def _with_scheme(url: object) -> object:
    """A host without a scheme gets https."""
    return f"https://{url}" if isinstance(url, str) and "://" not in url and "." in url else url


Address = Annotated[str, BeforeValidator(_require_address)]
"""An http(s) address."""

AddressOrHost = Annotated[Address, BeforeValidator(_with_scheme)]
"""An http(s) address, or a host that becomes an https address."""
