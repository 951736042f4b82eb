"""Output whose reader has gone, as behind `| head`: the work of a stage goes on without it."""

from __future__ import annotations

import os
import select
import sys


def say(text: str) -> None:
    """Print a line. If the reader of the standard output has gone, this line and all later ones are discarded.

    Raises:
        BrokenPipeError: the standard output has a reader; then the closed pipe is another one.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:
        if not discard_closed_output():
            raise


def discard_closed_output() -> bool:
    """Send the rest of an output stream whose reader has gone to the null device; whether there was such a stream."""
    closed = [stream for stream in (sys.stdout, sys.stderr) if stream is not None and _has_no_reader(stream.fileno())]
    for stream in closed:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    return bool(closed)


def _has_no_reader(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))
