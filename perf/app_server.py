"""Serves the single-page applications of `perf.waiting`, and answers their requests after the delays that they name."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

FOLDER = Path(__file__).parent / "single_page_apps"
STREAM_S = 0.7


@dataclass(frozen=True)
class Step:
    """One navigation: a click on a listed element, or a text written into the field of this name."""

    role: str
    name: str
    text: str = ""


def _links(*names: str) -> list[Step]:
    return [Step("link", name) for name in names]


NAVIGATIONS = {
    "board": _links(*["Tasks", "People", "Files", "Plans", "About"] * 4),
    "search": [
        *(Step("field", "Find", text) for text in ("lamp", "chair", "red", "table")),
        Step("button", "Next page"), Step("checkbox", "New only"), Step("button", "Sort"),
        *(Step("field", "Find", text) for text in ("oak", "pine", "elm")),
        Step("checkbox", "New only"), Step("button", "Sort"), Step("button", "Next page"),
        *(Step("field", "Find", text) for text in ("big lamp", "small lamp")),
        Step("button", "Next page"), Step("button", "Next page"), Step("checkbox", "New only"),
        *(Step("field", "Find", text) for text in ("desk", "shelf")),
    ],
    "dashboard": [
        *_links("Flows", "Runs", "Work", "Blocks", "Events"), Step("button", "More"),
        *_links("Runs", "Flows"), Step("button", "More"), *_links("Events", "Blocks", "Work", "Runs"),
        Step("button", "More"), *_links("Flows", "Events", "Work", "Blocks"), Step("button", "More"), *_links("Runs"),
    ],
    "wizard": [
        *_links("Name"), Step("button", "Save name"), *_links("Address"), Step("button", "Help address"),
        *_links("Payment"), Step("button", "Save payment"), *_links("Review", "Name"), Step("button", "Help name"),
        *_links("Address"), Step("button", "Save address"), *_links("Payment", "Review"), Step("button", "Save review"),
        *_links("Name", "Payment"), Step("button", "Help payment"), *_links("Review", "Address", "Name"),
    ],
    "console": _links(*["Logs", "Hosts", "Jobs", "Costs"] * 5),
}  # fmt: skip
"""Twenty navigations of each application."""


class AppServer:
    """The running server, in threads of its own."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self.host = "127.0.0.1"
        self.origin = f"http://{self.host}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Write no log."""

    def do_GET(self) -> None:
        """Serve a page, its script, a chunk, the stream or an answer."""
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        time.sleep(int(query.pop("ms", 0)) / 1000)
        kind = url.path.split("/")[1]
        if kind == "stream":
            self._stream()
        elif kind == "chunk":
            self._send("export default 1;", "text/javascript")
        elif kind == "runtime.js":
            self._send((FOLDER / "runtime.js").read_text(), "text/javascript")
        elif kind == "api":
            name = " ".join([url.path.removeprefix("/api/").replace("/", " "), *query.values()])
            self._send(json.dumps([f"{name} {number}" for number in range(4)]), "application/json")
        else:
            file = FOLDER / f"{kind}.html"
            self._send(file.read_text() if file.is_file() else "", "text/html", 200 if file.is_file() else 404)

    def do_POST(self) -> None:
        """Read the body and answer as to a GET."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b"data: 1\n\n")
                self.wfile.flush()
                time.sleep(STREAM_S)

    def _send(self, text: str, kind: str, status: int = 200) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)
