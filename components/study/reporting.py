"""Compares the runs of a study, writes its page, and logs it to MLflow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components import store, tracking
from components.study.comparison import StudyResult, compare
from components.study.expansion import Study
from components.study.page import write_page
from components.study.results import Measured, read_runs
from components.tracking.pipeline import git_commit


@dataclass(frozen=True)
class StudyReport:
    """The result, its page, and the id of its parent run in MLflow."""

    result: StudyResult
    page: Path
    parent: str


def report(study: Study) -> StudyReport:
    """Compare what is finished and write `reports/studies/NAME.html` and `.json`. May be called at any time.

    Raises:
        EvaluationError: a file of the study cannot be read, or a finished run has trajectories without verdicts.
        TrackingError: MLflow cannot be written to.
    """
    measured = read_runs(study)
    result = compare(study, measured, git_commit())
    page = write_page(result)
    parent = tracking.StudyParent(
        name=f"study-{study.name}",
        signature=store.digest(study.file, study.recipe),
        params={"study": study.file.model_dump(mode="json")},
        figures={
            arm.arm: {
                "success": arm.rate,
                "heldout_success": arm.heldout,
                "actions_of_teacher": arm.actions_of_teacher,
                **({"effect": arm.effect.model_dump(mode="json")} if arm.effect is not None else {}),
            }
            for arm in result.arms
        },
        complete=result.complete,
        commit=result.commit,
        files=[page, page.with_suffix(".json")],
    )
    recipes = {run.name: run.params for run in study.runs}
    children = [
        _child(measurement, {"arm": measurement.run.arm, **recipes[measurement.run.name].model_dump(mode="json")})
        for measurement in measured
        if measurement.run.state == "finished"
    ]
    return StudyReport(result, page, tracking.log_study(study.recipe.tracking, parent, children))


def _child(measurement: Measured, params: dict[str, object]) -> tracking.StudyChild:
    run = measurement.run
    figures = run.model_dump(mode="json", include={"success", "heldout", "actions", "actions_of_teacher"})
    curves = {"validation_success": run.validation.points, "training_reward": run.training.points}
    return tracking.StudyChild(run.name, params, {name: value for name, value in figures.items() if value}, curves)
