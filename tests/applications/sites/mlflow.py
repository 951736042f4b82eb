"""MLflow's pages (React, hash routes): an experiment's runs, their names, notes and tags, a deletion."""

from __future__ import annotations

import sys

import httpx

from tests.applications.server import Application, Running
from tests.applications.steps import Line, click, done, press, write

API = "/api/2.0/mlflow"


def post(running: Running, call: str, body: dict) -> dict:
    """The answer of a call of MLflow's API."""
    answer = httpx.post(f"{running.origin}{API}/{call}", json=body, timeout=30, trust_env=False)
    answer.raise_for_status()
    return answer.json()


def seed(running: Running) -> None:
    """An experiment with four runs, and an empty one."""
    experiment = post(running, "experiments/create", {"name": "tents"})["experiment_id"]
    post(running, "experiments/create", {"name": "old tents"})
    for number in range(4):
        run = post(
            running,
            "runs/create",
            {"experiment_id": experiment, "run_name": f"tent-{number}", "start_time": number + 1},
        )["run"]["info"]["run_id"]
        post(running, "runs/log-parameter", {"run_id": run, "key": "poles", "value": str(number + 2)})
        post(
            running,
            "runs/log-metric",
            {"run_id": run, "key": "weight", "value": 2.5 - number / 4, "timestamp": 1, "step": 0},
        )
        post(running, "runs/update", {"run_id": run, "status": "FINISHED", "end_time": number + 9})


RENAME = Line("menuitem", "Rename")

JOURNEY = (
    click("link", "Experiments", feedback="navigated to"),
    click("link", "tents", feedback="navigated to"),
    click("button", "Got it"),
    click("button", "Close"),
    click("button", "Model training", feedback="navigated to"),
    click("field", "metrics.rmse.*"),
    write("metrics.weight < 2.2"),
    press("Enter"),
    click("link", "tent-2", feedback="navigated to"),
    click("button", "Open header dropdown menu", sees=RENAME),
    click(RENAME.role, RENAME.name, sees=Line("button", "Save")),
    click("field", "New run name"),
    write("tent-light"),
    click("button", "Save"),
    click("button", "Edit description"),
    click("field", "", beside=Line("button", "Cancel")),
    write("The lightest of **all tents**."),
    click("button", "Save"),
    click("button", "Add tags"),
    click("field", "", beside=Line("field", "Value")),
    write("shelf"),
    press("Enter"),
    click("field", "Value"),
    write("top"),
    click("button", "Add tag"),
    click("button", "Save tags"),
    click("link", "Runs", nth=1, feedback="navigated to"),
    click("button", "", beside=Line("button", "More details")),
    click("link", "tent-0", feedback="navigated to"),
    click("button", "Open header dropdown menu", sees=Line("menuitem", "Delete")),
    click("menuitem", "Delete", sees=Line("button", "Delete selected")),
    click("button", "Delete selected", sees=Line("link", "tent-light")),
    done("tent-light is renamed, described and tagged; tent-0 is deleted."),
)


def check(running: Running) -> None:
    """The run's new name, its tag and its note; the deleted run."""
    runs = post(running, "runs/search", {"experiment_ids": ["1"], "run_view_type": "ALL"})["runs"]
    names = {run["info"]["run_name"]: run["info"]["lifecycle_stage"] for run in runs}
    assert names == {"tent-0": "deleted", "tent-1": "active", "tent-light": "active", "tent-3": "active"}
    tags = next(run["data"]["tags"] for run in runs if run["info"]["run_name"] == "tent-light")
    pairs = {tag["key"]: tag["value"] for tag in tags}
    assert (pairs["shelf"], pairs["mlflow.note.content"]) == ("top", "The lightest of **all tents**.")


def command(running: Running) -> list[str]:
    """The server's command line."""
    store = f"sqlite:///{running.folder}/mlflow.db"
    return [
        sys.executable, "-m", "mlflow", "server", "--backend-store-uri", store,
        "--default-artifact-root", str(running.folder / "artifacts"), "--workers", "1",
        "--host", "127.0.0.1", "--port", str(running.port),
    ]  # fmt: skip


APPLICATION = Application(
    command=command,
    environment=lambda running: {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"},
    ready="/health",
    seed=seed,
    journey=JOURNEY,
    check=check,
)
