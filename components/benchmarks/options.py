"""One benchmark run: its options, and everything that its steps share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from components.benchmarks.spec import FILES, Benchmark
from components.benchmarks.subject import CHAMPION, Subject
from components.params import Params
from components.pipeline.stage_run import StageRun
from components.records import Record
from components.rollout import Budget


class Options(Record):
    """What a run needs beside its benchmark.

    `steps` are the step budgets of the curve, `decoding` names one of the benchmark's sampling settings, `files` is the
    folder of task files, `occasion` distinguishes runs such as two nights.
    """

    model: str = CHAMPION
    limit: int | None = Field(default=None, gt=0)
    steps: tuple[int, ...] = ()
    decoding: str = "official"
    files: Path = FILES
    budget: Budget = Budget()
    occasion: str = ""


@dataclass(frozen=True)
class BenchmarkRun:
    """A run under way. `params` is the recipe with the benchmark's settings."""

    stage: StageRun
    params: Params
    benchmark: Benchmark
    options: Options
    subject: Subject
