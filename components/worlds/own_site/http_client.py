"""Waymark's own requests to an application: log-ins, resets, lists of rows and rules. They bypass the agent's browser.

The client resolves the site's host to the process on loopback, so the application sees the host that a browser sends.
"""

from __future__ import annotations

import contextlib
import email.utils
from collections.abc import Mapping
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import httpx

from components.browser import SiteCookie
from components.worlds.own_site.site_file import OwnSiteError, Request

TIMEOUT_S = 30.0


class Client:
    """Requests to one process, with the cookies of one person.

    Args:
        origin: scheme and host under which a browser sees the application.
        port: of its process on loopback.
        cookies: by name.
        timeout_s: the time for each part of a response.
    """

    def __init__(
        self, origin: str, port: int, cookies: dict[str, str] | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._timeout_s = timeout_s
        self.cookies = dict(cookies or {})
        self._hidden: set[str] = set()
        self._base = f"http://127.0.0.1:{port}"
        self._origin = origin

    def send(self, request: Request) -> httpx.Response:
        """Send a request; its cookies are kept, redirections are not followed.

        Raises:
            OwnSiteError: the application does not answer.
        """
        if request.get:
            return self.get(request.get, request.headers)
        form = None
        if request.form is not None:
            page = self.get(request.post)
            form = {**hidden_fields(page.text, request.form), **request.form}
        return self._send("POST", request.post, request.headers, data=form, json=request.body)

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        """The response of a path. Raises as `send`."""
        return self._send("GET", path, headers or {})

    def _send(self, method: str, path: str, headers: dict[str, str], **content: Any) -> httpx.Response:
        named = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"Host": urlsplit(self._origin).netloc, **({"Cookie": named} if named else {}), **headers}
        if method == "POST":
            sent = {"Origin": self._origin, "Referer": self._origin + path, **sent}
        try:
            with httpx.Client(trust_env=False, timeout=self._timeout_s) as client:
                response = client.request(method, self._base + path, headers=sent, **content)
        except httpx.HTTPError as error:
            raise OwnSiteError(
                f"the application does not answer {method} {path} ({type(error).__name__}: {error}): check the "
                "output of its `start` command"
            ) from error
        for cookie in response.headers.get_list("set-cookie"):  # httpx's own jar would refuse the browser's domain
            self._keep(cookie)
        return response

    @property
    def browser_cookies(self) -> list[SiteCookie]:
        """The cookies for a browser; scripts of pages can read those that the application lets them read."""
        return [SiteCookie(self._origin, name, value, name in self._hidden) for name, value in self.cookies.items()]

    def _keep(self, header: str) -> None:
        """Keep the cookie of a header `Set-Cookie`, or remove the one that it ends."""
        pair, *given = header.split(";")
        name, _, value = (part.strip() for part in pair.partition("="))
        parted = [attribute.partition("=") for attribute in given]
        attributes = {attribute.strip().lower(): setting.strip() for attribute, _, setting in parted}
        self._hidden.discard(name)
        if _has_expired(attributes):
            self.cookies.pop(name, None)
            return
        self.cookies[name] = value
        if "httponly" in attributes:
            self._hidden.add(name)


def _has_expired(attributes: Mapping[str, str]) -> bool:
    """Whether a cookie with these attributes ends at once (RFC 6265, section 5.2). Malformed ones are ignored."""
    with contextlib.suppress(KeyError, ValueError):
        return int(attributes["max-age"]) <= 0  # it counts before a date
    with contextlib.suppress(KeyError, ValueError):
        ends = email.utils.parsedate_to_datetime(attributes["expires"])
        return (ends if ends.tzinfo else ends.replace(tzinfo=UTC)) <= datetime.now(UTC)
    return False


def log_in(client: Client, steps: list[Request] | dict[str, str]) -> dict[str, str]:
    """Logs a person in by requests or cookies; returns the cookies of the session.

    Raises:
        OwnSiteError: the application does not answer, or refuses.
    """
    if isinstance(steps, dict):
        client.cookies |= steps
        return client.cookies
    for step in steps:
        response = client.send(step)
        if response.status_code >= httpx.codes.BAD_REQUEST:
            raise OwnSiteError(
                f"the log-in {step.path} was answered with status {response.status_code}: correct its path and fields"
            )
    if not client.cookies:
        raise OwnSiteError(f"the log-in {', '.join(step.path for step in steps)} set no cookie: see its fields")
    return client.cookies


class _Forms(HTMLParser):
    """The forms of a page: the names of their fields, and the hidden ones with their values."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[set[str], dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes a form or a field."""
        values = dict(attrs)
        name = values.get("name")
        if tag == "form":
            self.forms.append((set(), {}))
        elif tag in ("input", "select", "textarea") and name and self.forms:
            names, hidden = self.forms[-1]
            names.add(name)
            if (values.get("type") or "").lower() == "hidden":
                hidden[name] = values.get("value") or ""


def hidden_fields(page: str, form: dict[str, str]) -> dict[str, str]:
    """The hidden fields of the page's form that has most of the given fields; empty if there is none."""
    parser = _Forms()
    parser.feed(page)
    best = max(parser.forms, key=lambda candidate: len(candidate[0] & {*form}), default=None)
    return best[1] if best is not None and best[0] & {*form} else {}
