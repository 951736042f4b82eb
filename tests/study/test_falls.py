"""Families that RL made worse are listed run by run, with the exact paired test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from components.study.comparison import compare
from components.study.falls import falls
from components.study.page import summary, write_page
from components.study.results import Measured, RunResult, read_runs


def measured(name: str, **families: tuple[str, str]) -> Measured:
    """A run; a family has a character per task before and after RL: `1` solved, `0` not, `-` unjudged."""
    value = {"1": 1.0, "0": 0.0, "-": None}
    before, tested, family_of = {}, {}, {}
    for family, pair in families.items():
        for number, (first, second) in enumerate(zip(*pair, strict=True)):
            task = f"{family}/{number}"
            family_of[task] = family
            before[task], tested[task] = value[first], value[second]
    run = RunResult(name=name, arm="plain", seed=0, state="finished")
    return Measured(run=run, before=before, tested=tested, family_of=family_of)


def test_a_fall_has_both_rates_and_an_exact_p_corrected_for_all_families():
    run = measured("a", tabs=("1" * 10, "0" * 8 + "11"), links=("1100", "1111"))
    (fall,) = falls([run])
    assert (fall.run, fall.family, fall.before, fall.after, fall.tasks) == ("a", "tabs", 1.0, 0.2, 10)
    # 8 tasks fall and none rises: 2 / 2^8; the larger of two p-values counts once, so this one counts twice
    assert fall.p_value == pytest.approx(2 * 2 / 2**8)


def test_unjudged_tasks_count_on_neither_side():
    (fall,) = falls([measured("a", tabs=("11-1", "10-0"))])
    assert (fall.before, fall.after, fall.tasks) == (1.0, pytest.approx(1 / 3), 3)


def test_the_largest_fall_comes_first_and_small_ones_are_left_out():
    runs = [measured("a", tabs=("1" * 25, "1" * 24 + "0")), measured("b", tabs=("1" * 20, "1" * 19 + "0"))]
    assert [fall.run for fall in falls(runs)] == ["b"], "4 points are left out, 5 are listed"
    worse = measured("c", tabs=("1111", "0000"))
    assert [fall.run for fall in falls([*runs, worse])] == ["c", "b"]


def test_a_run_without_rl_has_no_falls():
    assert falls([measured("a", tabs=("1", "0")).model_copy(update={"before": {}})]) == []


def test_the_page_and_the_terminal_show_falls_and_the_time_of_rl(study, finish, tmp_path):
    finish()
    with Path(".waymark/studies/mine/events.jsonl").open("a") as log:
        log.write("\n")
        for phase, seconds in (("short", 60.0), ("long", 90.0)):
            event = {"run": "plain-seed0", "stage": f"train_rl@{phase}", "outcome": "ran", "seconds": seconds}
            restored = event | {"run": "plain-seed1", "outcome": "restored", "seconds": 1.0}
            log.write(f"{json.dumps(event)}\n{json.dumps(restored)}\n")
    measurements = read_runs(study)
    fallen = measurements[0].model_copy(update={"before": dict.fromkeys(measurements[0].tested, 1.0)})
    result = compare(study, [fallen, *measurements[1:]])
    assert [(fall.run, fall.family, fall.after) for fall in result.falls] == [("plain-seed0", "click-link", 0.0)]
    html = write_page(result, tmp_path / "pages").read_text()
    section = html[html.index("Families that RL made worse") : html.index("What the arms change")]
    row = '<th>plain-seed0</th><td>click-link</td><td>100.0%</td><td class="strong">0.0%</td><td>20</td>'
    assert row in section
    assert "<td>2 min 30 s</td>" in html
    printed = summary(result)
    assert "60 episodes of RL in 2 min 30 s;" in printed
    assert "RL's largest fall: click-link in plain-seed0, 100.0% → 0.0%, p =" in printed
