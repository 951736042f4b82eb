"""The pages of the command line and of the stages, from the argument parser and from dvc.yaml."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import yaml

from docs.generator.text import cell_of, sentence


def command_line() -> list[str]:
    """`waymark` and its subcommands, from the argument parser."""
    from components.cli.main import parser

    lines = [
        "# Command line",
        "",
        "`make demo` installs the command `waymark` into `.venv/bin`. This page is generated from its argument parser;",
        "`waymark COMMAND --help` prints the same. The make targets are listed by `make help`.",
        "",
    ]
    for command in commands(parser()):
        lines += command
    return lines


def commands(parser: argparse.ArgumentParser, about: str = "") -> Iterator[list[str]]:
    """A section for each command that does something, in the order of the parser."""
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)
    subparsers = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not subparsers:
        usage = parser.format_usage().removeprefix("usage: ").strip()
        lines = [f"## `{parser.prog}`", "", sentence(about), "", "```text", usage, "```", ""]
        actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
        if actions:
            lines += ["| argument | default | meaning |", "|---|---|---|", *map(argument_row, actions), ""]
        yield lines
    for action in subparsers:
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, child in action.choices.items():
            yield from commands(child, helps.get(name, ""))


def argument_row(action: argparse.Action) -> str:
    """One argument or option of a command as a row of its table."""
    metavar = action.metavar or (action.dest if not action.option_strings else action.dest.upper())
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{metavar}`"
    if action.option_strings and action.nargs != 0:
        names += f" `{metavar}`"
    default = "" if action.default in (None, False, [], argparse.SUPPRESS) else f"`{action.default}`"
    text = (action.help or "") % {**vars(action), "default": action.default} if action.help else ""
    choices = f" One of {', '.join(f'`{choice}`' for choice in action.choices)}." if action.choices else ""
    return "| " + " | ".join(cell_of(cell) for cell in (names, default, text + choices)) + " |"


def stages(root: Path) -> list[str]:
    """The stages of dvc.yaml: what each needs and writes."""
    pipeline = yaml.safe_load((root / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    lines = [
        "# Stages",
        "",
        "The stages of `dvc.yaml`, which is the only DAG. Code dependencies are left out here; `make deps` writes them",
        "from the real imports. `dvc repro STAGE` runs one with all that it needs. `${key}` is the part of a stage's",
        "name after `@`, `${item.…}` what `foreach` in `dvc.yaml` gives for it, and `${judge.reward}` a key.",
        "This page is generated.",
        "",
    ]
    for name, stage in pipeline.items():
        body = stage.get("do", stage)
        lines += [f"## `{name}`", "", sentence(body.get("desc", "")), ""]
        if "foreach" in stage:
            lines += ["One stage each for " + ", ".join(f"`{name}@{key}`" for key in stage["foreach"]) + ".", ""]
        inputs = [path for path in body.get("deps", []) if not path.startswith("components")]
        for title, paths in (
            ("reads", inputs),
            ("parameters", body.get("params", [])),
            ("writes", body.get("outs", [])),
            ("metrics", body.get("metrics", [])),
            ("curves", body.get("plots", [])),
        ):
            items = [path if isinstance(path, str) else next(iter(path)) for path in paths]
            if items:
                lines.append(f"- {title}: " + ", ".join(f"`{item}`" for item in items))
        lines.append("")
    return lines
