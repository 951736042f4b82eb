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
    from components.pipeline.stage_run import StageBusy
    from components.pipeline.state_removal import remove_state

    try:
        removed = remove_state()
    except StageBusy as error:
        return fail(error)
    for folder in removed:
        print(f"removed {folder}")
    return 0
