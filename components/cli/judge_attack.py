"""`waymark judge attack`: what answers that know nothing win by the rules of task files."""

from __future__ import annotations

import argparse
from pathlib import Path

from components.cli.command import Subparsers, fail


def add_attack(commands: Subparsers) -> None:
    """Register `judge attack`."""
    parser = commands.add_parser(
        "attack", help="answers that know nothing against the rules of tasks: constants, hedges, lists, copies"
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="task files, such as those of tasks.files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=attack)


def attack(options: argparse.Namespace) -> int:
    """Attack the rules of each file and print what each attack wins; returns the exit status."""
    import json

    from components.judge.attack import as_text, attack_rules
    from components.judge.rules import RuleError
    from components.tasks import load_files

    results = {}
    for file in options.files:
        try:
            loaded = load_files([file])
            if loaded.missing or not loaded.tasks:
                return fail(f"{file}: {'no such file' if loaded.missing else 'has no task'}; name files of tasks")
            results[file.name] = attack_rules(loaded.tasks)
        except (ValueError, RuleError) as error:
            return fail(error)
    if options.json:
        print(json.dumps({name: attacked.model_dump(mode="json") for name, attacked in results.items()}, indent=1))
    else:
        print("\n\n".join(as_text(name, attacked) for name, attacked in results.items()))
    return 0
