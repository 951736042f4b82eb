"""`waymark clean`: removes what stages keep between runs."""

from __future__ import annotations

import argparse

from components.cli.command import Subparsers


def add(commands: Subparsers) -> None:
    """Register `clean`."""
    parser = commands.add_parser("clean", help="remove journals and checkpoints of earlier runs; outputs stay")
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Remove journals, checkpoints, progress files and logs; returns the exit status."""
    import shutil

    from components.store import STATE

    for name in ("state", "progress", "logs"):
        if (STATE / name).exists():
            shutil.rmtree(STATE / name)
            print(f"removed {STATE / name}")
    return 0
