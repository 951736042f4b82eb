"""`waymark doctor`: what this machine lacks."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.cli.command import PARAMS, Subparsers, fail, nonempty_path

LOCK = Path("requirements/cpu.txt")


def add(commands: Subparsers) -> None:
    """Register `doctor`."""
    parser = commands.add_parser("doctor", help="what is missing on this machine, and the fix")
    parser.add_argument(
        "recipe", nargs="?", type=nonempty_path, default=PARAMS, metavar="RECIPE",
        help="a file, or a name in recipes/; default: %(default)s",
    )  # fmt: skip
    parser.add_argument(
        "--fix", action="store_true", help="install Chromium, and the programs of the recipe's worlds, where missing"
    )
    parser.add_argument(
        "--lock", type=Path, metavar="FILE", default=LOCK, help="versions to expect; default: %(default)s"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table of checks; returns the exit status."""
    from components import doctor
    from components.params import find

    recipe = find(options.recipe)
    if options.fix:
        from components.browser import ChromiumNotFoundError
        from components.worlds import WorldError

        try:
            print(f"chromium: {doctor.install_chromium()}")
            for name, place in doctor.install_world_programs(recipe).items():
                print(f"{name}: {place}")
        except (ChromiumNotFoundError, WorldError) as error:
            return fail(error)
    return doctor.show(doctor.examine(lock=options.lock, named=recipe))
