"""`make demo`: runs the pipeline with a Prefect server of its own, then prints the results and their files.

The Prefect server is ephemeral and its home is `.waymark/prefect`, so the user's Prefect profile is neither read nor
changed. If PREFECT_API_URL is set, that server is used instead. If no stage is stale, no server starts.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from components.redaction import redacted

SERVER_SETTINGS = {
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "ERROR",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}
NAMES = {"base": "base", "sft": "after SFT", "rl": "after RL"}


def main(arguments: list[str] | None = None) -> int:
    """Run the stale stages and print the results; exit status 1 if a stage failed."""
    parser = argparse.ArgumentParser(prog="python -m flows.demo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--recipe", help="put this recipe in use first; default: the present params.yaml")
    parser.add_argument(
        "--side-by-side", type=_positive, metavar="N", help="concurrent stages (default: 2, or 1 with GPUs)"
    )
    typed = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(typed)
    again = command(typed, options.recipe)
    console, start = Console(), time.monotonic()
    configure_prefect(Path.cwd())

    from dvc.exceptions import DvcException

    from flows import graph, process
    from flows.clone_lock import only_pipeline
    from flows.crash_safe_dvc import StageFailed, repair
    from flows.running_stages import stages_of_workers

    try:
        with only_pipeline(Path.cwd()):
            process.own_children(Path.cwd())
            for line in repair():
                console.print(line)
            running = stages_of_workers(Path.cwd())
    except StageFailed as error:
        console.print(str(error), markup=False)
        return 1
    try:
        is_up_to_date = options.recipe is None and not graph.to_run(graph.read(with_status=True, running=running))
    except (
        DvcException,
        RecursionError,
        StageFailed,
    ) as error:  # DVC raises the latter for thousands of nested brackets
        console.print(wrong_recipe() or str(error), markup=False)
        return 1
    if is_up_to_date:
        console.print("Every stage is up to date.")
        return show(console, Path.cwd(), time.monotonic() - start)
    server = os.environ.get("PREFECT_API_URL")
    if not server:
        console.print("Starting a Prefect API for this run ...", style="dim")
    elif not answers(server):
        console.print(
            f"No Prefect server answers at {redacted(server)} (PREFECT_API_URL): start it (`make ui` on one machine; "
            "docs/how-to/use-several-machines.md for several), or `unset PREFECT_API_URL`, after which each run starts "
            "its own.",
            markup=False,
        )
        return 1

    from flows.pipeline import PipelineFailed, pipeline
    from flows.placement.shared_store import StoreError

    try:
        pipeline(recipe=options.recipe, side_by_side=options.side_by_side)
    except (PipelineFailed, StageFailed, StoreError) as error:
        console.print(f"\n{error}\n\nCorrect the cause and run `{again}` again: finished work is kept.", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print(f"\nStopped. Run `{again}` again to resume.", markup=False)
        return 130
    return show(console, Path.cwd(), time.monotonic() - start)


def command(arguments: list[str], recipe: str | None) -> str:
    """The command that started this run, to be typed again. Make names its depth in MAKELEVEL."""
    if "MAKELEVEL" in os.environ:
        return shlex.join(["make", "demo", *([f"RECIPE={recipe}"] if recipe else [])])
    return shlex.join(["python", "-m", "flows.demo", *arguments])


def answers(server: str) -> bool:
    """Whether anything answers at the address of a Prefect server, also with an error."""
    import httpx

    try:
        httpx.get(f"{server.rstrip('/')}/health", timeout=10)
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return True


def wrong_recipe() -> str:
    """What is wrong with the params.yaml in use, and what to do; empty if nothing is."""
    command = [sys.executable, "-m", "components.cli.main", "validate", "params.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode else ""


def configure_prefect(root: Path) -> None:
    """Set the environment of the ephemeral server. Must run before prefect is imported, which reads it."""
    if os.environ.get("PREFECT_API_URL"):
        return
    os.environ.pop("PREFECT_API_URL", None)
    os.environ.pop("PREFECT_API_KEY", None)  # with a key and no URL, Prefect records no task runs
    home = root / ".waymark/prefect"
    home.mkdir(parents=True, exist_ok=True)
    os.environ["PREFECT_HOME"] = str(home)
    for name, value in SERVER_SETTINGS.items():
        os.environ.setdefault(name, value)


def show(console: Console, root: Path, wall_s: float) -> int:
    """Print the results table and the paths of the results; returns the exit status."""
    import yaml

    from components.params.objectives import objective_kind
    from components.params.section import value_at

    recipe = yaml.safe_load((root / "params.yaml").read_text())
    name = recipe["name"]
    file = root / "reports" / f"{name}.json"
    report = json.loads(file.read_text())
    objective = objective_kind(value_at(recipe, "rl.objective") or {})
    console.print(results(name, report, NAMES | {"rl": objective.trained_label}))
    for key, difference in report["paired"].items():
        label = key.replace("_minus_", " - ")
        console.print(
            f"  {label}: {_points(difference['diff'])} points {_interval(difference['ci95'])}, paired bootstrap",
            highlight=False,
        )
    judge = report["judge"]
    console.print(
        f"  judge: accuracy {judge['accuracy']:.1%} on {judge['n']} held-out trajectories"
        f" (majority class {judge['majority_accuracy']:.1%}, untrained {judge['untrained_accuracy']:.1%})",
        highlight=False,
    )
    console.print("\nLook at", highlight=False)
    for path, description in (
        (file.with_suffix(".html"), "the report: curves, funnel, confusion matrix, eight trajectories"),
        (file, "the same figures as JSON"),
        (root / "models/rl-long", "the policy"),
    ):
        console.print(f"  {path.relative_to(root)!s:24} {description}", highlight=False)
    for command_or_address, names in in_the_browser(value_at(recipe, "tracking.tracking_uri") or "").items():
        console.print(f"  {command_or_address:24} {' and '.join(names)} in the browser", markup=False, highlight=False)
    console.print(f"  {'.venv/bin/waymark view':24} one trajectory, turn by turn", highlight=False)
    console.print(f"\n{wall_s:.0f} s", highlight=False)
    return 0


def in_the_browser(tracking_uri: str) -> dict[str, list[str]]:
    """What has the pages of MLflow and of Prefect: the address of a shared server, or `make ui`, which starts own ones.

    Args:
        tracking_uri: that of the recipe; empty for the default.
    """
    pages: dict[str, list[str]] = {}
    mlflow = redacted(tracking_uri) if tracking_uri.startswith(("http://", "https://")) else "make ui"
    pages.setdefault(mlflow, []).append("MLflow")
    pages.setdefault(_prefect_pages() or "make ui", []).append("Prefect")
    return pages


def _prefect_pages() -> str:
    """The address of the pages of the server in PREFECT_API_URL; empty if this run has a server of its own."""
    if not os.environ.get("PREFECT_API_URL"):
        return ""
    from prefect.settings import get_current_settings

    return redacted(get_current_settings().ui_url or "")


def results(name: str, report: dict, names: dict[str, str] = NAMES) -> Table:
    """A table of success rates with their intervals, one row per model."""
    table = Table(title=f"Success on the test tasks ({name})", title_justify="left")
    for column in ("model", "success", "95% interval", "without aborted", "tasks"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for key, title in names.items():
        if key in report["success"]:
            summary = report["success"][key]
            rate, without = f"{summary['rate']:.1%}", f"{summary['rate_without_aborted']:.1%}"
            table.add_row(title, rate, _interval(summary["ci95"], percent=True), without, str(summary["n"]))
    return table


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small: give at least 1")
    return number


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _interval(bounds: list[float], percent: bool = False) -> str:
    low, high = (100 * bound for bound in bounds)
    return f"{low:.1f} … {high:.1f}%" if percent else f"[{low:+.1f}, {high:+.1f}]"


if __name__ == "__main__":
    sys.exit(main())
