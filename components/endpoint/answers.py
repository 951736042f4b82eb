"""The answers of models, and the file that keeps them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from components.endpoint.errors import EndpointError
from components.records import Record, Text
from components.store import STATE

ANSWERS = STATE / "answers.sqlite"
"""The file of answers that all stages share. It is no DVC output and no stage's state, so `waymark clean` keeps it."""


class Answer(Record):
    """A model's answer.

    If the endpoint returns the reasoning separately, `text` begins with it, in `<think>…</think>`. `usd` is the price
    and `latency_s` the endpoint's time including retries, both of the original request; a `cached` answer cost neither
    again. A `filtered` answer was cut by the endpoint's content filter, and not by its token limit.
    """

    text: Text
    finish_reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int
    usd: float
    latency_s: float
    cached: bool = False
    filtered: bool = False

    @property
    def tokens(self) -> int:
        """Number of tokens read and written."""
        return self.prompt_tokens + self.completion_tokens


class PaidAnswer(Record):
    """An answer in the journal of a run."""

    key: str
    answer: Answer


class Answers:
    """Answers by key, in a file that several processes may use. An unreadable entry counts as missing."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            EndpointError: the file is not a database of answers.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=60, isolation_level=None)
        try:
            self._database.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)")
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise EndpointError(
                f"{path} is not a file of answers ({error}): move it away to start a new one"
            ) from error

    def get(self, key: str) -> Answer | None:
        """The answer with this key, if there is one."""
        row = self._database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else Answer.model_validate_json(row[0])
        except ValidationError:
            return None

    def put(self, key: str, answer: Answer) -> None:
        """Store an answer. Once this returns, it survives the process."""
        self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, answer.model_dump_json()))

    def add(self, answers: Iterable[PaidAnswer]) -> None:
        """Store answers that another machine got."""
        rows = ((paid.key, paid.answer.model_dump_json()) for paid in answers)
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?)", rows)
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._database.close()
