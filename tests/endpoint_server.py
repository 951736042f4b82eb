"""A real HTTP server on loopback that stands for an OpenAI-compatible endpoint and misbehaves on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

from tests.loopback import Handler, Loopback


class Server(Loopback):
    """Answers chat completions.

    `trouble` holds statuses to give first (0 hangs up), `reply` says what is answered to a request's body, `garbage` is
    sent instead of an answer, and `message` is the answer where there is no `reply`.
    """

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.headers: list[dict] = []
        self.times: list[float] = []
        self.trouble: list[int] = []
        self.running = self.most = 0
        self.message: dict = {"role": "assistant", "content": "Click it."}
        self.reply: Callable[[dict], str] | None = None
        self.garbage: bytes | None = None
        self.error_code: str | None = None
        self.finish, self.delay_s = "stop", 0.0
        outer, lock = self, threading.Lock()

        class Answering(Handler):
            def do_POST(self) -> None:
                with lock:
                    outer.running += 1
                    outer.most = max(outer.most, outer.running)
                    outer.times.append(time.monotonic())
                    asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                    outer.asked.append(asked)
                    outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                    status = outer.trouble.pop(0) if outer.trouble else 200
                time.sleep(outer.delay_s)
                with lock:
                    outer.running -= 1
                if status == 0:
                    self.close_connection = True
                    return
                data = outer._answer(asked, status)
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if outer.garbage else "application/json")
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        super().__init__(Answering)
        self.url = f"{self.origin}/v1"

    def _answer(self, asked: dict, status: int) -> bytes:
        if status != 200:
            return json.dumps({"error": {"message": f"status {status}", "code": self.error_code}}).encode()
        if self.garbage is not None:
            return self.garbage
        message = self.message if self.reply is None else {"role": "assistant", "content": self.reply(asked)}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        return json.dumps(body).encode()


def text_of(asked: dict) -> str:
    """All text of a request's messages."""
    parts = [message["content"] for message in asked["messages"]]
    flat = [[{"type": "text", "text": part}] if isinstance(part, str) else part for part in parts]
    return "\n".join(part["text"] for message in flat for part in message if part["type"] == "text")


def images_of(asked: dict) -> int:
    """How many images a request shows."""
    parts = [message["content"] for message in asked["messages"] if not isinstance(message["content"], str)]
    return sum(part["type"] == "image_url" for message in parts for part in message)
