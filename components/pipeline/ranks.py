"""Starts the processes of a training with `accelerate launch`, and ends with the status of the one that ended it.

`accelerate launch` itself ends with 1 whatever happened. A process that was killed, such as by the kernel for lack of
memory, would then look like a stage that failed and fails again. As a command it takes the arguments of `accelerate
launch`, and its exit status is 128 plus the signal if a signal ended a process or the launcher, as in a shell.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Collection

from accelerate.commands import launch
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

LAUNCHERS_KILL_S = 10
"""The launcher ends the other processes with SIGTERM, and after 30 s with SIGKILL. A process that was killed within
this time after the first failure was killed by something else."""


def main() -> None:
    """Start the processes and wait for them.

    Raises:
        SystemExit: a signal ended a process, or the launcher.
        ChildFailedError: a process ended with an error of its own.
    """
    try:
        launch.main()
    except SignalException as error:
        raise SystemExit(128 + error.sigval) from error
    except ChildFailedError as error:
        if (number := ending_signal(error.failures.values())) is None:
            raise
        print(f"{error}\nsignal {number} ended a process of the training; the same command resumes", file=sys.stderr)
        raise SystemExit(128 + number) from error


def ending_signal(failures: Collection[ProcessFailure]) -> int | None:
    """The signal that ended a training: that of the first process that failed, or of one that was killed at the same
    time, whose loss the first may have noticed. None if the first process failed by itself.

    Args:
        failures: of all processes, in the order in which the launcher noticed them.
    """
    first = min(failures, key=lambda failure: failure.timestamp)
    if first.exitcode < 0:
        return -first.exitcode
    killed = (
        -failure.exitcode
        for failure in failures
        if failure.exitcode < 0
        and failure.exitcode != -signal.SIGTERM
        and failure.timestamp - first.timestamp < LAUNCHERS_KILL_S
    )
    return next(killed, None)


if __name__ == "__main__":
    main()
