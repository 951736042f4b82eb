"""What a stage wrote is what the Prefect UI shows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from components.ports import free_port
from components.statistics import success_rate
from components.training.validation import ValidationWarning, validation_tables
from flows.artifacts import Progress, key, markdown, publish_metrics, read_progress, scalars, sparkline
from flows.crash_safe_dvc import Outcome, repro
from flows.pipeline import watch
from tests.flows.conftest import DVC_YAML
from tests.training.validations import figures, watched


def test_progress_is_read_as_the_stage_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / ".waymark/progress/train_rl@short.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"stage": "train_rl@short", "done": 3, "total": 12, "message": "hi", "updated": 1.0}))
    progress = read_progress("train_rl@short", tmp_path)
    assert progress == Progress(3, 12, "hi")
    assert progress.percent == 25.0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"done": 1}', '{"done": "x", "total": 1, "message": ""}'])
def test_an_unreadable_progress_file_is_ignored(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".waymark/progress/one.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert read_progress("one", tmp_path) is None


def test_progress_without_a_total_is_zero_percent() -> None:
    assert Progress(7, 0, "").percent == 0.0


def test_scalars_are_named_by_their_path_and_an_interval_is_one_value() -> None:
    metrics = {"rate": 0.5, "ci95": [0.25, 0.75], "families": {"click": {"n": 4}}, "funnel": [{"left": 1}], "note": "x"}
    assert scalars(metrics) == {"rate": 0.5, "ci95": "0.25 … 0.75", "families.click.n": 4, "note": "x"}


def test_a_sparkline_runs_from_the_lowest_block_to_the_highest() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert len(sparkline(list(range(1000)))) == 40


def test_values_that_are_not_finite_are_gaps_of_a_sparkline() -> None:
    assert sparkline([1.0, math.nan, 2.0]) == "▁ █"
    assert sparkline([math.inf, 1.0]) == " ▁"
    assert sparkline([math.nan, math.nan]) == "  "
    assert sparkline([math.nan, *[1.0] * 80]) == "▁" * 40
    assert "| clip | ▁ █ | 0 | 1 |" in markdown("rl", [{"clip": 0.0}, {"clip": math.nan}, {"clip": 1.0}])


def test_a_funnel_shows_a_bar_per_step() -> None:
    text = markdown("filter: funnel", [{"step": "all", "left": 12}, {"step": "odd", "left": 6}])
    assert f"| all | 12 | {'█' * 24} |" in text
    assert f"| odd | 6 | {'█' * 12} |" in text


def test_texts_of_tasks_add_no_cell_row_or_tag() -> None:
    text = markdown("filter: funnel", [{"step": "all", "left": 1, "examples": ["Find | <b>x</b>", "two\nlines"]}])
    (row,) = (line for line in text.splitlines() if line.startswith("| all"))
    assert row.replace("\\|", "").count("|") == 5
    assert "<b>" not in text


@pytest.fixture
def unreachable_prefect() -> Iterator[None]:
    """An address at which no Prefect server answers."""
    with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{free_port()}/api"}):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("unreachable_prefect")
@pytest.mark.filterwarnings("ignore:Artifact creation outside")
def test_a_stage_goes_on_while_prefect_does_not_answer(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "dvc.yaml").write_text(DVC_YAML.format(s=2))
    assert repro("collect", project, on_poll=watch("collect", project)) is Outcome.RAN
    assert capfd.readouterr().out.count("collect: Prefect did not take the progress: ConnectError") == 1


@pytest.mark.usefixtures("unreachable_prefect")
@pytest.mark.filterwarnings("ignore:Artifact creation outside")
def test_a_stage_that_has_finished_does_not_fail_by_prefect(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "collect.json"
    file.write_text(json.dumps({"tasks": 3}))
    assert publish_metrics("collect", file) == []
    assert "collect: Prefect did not take the metrics: ConnectError" in capfd.readouterr().out


def test_a_curve_shows_every_numeric_column() -> None:
    text = markdown("rl", [{"iteration": 0, "reward_mean": 0.25}, {"iteration": 1, "reward_mean": 0.75}])
    assert "| reward_mean | ▁█ | 0.25 | 0.75 |" in text


def test_a_family_that_falls_and_the_interval_of_a_rate_are_in_artifacts() -> None:
    success = success_rate(np.array([1.0, 0.0, 1.0, 0.0]))
    fall = ValidationWarning(name="tab", text="tab falls: 94% of 15 training groups at iteration 7, now 17% of 15")
    record = watched(14, [figures("tab", 0.5, 4, 0.17, 15)], success=success)
    tables = validation_tables([record.model_copy(update={"warnings": [fall]})])
    texts = {name: markdown(f"train_rl@short: {name}", rows) for name, rows in tables.items()}
    assert f"| 14 | tab | {fall.text} |" in texts["warnings"]
    interval = f"{success.ci95.low:.4g} … {success.ci95.high:.4g}"
    assert f"| 0.5 | 4 | {interval} |" in texts["validation"]
    assert f"| tab | False | 4 | 0.5 | {interval} | 15 |" in texts["families"]


@pytest.mark.parametrize("stage", ["train_rl@short", "evaluate@base", "nightly"])
def test_an_artifacts_key_has_only_what_prefect_allows(stage: str) -> None:
    assert set(key(stage, "metrics")) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
