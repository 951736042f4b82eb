"""Write the report of the run: `reports/<name>.json` and `reports/<name>.html`."""

from pathlib import Path

from components.pipeline.leaderboard import publish
from components.pipeline.stage_run import RESULTS, stage
from components.plan.calibration import calibrate_finished_run
from components.plan.planned_and_spent import planned_seconds
from components.reports import build, read_episodes, read_results, read_teacher, with_plan, write_report
from components.store import write_json

EVALUATION, TEACHER = Path("data/evaluation"), Path("data/teacher")
CURVES, REPORTS = Path("reports/curves"), Path("reports")


def main() -> None:
    """Run the stage."""
    with stage("report", inputs=[EVALUATION, TEACHER]) as run:
        name = run.params.name
        results = read_results(RESULTS, CURVES)
        evaluated = read_episodes(EVALUATION)
        teacher, evaluation = read_teacher(TEACHER), run.params.evaluation
        report = build(results, evaluated, teacher, evaluation.bootstrap, run.params.seed, run.tracker.parent_id)
        planned_s = planned_seconds(run.params, results.wall_s)
        report = with_plan(report, planned_s, results.champion_s)
        write_json(REPORTS / f"{name}.json", report.model_dump(mode="json"))
        size = write_report(report, results, evaluated, EVALUATION, name, REPORTS / f"{name}.html")
        publish(run)
        both = {name: stage for name, stage in report.stages.items() if stage.planned_s is not None}
        run.tracker.table(
            "planned_beside_spent",
            {
                "stage": [*both],
                "planned_s": [stage.planned_s for stage in both.values()],
                "spent_s": [stage.wall_s for stage in both.values()],
            },
        )
        run.result(
            {
                "wall_s_total": report.wall_s,
                "success": {policy: rate.rate for policy, rate in report.success.items()},
                "paired": {pair: difference.diff for pair, difference in report.paired.items()},
                "judge_accuracy": report.judge.accuracy,
                "html_bytes": size,
            }
        )
    # when the stage has its own seconds; the file is no output of it, so that DVC runs nothing anew because of it
    print(calibrate_finished_run(Path(), run.params.model.device == "cuda"), flush=True)


if __name__ == "__main__":
    main()
