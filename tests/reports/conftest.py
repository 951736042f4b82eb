"""A finished run on disk: evaluated trajectories of three policies and what every stage wrote."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.evaluation import success
from components.records import Outcome, Termination, ToolCall, Trajectory, Turn, Verdict
from components.store import read_json, write_json, write_table
from components.tasks import Funnel
from tests.evaluation.run_records import DONE, observation, png, task, trajectory, turn, verdict

FAMILIES = {  # family: turns before `done`, share solved by base, sft, rl
    "click-test-2": (1, (0.35, 0.80, 1.00)),
    "click-button": (1, (0.25, 0.65, 0.95)),
    "click-link": (1, (0.20, 0.50, 0.90)),
    "click-tab": (1, (0.10, 0.40, 0.85)),
    "click-dialog-2": (1, (0.15, 0.35, 0.80)),
    "enter-text": (2, (0.00, 0.30, 0.75)),
    "click-checkboxes": (3, (0.00, 0.15, 0.65)),
    "click-tab-2": (2, (0.05, 0.20, 0.60)),
    "click-button-sequence": (2, (0.00, 0.35, 0.90)),
}
HELDOUT = {"click-option": (1, (0.10, 0.25, 0.50)), "focus-text": (1, (0.20, 0.45, 0.70))}
PER_FAMILY = 12
MEANING = "the page's first ending has the full reward, and the agent did nothing after it"
WORDS = ["ok", "Cancel", "submit", "previous", "next", "yes", "Nope"]


@dataclass(frozen=True)
class RunOnDisk:
    root: Path

    @property
    def evaluation(self) -> Path:
        return self.root / "data" / "evaluation"

    @property
    def stages(self) -> Path:
        return self.root / "reports" / "stages"

    @property
    def curves(self) -> Path:
        return self.root / "reports" / "curves"


@pytest.fixture(scope="session")
def run_on_disk(tmp_path_factory) -> RunOnDisk:
    run = RunOnDisk(tmp_path_factory.mktemp("run"))
    for place, policy in enumerate(("base", "sft", "rl")):
        trajectories, verdicts = _evaluated(policy, place)
        write_table(run.evaluation / policy / "trajectories.parquet", Trajectory, trajectories)
        write_table(run.evaluation / policy / "verdicts.parquet", Verdict, verdicts)
        summary = success(trajectories, verdicts, max_aborted=0.1)
        figures = {"clean_success": {"miniwob": MEANING}, **summary.model_dump(mode="json", exclude_none=True)}
        _stage(run, f"evaluate@{policy}", 38.5 + place, figures)
    _other_stages(run)
    run.curves.mkdir(parents=True)
    (run.curves / "sft.csv").write_text("step,loss\n" + "".join(f"{i},{2.2 / (1 + i / 3):.4f}\n" for i in range(12)))
    return run


def _evaluated(policy: str, place: int) -> tuple[list[Trajectory], list[Verdict]]:
    trajectories, verdicts = [], []
    for split, families in (("eval", FAMILIES), ("heldout", HELDOUT)):
        for family, (length, rates) in families.items():
            for index in range(PER_FAMILY):
                solved = random.Random(f"{family}{index}").random() < rates[place]
                one = _episode(policy, family, split, index, length, solved)
                trajectories.append(one)
                verdicts.append(verdict(one, _outcome(one, solved)))
    return trajectories, verdicts


def _outcome(one: Trajectory, solved: bool) -> Outcome:
    if not one.termination.is_agents_doing:
        return Outcome.ERROR
    return Outcome.SUCCESS if solved else Outcome.FAILURE


def _episode(policy: str, family: str, split: str, index: int, length: int, solved: bool) -> Trajectory:
    words = random.Random(f"words {family} {index}").sample(WORDS, 3)
    places = [(15, 60, words[0]), (85, 110, words[1]), (40, 165, words[2])]
    intent = f'Click on the "{words[0]}" button.' if length == 1 else f'Enter "{words[1]}" and then press "{words[0]}".'
    of = task(f"miniwob/{family}/{1_000_000 + index}", family, split=split, intent=intent, seed=1_000_000 + index)
    seen = {"screenshot": png(places, intent=intent), "url": of.start_url}
    if solved or index % 3 == 0:
        turns = [_click(i, places[i if solved else i - 1], seen) for i in range(length)]
        ending, calls = Termination.DONE, DONE
        last = turn(
            length, calls, thought="Nothing is left to do.", feedback=["Succeed: task marked as done. Response: ok"]
        )
        turns.append(last.model_copy(update={"observation": observation(intent=intent, **seen)}))
    elif index % 3 == 1:
        turns, ending = [_click(i, places[1], seen) for i in range(4)], Termination.MAX_STEPS
    else:
        turns, ending = [_unreadable(i, seen) for i in range(3)], Termination.FORMAT_ERROR
    if policy == "base" and index == 11 and family == "click-tab":
        turns, ending = [], Termination.ENV_INIT_ERROR
    return trajectory(
        of, turns, ending, policy, site_reward=float(solved), final_screenshot=seen["screenshot"] if turns else None
    )


def _click(index: int, place: tuple[int, int, str], seen: dict) -> Turn:
    x, y = round((place[0] + 25) * 1000 / 160), round((place[1] + 9) * 1000 / 210)
    call = ToolCall(name="click", arguments={"x": x, "y": y})
    said = f'Succeed: `click` on <button> "{place[2]}" at ({x}, {y}) executed. Note: no visible navigation.'
    thought = f'The task names "{place[2]}", the list has it at {x} {y}.'
    return turn(index, call, thought=thought, feedback=[said], observation=observation(**seen))


def _unreadable(index: int, seen: dict) -> Turn:
    problem = "no <tool_call> after the reasoning"
    said = (
        f"Failed: the response could not be read: {problem}. Close </think>, then write <tool_call>{{…}}</tool_call>."
    )
    return turn(
        index,
        response="<think>the button the button</think>\nclick button",
        tool_calls=[],
        feedback=[said],
        parse_error=problem,
        observation=observation(**seen),
    )


def _stage(run: RunOnDisk, name: str, wall_s: float, value: dict) -> None:
    """One after the other, but for evaluations of 30 s beside the one before."""
    before = [read_json(path)["spans"][-1][1] for path in run.stages.glob("*.json")]
    begin = max(before, default=1.79e9) - (30 if name.startswith("evaluate") and before else 0)
    pipeline = "earlier" if name == "collect_tasks" else "this"
    times = {"wall_s": wall_s, "spans": [[begin, begin + wall_s]]}
    write_json(run.stages / f"{name}.json", {**value, "stage": name, "pipeline": pipeline, **times})


def _other_stages(run: RunOnDisk) -> None:
    counts = {"train": 900, "rl": 0, "eval": 180, "heldout": 52, "validation": 0, "heldout_validation": 0}
    _stage(run, "collect_tasks", 9.5, {"collected": 1132, "rejected": 3, **counts})
    steps = [("all", 0, 900), ("evaluation overlap", 14, 886), ("decomposed", 0, 886), ("long-tail websites", 22, 864)]
    funnel = [{"step": step, "dropped": dropped, "left": left, "examples": []} for step, dropped, left in steps]
    _stage(run, "filter_tasks", 0.4, {"kept": 864, "funnel": funnel})
    pools = {"sft": 610, "rl": 402}
    funnels = {
        f"{pool}_funnel": Funnel(total=864).then("near duplicates", [""] * (864 - n)) for pool, n in pools.items()
    }
    _stage(run, "dedup_tasks", 21.0, {**pools, **{name: funnel.rows() for name, funnel in funnels.items()}})
    _stage(run, "teacher_rollouts", 31.0, {"episodes": 240})
    steps = [("all", 0, 240), ("not a success", 71, 169), ("not the task's shortest", 60, 109), ("website cap", 13, 96)]
    funnel = [{"step": step, "dropped": dropped, "left": left, "examples": []} for step, dropped, left in steps]
    _stage(run, "curate_sft", 0.0, {"trajectories": 96, "websites": 9, "funnel": funnel})
    _stage(run, "train_sft", 61.0, {"steps": 12})
    confusion = {"tp": 61, "fp": 6, "tn": 58, "fn": 5}
    judge = {"n": 130, "accuracy": 0.9154, "precision": 0.9104, "recall": 0.9242, "f1": 0.9173}
    _stage(
        run,
        "distill_judge",
        88.0,
        {**judge, "majority_accuracy": 0.5077, "untrained_accuracy": 0.4923, "confusion": confusion, "unparsed": 3}
        | {"calibration": [_calibration("base", 0.4923), _calibration("vote of 3 samples", 0.9231)]},
    )
    for phase, first, count in (("short", 0, 14), ("long", 14, 8)):
        iterations = [_iteration(i, first + i) for i in range(count)]
        ended = "no trajectory succeeds" if phase == "long" else None
        _stage(run, f"train_rl@{phase}", 300.0, {"iterations": iterations, "ended": ended, **_watched(count, first)})
    _stage(run, "report", 1.0, {})


def _watched(count: int, first: int) -> dict:
    """Validations at the beginning and the end of a phase, of two trained families and a held-out one."""
    rows, families = [], []
    for iteration in (0, count):
        rate = (first + iteration + 4) / 40
        success = {"rate": rate, "n": 36, "ci95": [rate - 0.1, rate + 0.1]}
        rows.append({"iteration": iteration, "success": success, "seconds": 4.5, "kl_sft": 0.125})
        families += [
            {"iteration": iteration, "family": family, "heldout": heldout, "n": 4, "rate": rate}
            | {"wilson95": [0.1, 0.9], "groups": 12, "effective_groups": 5}
            for family, heldout in (("click-tab", False), ("click-link", False), ("focus-text", True))
        ]
    checkpoint = {"iteration": count, "seconds": 0.5, "megabytes": 36.0, "kept": 1.0}
    published = {"iteration": count, "reason": "the last, and the best on validation (45.0%)"}
    rollbacks = [{"iteration": 7, "to": 4, "by_hand": True}]
    fall = f"click-tab falls: 94% of 15 training groups at iteration 0, now 17% of {count}"
    warnings = [{"iteration": count, "name": "click-tab", "warning": fall}] if first else []
    limits = "the 4 held-out validation tasks are too few"
    tables = {"validation": rows, "families": families, "rollbacks": rollbacks}
    tables |= {"warnings": warnings, "limits_of_warnings": limits}
    return {**tables, "published": published, "checkpoints": [checkpoint, checkpoint]}


def _calibration(judge: str, accuracy: float) -> dict:
    """A row of the calibration table; the other figures follow the accuracy."""
    names = ("accuracy", "precision", "recall", "f1", "kappa")
    figures = {name: {"value": accuracy, "ci95": (accuracy - 0.05, accuracy + 0.05)} for name in names}
    said = {"success": 60, "failure": 4, "unparsed": 1}
    by_label = {"success": said, "failure": {"success": 5, "failure": 58, "unparsed": 2}}
    counts = {"n": 130, "tasks": 65, "majority_accuracy": 0.5077, "unparsed": 3, "outages": 0}
    return {"judge": judge, **counts, **figures, "said_by_label": by_label}


def _iteration(index: int, overall: int) -> dict:
    noise = random.Random(overall).random() * 0.06
    return {
        "iteration": index,
        "pool_reward": 0.3 + 0.5 * (1 - 0.88**overall),
        "reward_mean": 0.36 + 0.4 * (1 - 0.88**overall) + noise,
        "effective_groups": 12 - (overall > 15) * 3,
        "sampled_groups": 18 + overall // 2,
        "ratio_mean": None if overall == 9 else 1.0 + (noise - 0.03) / 10,
        "clip_fraction": float("nan") if overall == 9 else 0.01 + noise / 3,
        "logprob_gap_max": 1e-5 + noise * 1e-5,
        "turns": 12 * 8 * 2.8,
        "turns_mean": 2.8 - overall * 0.03 + noise,
        "response_tokens_mean": 92 - overall + 20 * noise,
        "rollout_s": 9.0 + 10 * noise,
        "train_s": 6.0 + 8 * noise,
        "grad_norm": 1.0,
    }
