"""`python -m docs.generator.screenshots`: the pictures of the documentation, from the run that this checkout holds.

Run it after `make demo`. It starts the servers as `make ui` does, opens the report, the viewer, MLflow and Prefect in
Chromium, and writes `docs/images/*.png`. The servers' ports (5000 and 4200) must be free.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from components.browser.chromium import find_chromium
from components.records import Trajectory
from components.reports.viewer import verdict_beside, write_page
from components.store import iter_table
from docs.generator.packages import ROOT

IMAGES = ROOT / "docs/images"
MLFLOW, PREFECT = "http://127.0.0.1:5000", "http://127.0.0.1:4200"
START_TIMEOUT_S = 180.0
SHOWN_MS = 6000
"""For the charts of MLflow and Prefect, which are drawn after the page has loaded."""


def main() -> None:
    """Write every picture.

    Raises:
        SystemExit: the checkout holds no finished run.
    """
    reports = sorted(ROOT.glob("reports/*.html"), key=lambda path: path.stat().st_mtime)
    reports = [path for path in reports if path.with_suffix(".json").exists()]
    if not reports:
        raise SystemExit("There is no report in reports/: run `make demo` first.")
    with servers(), sync_playwright() as playwright:
        run = rl_run()
        browser = playwright.chromium.launch(executable_path=find_chromium())
        picture(browser, reports[-1].as_uri(), "report", wait_ms=0)
        picture(browser, viewer_page().as_uri(), "viewer", wait_ms=0)
        picture(browser, f"{MLFLOW}/#/experiments/{run['experiment_id']}/runs/{run['run_id']}/model-metrics", "mlflow")
        picture(browser, f"{PREFECT}/runs/flow-run/{flow_run_id()}", "prefect")
        browser.close()


def picture(browser: Browser, url: str, name: str, wait_ms: int = SHOWN_MS) -> None:
    """Write `docs/images/NAME.png`: a page in a window of 1280 by 800 pixels."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url, wait_until="load")
    page.wait_for_timeout(wait_ms)
    for label in ("Close", "Hide details"):  # panels beside the charts
        if (button := page.get_by_role("button", name=label)).count():
            button.first.click()
            page.wait_for_timeout(wait_ms)
    page.screenshot(path=IMAGES / f"{name}.png")
    page.close()


def viewer_page() -> Path:
    """The viewer's page of the successful trajectory with the most turns in the evaluation of the RL policy."""
    table, page = ROOT / "data/evaluation/rl/trajectories.parquet", ROOT / "reports/view/picture.html"
    trajectories = iter_table(table, Trajectory)
    best = max(trajectories, key=lambda trajectory: (trajectory.site_reward or 0.0, len(trajectory.turns)))
    write_page(best, verdict_beside(table, best), page)
    return page


def rl_run() -> dict[str, str]:
    """MLflow's record of the newest run of RL."""
    experiments = post(f"{MLFLOW}/api/2.0/mlflow/experiments/search", {"max_results": 100})["experiments"]
    query = {
        "experiment_ids": [experiment["experiment_id"] for experiment in experiments],
        "filter": "attributes.run_name = 'train_rl@long'",
        "order_by": ["attributes.start_time DESC"],
        "max_results": 1,
    }
    found = post(f"{MLFLOW}/api/2.0/mlflow/runs/search", query)["runs"]
    return dict(found[0]["info"])


def flow_run_id() -> str:
    """Prefect's id of the newest run of a flow."""
    return str(post(f"{PREFECT}/api/flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})[0]["id"])


def post(url: str, body: dict[str, object]) -> Any:
    """The JSON answer to a JSON body."""
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


@contextmanager
def servers() -> Iterator[None]:
    """MLflow and Prefect, until the block ends."""
    process = subprocess.Popen([sys.executable, "-m", "flows.ui"], cwd=ROOT)
    try:
        end = time.monotonic() + START_TIMEOUT_S
        for address in (f"{MLFLOW}/health", f"{PREFECT}/api/health"):
            while not answers(address):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"{address} does not answer: is its port in use? See .waymark/logs.")
                time.sleep(0.5)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def answers(address: str) -> bool:
    """Whether a server answers."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    main()
