"""`waymark clean`: removes what stages keep between runs."""

from __future__ import annotations

import argparse

from components.cli.command import Subparsers, fail


def add(commands: Subparsers) -> None:
    """Register `clean`."""
    parser = commands.add_parser(
        "clean", help="remove journals and checkpoints, those of unfinished stages too; outputs stay"
    )
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Remove journals, checkpoints, progress files and logs; returns the exit status, 1 if a stage is running."""
    import shutil

    from components.store import STATE, is_locked

    running = [path.parent for path in sorted((STATE / "state").glob("*/*/lock")) if is_locked(path)]
    if running:
        return fail(f"{running[0].parent.name} is running (its state is {running[0]}): wait until it ends, or end it")
    for name in ("state", "progress", "logs"):
        if (STATE / name).exists():
            shutil.rmtree(STATE / name)
            print(f"removed {STATE / name}")
    return 0
