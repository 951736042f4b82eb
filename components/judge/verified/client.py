"""The client of the process that evaluates (`evaluate.py`), one per Waymark process, started by the first verdict
that needs it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import threading
from collections.abc import Sequence
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Literal

from components.records import Record

ENVIRONMENT = Path(".venv-verified")
PROGRAM = Path(__file__).with_name("evaluate.py")
VERSION = "1.2.3"
"""Of the package, as requirements/verified.txt has it; other versions are refused, because verdicts have it as
theirs."""
STOP_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 120.0
"""For one answer, or the start; both take seconds on a busy machine."""


class VerifiedError(RuntimeError):
    """The evaluator cannot be used; the message names the command to type."""


class Check(Record):
    """The result of one evaluator of a row."""

    name: str
    status: Literal["success", "partial_match", "failure", "error"]
    messages: list[str]


class Evaluation(Record):
    """The evaluator's result on one episode. `error` is set where it could not decide."""

    status: Literal["success", "partial_match", "failure", "error"]
    error: str | None
    checks: list[Check]


def find_python() -> Path:
    """The interpreter of the evaluator's environment.

    Raises:
        VerifiedError: the environment is not installed, or has another version of the package.
    """
    program = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / ".stamp").exists() or not program.exists():
        raise VerifiedError("the evaluator of webarena-verified is not installed: type `make verified`")
    packages = [str(folder) for folder in ENVIRONMENT.glob("lib/python3*/site-packages")]
    versions = [installed.version for installed in distributions(name="webarena-verified", path=packages)]
    if versions != [VERSION]:
        raise VerifiedError(
            f"{ENVIRONMENT} has webarena-verified {' and '.join(versions) or 'of no version'}, and {VERSION} is "
            f"needed: type `rm -r {ENVIRONMENT}`, then `make verified`"
        )
    return program.absolute()


def evaluate(
    row: dict[str, Any], environments: dict[str, str], answer: str | None, entries: Sequence[dict[str, Any]]
) -> Evaluation:
    """What the package says of an episode.

    Args:
        row: a row of the published file, unchanged.
        environments: the address of each of its sites, by placeholder such as `__SHOPPING__`.
        answer: the agent's answer.
        entries: the entries of the episode's HAR, in the order of the requests.

    Raises:
        VerifiedError: the environment is not installed, has another version, or the process died.
    """
    return _evaluator(os.getpid()).ask({"row": row, "environments": environments, "answer": answer, "entries": entries})


@cache
def _evaluator(process_id: int) -> _Evaluator:
    """The evaluator of this process; a forked one starts its own."""
    return _Evaluator(find_python())


class _Evaluator:
    """The running process. Requests of several threads wait for each other."""

    def __init__(self, python: Path) -> None:
        self._lock = threading.Lock()
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        self._process = subprocess.Popen(
            [python, PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=environment,
        )
        atexit.register(self.close)
        self._answer()  # it is ready

    def ask(self, request: dict[str, Any]) -> Evaluation:
        with self._lock:
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            except OSError as error:
                raise self._death() from error
            return Evaluation.model_validate(self._answer())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has died, and its last request was not written
            self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_TIMEOUT_S)
        if not ready:
            self._process.kill()
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise self._death()
        return json.loads(line)

    def _death(self) -> VerifiedError:
        _evaluator.cache_clear()
        return VerifiedError(
            f"the evaluator of webarena-verified ended with status {self._process.wait(STOP_TIMEOUT_S)}: "
            f"run `{ENVIRONMENT}/bin/python {PROGRAM}` to see why, or install it anew with `make verified`"
        )
