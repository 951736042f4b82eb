"""`waymark view`: one trajectory as an HTML page."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import webbrowser
from pathlib import Path

from components.cli.command import STAGE_FOLDERS, Subparsers, cannot_write, fail, nonempty, nonempty_path


def add(commands: Subparsers) -> None:
    """Register `view`."""
    parser = commands.add_parser(
        "view", help="a trajectory as a page: screenshots, clicks, reasoning, feedback, verdict"
    )
    parser.add_argument(
        "trajectory_id",
        type=nonempty,
        nargs="?",
        metavar="TRAJECTORY_ID",
        help="which one, as --list names it; default: the first one of the best model that has any",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the trajectories of the tables")
    parser.add_argument(
        "--table", type=nonempty_path, metavar="PATH", help="a trajectories.parquet; default: every stage's"
    )
    parser.add_argument(
        "--out", type=nonempty_path, metavar="FILE", help="the page; default: reports/view/TRAJECTORY_ID.html"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write a trajectory's page and open it where there is a display, or list trajectories; returns the exit status."""
    from components.reports.viewer import find_trajectory, is_page, verdict_beside, write_page
    from components.store import UnreadableTable

    if options.list and (options.trajectory_id is not None or options.out is not None):
        return fail("--list shows all trajectories and writes no page: leave out TRAJECTORY_ID and --out, or --list")
    tables = [options.table] if options.table else [folder / "trajectories.parquet" for folder in STAGE_FOLDERS]
    tables = [table for table in tables if table.exists()]
    if not tables:
        return fail(f"no trajectories in {options.table or 'data/'}; run `make demo`, or name a table with --table")
    try:
        if options.list:
            _list(tables)
            return 0
        match = find_trajectory(tables, options.trajectory_id)
        if match is None:
            option = f" --table {shlex.quote(str(options.table))}" if options.table else ""
            return fail(
                f"no trajectory {options.trajectory_id or 'in these tables'}; `waymark view --list{option}` lists the "
                "trajectories"
            )
        table, trajectory = match
        verdict = verdict_beside(table, trajectory)
    except UnreadableTable as error:
        return fail(f"{error}: name another trajectories.parquet with --table, or run its stage again")
    page = options.out or Path("reports/view") / f"{trajectory.trajectory_id}.html"
    if page.is_dir():
        return fail(f"--out {page} is a folder: name a file, such as {page / 'page.html'}")
    if problem := cannot_write(page):
        return fail(f"--out {problem}")
    if options.out is not None and page.exists() and not is_page(page):
        return fail(f"--out {page} exists and is no page of `waymark view`: name a new file")
    write_page(trajectory, verdict, page)
    print(page)
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
        webbrowser.open(page.resolve().as_uri())
    return 0


def _list(tables: list[Path]) -> None:
    from components.records import Trajectory
    from components.store import iter_named_table

    for table in tables:
        print(f"{table}:")
        for trajectory in iter_named_table(table, Trajectory):
            reward = "-" if trajectory.site_reward is None else f"{trajectory.site_reward:g}"
            print(
                f"  {trajectory.trajectory_id}  {len(trajectory.turns)} turns  {trajectory.termination}  "
                f"reward {reward}  {trajectory.task_id}  {trajectory.task.intent[:70]}"
            )
