"""The live lines of the stages on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from flows.console import StageConsole


def test_a_message_is_shown_as_it_is_whatever_its_brackets() -> None:
    out = io.StringIO()
    with StageConsole(["train"], Console(file=out, force_terminal=True, width=120)) as display:
        display.started("train", "why")
        display.ended("train", "failed", "dvc refused it: /home/[red] runs/[/x]")
    assert "dvc refused it: /home/[red] runs/[/x]" in out.getvalue()
