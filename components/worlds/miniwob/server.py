"""Serves the files of MiniWoB++ over HTTP on loopback, in separate threads.

The server uses threads because it must answer while the thread of the event loop computes gradients. The HTML is that
of the installed package, byte for byte, except for one script tag before `</head>`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import threading
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SCRIPT_TAG = b'<script src="/waymark/miniwob.js"></script>'
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".png": "image/png",
    ".gif": "image/gif",
    ".jpg": "image/jpeg",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_FOLDERS = ("core", "common", "flight")


def html_root() -> Path:
    """The folder of the installed package's pages.

    Raises:
        RuntimeError: the package is not installed.
    """
    spec = importlib.util.find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise RuntimeError("the miniwob package is not installed; type `pip install miniwob`")
    return Path(spec.origin).parent / "html"


def families() -> list[str]:
    """Every family that the package has."""
    return sorted(path.stem for path in (html_root() / "miniwob").glob("*.html"))


def pages_sha256() -> str:
    """SHA-256 over all files of the installed pages: their names and contents, in order of their names."""
    total, root = hashlib.sha256(), html_root()
    for file in sorted(path for path in root.rglob("*") if path.is_file()):
        total.update(
            f"{file.relative_to(root).as_posix()}\x00{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode()
        )
    return total.hexdigest()


class Server:
    """The running server. `port` is a free port of loopback."""

    def __init__(self) -> None:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, name="miniwob", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and free the port."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:
        body = _load(self.path.split("?")[0])
        if body is None:
            self.send_error(404)
            return
        suffix = Path(self.path.split("?")[0]).suffix
        self.send_response(200)
        self.send_header("Content-Type", _TYPES.get(suffix, "text/html; charset=utf-8"))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=86400")
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the browser has left the page
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Logs nothing."""


@cache
def _load(path: str) -> bytes | None:
    if path == "/waymark/miniwob.js":
        return (Path(__file__).parent / "miniwob.js").read_bytes()
    if path == "/waymark/empty":
        return b"<!DOCTYPE html><head>" + SCRIPT_TAG + b"</head><body></body>"
    if path == "/favicon.ico":
        return b""
    root = html_root().resolve()
    name = path.strip("/")
    file = (root / name if name.split("/")[0] in _FOLDERS else root / "miniwob" / name).resolve()
    if not file.is_relative_to(root) or not file.is_file():
        return None
    body = file.read_bytes()
    if file.suffix == ".html":
        # CR/LF and everything else stay as they are; only the tag is added.
        body = body.replace(b"</head>", SCRIPT_TAG + b"</head>", 1) if b"</head>" in body else SCRIPT_TAG + body
    return body
