"""The command `waymark`: assembles the parser from the modules of this package and runs one subcommand."""

from __future__ import annotations

import argparse
import errno
import sys

from components.cli import (
    blocklist,
    clean,
    compare,
    doctor,
    evaluate,
    export,
    judge,
    leaderboard,
    mcp,
    openenv,
    plan,
    recipe,
    reproduce,
    rl,
    run,
    serve,
    study,
    tasks,
    use,
    view,
    world,
)
from components.cli.command import fail
from components.cli.version import PrintVersion
from components.plugins import install_command, missing_package

GROUPS = (
    doctor,
    recipe,
    use,
    plan,
    run,
    serve,
    openenv,
    mcp,
    evaluate,
    reproduce,
    compare,
    view,
    export,
    blocklist,
    judge,
    tasks,
    world,
    rl,
    study,
    leaderboard,
    clean,
)
"""Modules with subcommands, in the order in which `waymark --help` lists them."""


REFUSALS = {
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EACCES: "change the permissions, or name another place",
    errno.EROFS: "name a place that can be written to",
    errno.ENOSPC: "free some space, and run the same command again",
}
"""What a user can do about refusals of the system, by the number of the error."""
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as a shell reports it."""
CLOSED_PIPE = 141
"""Exit status after the reader of the output has closed the pipe: 128 + SIGPIPE, as a shell reports it."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status.

    A name or a disk that the system refuses ends with a sentence, wherever a command meets it.

    So does a package that the command needs and that the installed extras do not have.

    A command whose output goes to a pipe that its reader has closed, such as `head`, ends without a traceback.
    """
    try:
        try:
            options = parser().parse_args(arguments)
            return options.run(options)
        finally:
            if sys.stdout is not None:  # None if the process was started without a standard output (`>&-`)
                sys.stdout.flush()  # else the interpreter flushes at its exit, where no code can catch the error
    except BrokenPipeError:
        from components.pipeline.closed_output import discard_closed_output

        if not discard_closed_output():
            raise  # another pipe was closed, such as a child process's
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        package = missing_package(error)
        if package is None:
            raise
        return fail(f"this command needs the package {package}: {install_command(package)}")
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        return fail(f"{error.filename or 'a file'}: {error.strerror}: {REFUSALS[error.errno]}")


def parser() -> argparse.ArgumentParser:
    """The parser of `waymark` with all subcommands."""
    top = argparse.ArgumentParser(prog="waymark", description="Trains visual web agents; see README.md.")
    top.add_argument("--version", action=PrintVersion)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add(commands)
    return top


if __name__ == "__main__":
    sys.exit(main())
