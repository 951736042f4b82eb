"""The report's bars from the collected tasks to the two training pools."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from components.reports import build, read_episodes, read_results, write_report
from components.store import read_json, write_json
from components.tasks import Funnel


def test_the_bars_of_tasks_count_near_duplicates_by_pool(run_on_disk, tmp_path):
    assert _bars(run_on_disk, run_on_disk.stages, tmp_path) == [
        ("collected", "1,132", "3 rejected"),
        ("for evaluation", "232", "52 in new families"),
        ("for training", "900", ""),
        ("less evaluation overlap", "886", "−14"),
        ("less decomposed", "886", "−0"),
        ("less long-tail websites", "864", "−22"),
        ("SFT pool", "610", "−254 near-duplicates"),
        ("RL pool", "402", "−462"),
    ]


def test_the_bars_of_tasks_add_up_with_tasks_for_rl_and_validation(run_on_disk, tmp_path):
    """232 evaluation tasks, 20 + 4 validation tasks, 100 training tasks, and 50 that only RL trains on: 406 in all. The
    filters drop none, and dedup 7 of 100 and 30 of 150."""
    stages = Path(shutil.copytree(run_on_disk.stages, tmp_path / "stages"))
    funnels = {
        "sft_funnel": Funnel(total=100).then("near duplicates", [""] * 7).rows(),
        "rl_funnel": Funnel(total=150).then("near duplicates", [""] * 30).rows(),
    }
    written = {
        "collect_tasks": {"collected": 406, "train": 100, "rl": 50, "validation": 20, "heldout_validation": 4},
        "filter_tasks": {"kept": 150, "funnel": Funnel(total=150).then("evaluation overlap", []).rows()},
        "dedup_tasks": {"sft": 93, "rl": 120, **funnels},
    }
    for stage, figures in written.items():
        write_json(stages / f"{stage}.json", read_json(stages / f"{stage}.json") | figures)
    assert _bars(run_on_disk, stages, tmp_path) == [
        ("collected", "406", "3 rejected"),
        ("for evaluation", "232", "52 in new families"),
        ("for validation", "24", "4 in new families"),
        ("for training", "150", "50 only for RL"),
        ("less evaluation overlap", "150", "−0"),
        ("SFT pool", "93", "−7 near-duplicates, 50 only for RL"),
        ("RL pool", "120", "−30"),
    ]


def _bars(run_on_disk, stages: Path, folder: Path) -> list[tuple[str, str, str]]:
    """The bars of the section on tasks of the page of a run: label, count and note."""
    results, evaluated = read_results(stages, run_on_disk.curves), read_episodes(run_on_disk.evaluation)
    page = folder / "demo.html"
    write_report(build(results, evaluated, None, 500, 0, ""), results, evaluated, run_on_disk.evaluation, "demo", page)
    section = page.read_text().split(">Tasks</h2>")[1].split(">Demonstrations</h2>")[0]
    bar = r'<span>([^<]+)</span><i .*?class="figures">([\d,]+)(?: <span class=".*?">([^<]*)</span>)?'
    return [(label, count, note) for label, count, note in re.findall(bar, section)]
