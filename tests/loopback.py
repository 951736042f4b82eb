"""The HTTP server on loopback that all test sites and test endpoints use. It runs in threads of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """The base of request handlers. It writes no log."""

    def log_message(self, *args: object) -> None:
        """Writes nothing."""

    def send_body(self, body: bytes, kind: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Send a whole response; a client that has hung up is no error."""
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    """Clients open sixteen connections at once; the default queue of five refuses some of them."""


class Loopback:
    """A server that runs from its construction until `close`. Each address of 127.0.0.0/8 is a host of its own."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler], host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = _Server((host, port), handler)
        self.host, self.port = host, self._server.server_address[1]
        self.origin = f"http://{self.host}:{self.port}"
        # `close` waits for one poll, which is 0.5 s by default
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
