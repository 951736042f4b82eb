"""One of two processes of `test_ranks`: number 1 ends in the way that the argument names, number 0 waits."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def main(ending: str, mark: Path) -> None:
    """Rank 0 of `noticed` ends with an error as soon as the other is gone, as it does in a collective call."""
    if os.environ["RANK"] == "0":
        while not mark.exists():
            time.sleep(0.001)
        if ending == "noticed":
            raise ConnectionError("the other process is gone")
        time.sleep(60)
    mark.touch()
    if ending == "fails":
        raise ValueError("wrong")
    if ending == "waits":
        time.sleep(60)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
