"""Prefect's pages (Vue): a log-in, variables, a limit of concurrency, a run that is deleted, a deployment."""

from __future__ import annotations

import sys
import time

import httpx

from tests.applications.server import Application, Running
from tests.applications.steps import Line, click, done, press, scroll_to, wait, write

LOGIN = ("grower", "orchard")

JOURNEY = (
    click("field", "admin:pass"),
    write(":".join(LOGIN)),
    click("button", "Login", sees=Line("link", "Variables")),
    click("link", "Variables", feedback="navigated to"),
    click("button", "Add variable", sees=Line("button", "Create")),
    click("field", "Name"),
    write("harvest_day"),
    click("field", "", beside=Line("field", "Enter tags")),
    write('"Tuesday"'),
    click("field", "Enter tags"),
    write("farm"),
    press("Enter"),
    click("button", "Create", sees=Line("button", "Open menu", nth=2)),
    click("field", "Search variables"),
    write("season"),
    wait(1),
    click("button", "Open menu", sees=Line("menuitem", "Edit")),
    click("menuitem", "Edit", sees=Line("field", "Name", "season")),
    click("field", "", value=".spring."),
    write('"autumn"'),
    click("button", "Save", sees=Line("field", "Search variables")),
    click("field", "Search variables"),
    write("region"),
    wait(1),
    click("button", "Open menu", sees=Line("menuitem", "Delete")),
    click("menuitem", "Delete", sees=Line("button", "Cancel")),
    click("button", "Delete", sees=Line("link", "Concurrency")),
    click("link", "Concurrency", feedback="navigated to"),
    click("button", "add global concurrency limit", sees=Line("button", "Save")),
    click("field", "Name"),
    write("ovens"),
    click("field", "Concurrency Limit"),
    write("3"),
    click("button", "Save", sees=Line("link", "Runs")),
    click("link", "Runs", feedback="navigated to"),
    scroll_to(Line("link", "harvest-1")),
    click("checkbox", "", beside=Line("link", "harvest-1")),
    click("button", "Delete rows", sees=Line("button", "Cancel")),
    click("button", "Delete", sees=Line("link", "Deployments")),
    click("link", "Deployments", feedback="navigated to"),
    click("link", "nightly", feedback="navigated to"),
    done("Tuesday and autumn are set, the ovens are limited, one run is deleted."),
)


def call(running: Running, path: str, body: dict) -> dict | list:
    """The answer of a call of Prefect's API. The server answers 503 while its own services hold the database."""
    for _ in range(20):
        answer = httpx.post(f"{running.origin}/api/{path}", json=body, auth=LOGIN, timeout=30, trust_env=False)
        if answer.status_code != 503:
            break
        time.sleep(0.5)
    answer.raise_for_status()
    return answer.json()


def seed(running: Running) -> None:
    """A flow with runs, a deployment, and two variables."""
    flow = call(running, "flows/", {"name": "harvest"})["id"]
    for number in range(3):
        call(
            running,
            "flow_runs/",
            {"flow_id": flow, "name": f"harvest-{number}", "state": {"type": "COMPLETED", "name": "Completed"}},
        )
    call(running, "deployments/", {"flow_id": flow, "name": "nightly"})
    call(running, "variables/", {"name": "region", "value": "south"})
    call(running, "variables/", {"name": "season", "value": "spring"})


def check(running: Running) -> None:
    """The variables and the runs."""
    variables = call(running, "variables/filter", {})
    assert sorted((variable["name"], variable["value"], variable["tags"]) for variable in variables) == [
        ("harvest_day", "Tuesday", ["farm"]),
        ("season", "autumn", []),
    ]
    limits = call(running, "v2/concurrency_limits/filter", {})
    assert [(limit["name"], limit["limit"]) for limit in limits] == [("ovens", 3)]
    runs = call(running, "flow_runs/filter", {})
    assert sorted(run["name"] for run in runs) == ["harvest-0", "harvest-2"]


APPLICATION = Application(
    command=lambda running: [
        sys.executable,
        "-m",
        "prefect",
        "server",
        "start",
        "--host",
        "127.0.0.1",
        "--port",
        str(running.port),
    ],
    environment=lambda running: {
        "PREFECT_SERVER_API_AUTH_STRING": ":".join(LOGIN),
        "PREFECT_HOME": str(running.folder / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_API_URL": f"{running.origin}/api",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    },
    ready="/api/health",
    seed=seed,
    journey=JOURNEY,
    check=check,
)
