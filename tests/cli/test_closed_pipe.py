"""`waymark … | head`: the reader closes the pipe, and the command ends without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from components.cli import main as cli

ROOT = Path(__file__).parents[2]
COMMANDS = [["--help"], ["params", "recipes/demo.yaml"], ["evaluate", "--list"], ["study", "--list"]]


def waymark(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "components.cli.main", *arguments]


def run_without_reader(arguments: list[str], unbuffered: str = "") -> tuple[int, str]:
    """Exit status and errors of a command whose output goes to a pipe that nothing reads."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
        ended = subprocess.run(
            waymark(*arguments), cwd=ROOT, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(writer)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_command_ends_quietly_when_its_reader_has_gone(arguments: list[str]) -> None:
    assert run_without_reader(arguments) == (cli.CLOSED_PIPE, "")


def test_a_command_without_a_buffer_ends_quietly_too() -> None:
    assert run_without_reader(["params", "recipes/demo.yaml"], unbuffered="1") == (cli.CLOSED_PIPE, "")


def test_a_command_without_a_standard_output_ends_as_any_other() -> None:
    command = ["sh", "-c", '"$0" "$@" >&-', *waymark("params", "recipes/demo.yaml")]
    ended = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_head_gets_its_line_and_the_rest_is_dropped() -> None:
    with subprocess.Popen(
        waymark("params", "recipes/demo.yaml"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        head = subprocess.run(["head", "-n", "1"], stdin=command.stdout, capture_output=True, text=True, check=True)
        command.stdout.close()
        assert (head.stdout, command.stderr.read()) == ("name: demo\n", "")


def test_a_broken_pipe_that_is_not_the_output_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def write_to_a_dead_child(_options: object) -> int:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return os.write(writer, b"request")
        finally:
            os.close(writer)

    monkeypatch.setattr(cli.clean, "run", write_to_a_dead_child)
    with pytest.raises(BrokenPipeError):
        cli.main(["clean"])
