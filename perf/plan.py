"""Holds a plan to the truth, its seconds of each stage beside those of a finished run: `python -m perf.plan RUN`.

`RUN` is a checkout in which stages have finished. The plan is made for its recipe, with assumed rates, or with those of
another finished run (`--calibrated-on`). A plan by the run's own rates would repeat what it took, and is refused. Last
line: JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from components.params import RecipeError
from components.plan.calibration import calibrated
from components.plan.finished_run import FinishedRun, read_run
from components.plan.planned_and_spent import planned_seconds

BAR = 0.2
"""How far the planned time of a stage may be from the time that it took, as a share of that."""


@dataclass(frozen=True)
class StageError:
    """A stage with its planned and its measured wall time in seconds."""

    stage: str
    planned_s: float
    taken_s: float

    @property
    def error(self) -> float:
        """The planned time over the measured one, less 1."""
        return self.planned_s / self.taken_s - 1


def compare(run: FinishedRun, calibrated_on: Path | None = None) -> list[StageError]:
    """The stages that finished and that the plan has, in the pipeline's order.

    Args:
        calibrated_on: the checkout of another finished run, whose rates the plan takes; None: the assumed ones.

    Raises:
        RecipeError: no plan can be made: the other run is this one, or it had other models, pages or another device, or
            the shape of the recipe's models is not known.
    """
    taken = {stage: seconds for stage in run.results if (seconds := run.wall_s(stage))}
    with tempfile.TemporaryDirectory() as folder:
        rates = Path(folder) / "calibration.json"
        if calibrated_on is not None:
            rates.write_text(calibrated(calibrated_on).model_dump_json())
            if _same_times(run, read_run(calibrated_on)):
                raise RecipeError(f"{calibrated_on} is the run itself: name another run of such a recipe")
        planned = planned_seconds(run.params, taken, rates)
    rows = [StageError(stage, planned[stage], seconds) for stage, seconds in taken.items() if stage in planned]
    if not rows:
        raise RecipeError("no stage of the run has a plan: its models or its stages are not known to `waymark plan`")
    return rows


def _same_times(run: FinishedRun, other: FinishedRun) -> bool:
    return {stage: run.wall_s(stage) for stage in run.results} == {
        stage: other.wall_s(stage) for stage in other.results
    }


def summary(rows: list[StageError]) -> dict[str, object]:
    """The figures of the last line: the stages' errors, and that of their sum."""
    planned, taken = sum(row.planned_s for row in rows), sum(row.taken_s for row in rows)
    return {
        "planned_s": round(planned, 1),
        "taken_s": round(taken, 1),
        "error": round(planned / taken - 1, 3),
        "within_bar": sum(abs(row.error) <= BAR for row in rows),
        "stages": {row.stage: round(row.error, 3) for row in rows},
        "bar": BAR,
    }


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path, help="a checkout in which stages have finished")
    parser.add_argument(
        "--calibrated-on", type=Path, metavar="RUN", help="another such checkout; default: assumed rates"
    )
    options = parser.parse_args()
    try:
        rows = compare(read_run(options.run), options.calibrated_on)
    except RecipeError as error:
        raise SystemExit(f"perf.plan: {error}") from error
    print(f"{'stage':24} {'planned':>9} {'taken':>9} {'error':>7}")
    for row in rows:
        print(f"{row.stage:24} {row.planned_s:7.0f} s {row.taken_s:7.0f} s {row.error:+7.0%}")
    print(json.dumps(summary(rows)))


if __name__ == "__main__":
    main()
