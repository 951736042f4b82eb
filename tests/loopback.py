"""The one HTTP server that the sites and models of tests run on: on loopback, in threads of its own, saying nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Answers a request."""

    def log_message(self, *args: object) -> None:
        """Quiet."""


class _Listening(ThreadingHTTPServer):
    request_queue_size = 128
    """Clients ask sixteen things at once; the default of five refuses some of them."""


class Loopback:
    """The running server, until `close`. Another address of 127.0.0.0/8 is a host of its own."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler], host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = _Listening((host, port), handler)
        self.host, self.port = host, self._server.server_address[1]
        self.origin = f"http://{self.host}:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
