"""The library's pages and what its readers did, kept on the server, where no page can forge it."""

from __future__ import annotations

import random
import threading
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, urlsplit

TITLES = ["Dune", "Emma", "Ulysses", "Middlemarch", "Walden", "Beloved", "Ivanhoe", "Kim", "Nana", "Solaris"]
STARS = (1, 3, 5)
COOKIE = "reader"


def books(seed: int) -> list[str]:
    """The four titles that a page of this seed shows."""
    return random.Random(seed).sample(TITLES, 4)


class Library:
    """The running server; `deeds` has what each reader did, by the reader's token."""

    def __init__(self) -> None:
        self.deeds: dict[str, list[str]] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.port: int = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()


def _handler(library: Library) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            seed, token = _reader(self.headers.get("Cookie", ""))
            query = parse_qs(address.query)
            title = query.get("title", [""])[0]
            deed = {"/borrow": f"borrow {title}", "/search": f"search {title}"}.get(address.path)
            if address.path == "/rate":
                deed = f"rate {title} {query.get('stars', [''])[0]}"
            if deed is not None:
                library.deeds.setdefault(token, []).append(deed)
            body = _page(address.path, title, books(seed)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    return Handler


def _reader(cookies: str) -> tuple[int, str]:
    """Seed and token of the reader whose cookie this is."""
    value = SimpleCookie(cookies).get(COOKIE)
    seed, _, token = value.value.partition(".") if value is not None else ("0", "", "")
    return int(seed), token


def _page(path: str, title: str, titles: list[str]) -> str:
    if path == "/book":
        stars = "".join(_button(f"{count} stars", f"/rate?title={quote(title)}&stars={count}") for count in STARS)
        return _html(title, f"<h1>{escape(title)}</h1>{stars}")
    if path in ("/borrow", "/search", "/rate"):
        return _html("Done", "<p>Done.</p>")
    links = "".join(f'<p><a href="/book?title={quote(name)}">{escape(name)}</a></p>' for name in titles)
    borrow = "".join(_button(f"Borrow {name}", f"/borrow?title={quote(name)}") for name in titles[:2])
    search = '<form action="/search"><input name="title" aria-label="Title"><button>Search</button></form>'
    return _html("Library", f"{search}{borrow}{links}")


def _button(name: str, address: str) -> str:
    return f"<button onclick=\"location.href='{address}'\">{escape(name)}</button> "


def _html(title: str, body: str) -> str:
    style = "body{margin:4px;font:11px sans-serif}p{margin:1px}input{width:60px}"
    head = f"<head><title>{escape(title)}</title><style>{style}</style></head>"
    return f"<!DOCTYPE html><html>{head}<body>{body}</body></html>"
