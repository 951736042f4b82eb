"""A small shop that behaves like sites of the web: its content comes late, and a session has an identity.

It has a consent banner, late layout, suggestions, lazy lists, filters, pages, endless scrolling, sign-in, a cart and a
block page. The pages are files under `live/`; the server answers their requests after `DELAY_S`.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import Counter, defaultdict
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.loopback import Handler, Loopback

DELAY_S = 0.6
ITEMS = [f"{colour} {thing}" for thing in ("lamp", "chair", "table", "shelf") for colour in ("red", "blue", "green")]
PER_PAGE = 5
VISITS_PER_SESSION = 3
"""After so many visits, `/limited` shows a challenge."""


class Shop(Loopback):
    """The running site."""

    def __init__(self) -> None:
        self.carts: dict[str, list[str]] = defaultdict(list)
        self.names: dict[str, str] = {}
        self.visits: Counter[str] = Counter()
        shop = self

        class Serving(_Handler):
            state = shop

        super().__init__(Serving)


class _Handler(Handler):
    state: Shop

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path.startswith("/api/"):
            time.sleep(DELAY_S)
            self._json(self._answer(url.path.removeprefix("/api/"), asked))
        elif url.path == "/limited":
            self.state.visits[self.session] += 1
            limited = self.state.visits[self.session] > VISITS_PER_SESSION
            self._page("robot" if limited else "feed", 429 if limited else 200)
        elif url.path == "/robot":
            self._page("robot", 403)
        elif url.path == "/account":
            name = self.state.names.get(self.session)
            if name is None:
                self._go("/login")
            elif asked.get("order"):
                ordered = ", ".join(self.state.carts.pop(self.session, []))
                self._html(f"<title>Thank you</title><h1>{name} ordered {ordered}.</h1>")
            else:
                self._html(f"<title>Account</title><h1>Hello {name}</h1><a href='/catalog'>Catalog</a>")
        elif url.path == "/product":
            self._html(f"<title>{asked['name']}</title><h1>{asked['name']}</h1>")
        else:
            self._page({"/": "home"}.get(url.path, url.path.strip("/")))

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        asked = {name: values[0] for name, values in parse_qs(body or url.query).items()}
        time.sleep(DELAY_S)
        if url.path == "/login":
            right = asked.get("password") == "wonderland"
            if right:
                self.state.names[self.session] = asked["name"]
            self._go("/account" if right else "/login?wrong")
        else:
            cart = self.state.carts[self.session]
            cart.append(asked["name"])
            self._json({"count": len(cart)})

    @property
    def session(self) -> str:
        """The session of the request's cookie, or a new one."""
        cookie = SimpleCookie(self.headers.get("Cookie", ""))
        if "session" not in cookie:
            self._fresh = uuid.uuid4().hex
            self.headers["Cookie"] = f"session={self._fresh}"
            return self._fresh
        return cookie["session"].value

    _fresh: str | None = None

    def _answer(self, what: str, asked: dict[str, str]) -> object:
        match what:
            case "offer":
                return "Today: lamps"
            case "suggest":
                return [name for name in ITEMS if asked.get("q") and asked["q"].lower() in name]
            case "items":
                names = [name for name in ITEMS if asked["red"] == "false" or name.startswith("red")]
                first = int(asked["page"]) * PER_PAGE
                return {"items": names[first : first + PER_PAGE], "last": first + PER_PAGE >= len(names)}
            case "feed":
                return [f"story {number}" for number in range(int(asked["from"]), int(asked["from"]) + 10)]
            case "cart":
                return self.state.carts[self.session]
        return None

    def _page(self, name: str, status: int = 200) -> None:
        file = Path(__file__).parent / "live" / f"{name}.html"
        if file.is_file():
            self._send(file.read_bytes(), "text/html", status)
        else:
            self._html("<title>Not found</title>", 404)

    def _html(self, text: str, status: int = 200) -> None:
        self._send(f"<!DOCTYPE html>{text}".encode(), "text/html", status)

    def _json(self, value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        self._send(text.encode(), "application/json", 200)

    def _go(self, path: str) -> None:
        self._send(b"", "text/html", 303, Location=path)

    def _send(self, body: bytes, kind: str, status: int, **headers: str) -> None:
        _ = self.session
        if self._fresh is not None:
            headers["Set-Cookie"] = f"session={self._fresh}; path=/"
        self.send_body(body, f"{kind}; charset=utf-8", status, headers)
