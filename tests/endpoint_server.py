"""An OpenAI-compatible endpoint on loopback, which fails on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

from tests.loopback import Handler, Loopback


class Server(Loopback):
    """Answers chat completions.

    `trouble` holds the statuses of the first responses (0 closes the connection). `reply` makes the answer to a
    request's body; without it, `message` is the answer. `garbage` is sent instead of the next
    `garbage_answers` answers. `retry_headers` of each response say when to ask again. Requests whose text `refuses`
    accepts get the status 400.
    """

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.headers: list[dict] = []
        self.times: list[float] = []
        self.trouble: list[int] = []
        self.running = self.most = 0
        self.message: dict = {"role": "assistant", "content": "Click it."}
        self.usage: dict | None = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        self.reply: Callable[[dict], str] | None = None
        self.garbage: bytes | None = None
        self.garbage_answers = 10**6
        self.refuses: Callable[[str], bool] = lambda text: False
        self.error_code: str | None = None
        self.finish, self.delay_s = "stop", 0.0
        self.retry_headers = {"Retry-After-Ms": "10"}
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
                    if outer.refuses(text_of(asked)):
                        status = 400
                time.sleep(outer.delay_s)
                with lock:
                    outer.running -= 1
                if status == 0:
                    self.close_connection = True
                    return
                kind = "text/html" if outer.garbage else "application/json"
                self.send_body(outer._answer(asked, status), kind, status, outer.retry_headers)

        super().__init__(Answering)
        self.url = f"{self.origin}/v1"

    def _answer(self, asked: dict, status: int) -> bytes:
        if status != 200:
            return json.dumps({"error": {"message": f"status {status}", "code": self.error_code}}).encode()
        if self.garbage is not None and self.garbage_answers:
            self.garbage_answers -= 1
            return self.garbage
        message = self.message if self.reply is None else {"role": "assistant", "content": self.reply(asked)}
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
        body |= {} if self.usage is None else {"usage": self.usage}
        return json.dumps(body).encode()


def text_of(asked: dict) -> str:
    """Return all text of a request's messages."""
    parts = [message["content"] for message in asked["messages"]]
    flat = [[{"type": "text", "text": part}] if isinstance(part, str) else part for part in parts]
    return "\n".join(part["text"] for message in flat for part in message if part["type"] == "text")


def images_of(asked: dict) -> int:
    """Return the number of images in a request."""
    parts = [message["content"] for message in asked["messages"] if not isinstance(message["content"], str)]
    return sum(part["type"] == "image_url" for message in parts for part in message)
