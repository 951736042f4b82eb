"""The person's lines from standard input, read without blocking the event loop, and yes-or-no questions."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from collections.abc import Callable

STANDARD_INPUT = 0


class Console:
    """Standard input and the terminal. A Ctrl-C ends a waiting read, because the loop can cancel it.

    Args:
        write: prints a text without a newline at once.
    """

    def __init__(self, write: Callable[[str], None], descriptor: int = STANDARD_INPUT) -> None:
        self._write = write
        self._descriptor = descriptor
        self._buffer = b""
        self._is_closed = False

    @property
    def is_terminal(self) -> bool:
        """Whether a person can answer questions: input and output are a terminal."""
        return os.isatty(self._descriptor) and sys.stdout.isatty()

    async def read_line(self, prompt: str) -> str | None:
        """The next line without its newline; None at the end of the input."""
        self._write(prompt)
        while b"\n" not in self._buffer and not self._is_closed:
            chunk = await self._read()
            self._buffer += chunk
            self._is_closed = not chunk
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r")

    async def confirm(self, question: str, default: bool = False) -> bool:
        """Ask until the answer is yes or no; an empty line and the end of the input mean `default`.

        What was typed on the terminal before the question is discarded, since it answers something else.
        """
        if os.isatty(self._descriptor):
            self._buffer = b""
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
        while True:
            line = await self.read_line(f"{question} [{'Y/n' if default else 'y/N'}] ")
            answer = (line or "").strip().lower()
            if not answer:
                return default
            if answer in ("y", "yes", "n", "no"):
                return answer.startswith("y")

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        try:
            loop.add_reader(self._descriptor, _set, ready)
        except PermissionError:  # a regular file is always ready, and epoll refuses it
            return os.read(self._descriptor, 65536)
        try:
            await ready
        finally:
            loop.remove_reader(self._descriptor)
        return os.read(self._descriptor, 65536)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
