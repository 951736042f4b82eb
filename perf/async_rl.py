"""Asynchronous beside synchronous RL, with a policy that is slow: `python -m perf.async_rl RUN [RUN ...]`.

Each RUN is a checkout, or a run of a study, whose stages have finished up to `train_sft`; several are several seeds.
Clones of the last commit get its data and its SFT model, and the first phase of RL runs in each: synchronously, and
with rollouts that use weights one update old and a decoupled ratio (`rl.max_staleness: 1`, `rl.objective.tis_cap: 2`).
Every response is held back for `--delay` seconds, as a server elsewhere would take; the wait needs no core. On a
machine with few cores rollouts and updates still share them, so the speed-up stays below its limit.

The last line is JSON: for each run and arm the seconds per iteration, of them those in which the trainer waited for
rollouts, and the mean rewards by iteration; the speed-up (ratio of seconds per iteration, without the first, which
waits in both), and its limit: (rollouts + update) / max(rollouts, update) with the times of the synchronous arm.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
INPUTS = ("data/pools", "data/tasks", "data/sft", "models/sft")
ARMS: dict[str, dict[str, Any]] = {
    "synchronous": {"max_staleness": 0, "tis_cap": None},
    "asynchronous": {"max_staleness": 1, "tis_cap": 2.0},
}
CHILD = "--child"


def main() -> None:
    """Run all arms of all runs and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--delay", type=float, default=3.0, help="seconds by which each response is held back")
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="where the clones are made, and kept; default: a temporary one")
    options = parser.parse_args()
    for run in options.runs:
        if missing := [name for name in (*INPUTS, "params.yaml") if not (run / name).exists()]:
            parser.error(f"{run} has no {', '.join(missing)}: run its stages up to train_sft first")
    with tempfile.TemporaryDirectory(prefix="waymark-async-") as temporary:
        folder = options.folder or Path(temporary)
        results = []
        for number, run in enumerate(options.runs):
            arms = {arm: trained(run, folder / f"{number}-{arm}", arm, options) for arm in ARMS}
            results.append(compared(run.name, arms))
            print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    print(json.dumps({"delay_s": options.delay, "iterations": options.iterations, "runs": results}))


def trained(run: Path, clone: Path, arm: str, options: argparse.Namespace) -> list[dict[str, float]]:
    """Train in a clone; the rows of its curve, one per iteration."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    for name in INPUTS:
        shutil.copytree(run / name, clone / name, dirs_exist_ok=True)
    params = yaml.safe_load((run / "params.yaml").read_text())
    changes = ARMS[arm]
    params["rl"] |= {"max_staleness": changes["max_staleness"]}
    params["rl"]["objective"] |= {"tis_cap": changes["tis_cap"]}
    params["rl"]["short"] |= {"iterations": options.iterations}
    params["rl"]["validation"] = {"every": 0}
    params["rl"]["checkpoints"] |= {"rollback": None}
    params["judge"]["trust"] |= {"min_precision": 0.0}
    (clone / "params.yaml").write_text(yaml.safe_dump(params))
    with (clone / "async_rl.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", "perf.async_rl", CHILD, str(options.delay)],
            cwd=clone, env=os.environ | {"PYTHONPATH": str(clone)}, stdout=log, stderr=log, check=True,
        )  # fmt: skip
    with (clone / "reports/curves/rl-short.csv").open() as file:
        return [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(file)]


def compared(name: str, arms: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """The figures of a run."""
    figures: dict[str, Any] = {"run": name}
    for arm, rows in arms.items():
        later = rows[1:] or rows
        figures[arm] = {
            "iteration_s": round(mean(row["waited_s"] + row["train_s"] for row in later), 2),
            "waited_s": round(mean(row["waited_s"] for row in later), 2),
            "rollout_s": round(mean(row["rollout_s"] for row in later), 2),
            "train_s": round(mean(row["train_s"] for row in later), 2),
            "pool_rewards": [round(row["pool_reward"], 4) for row in rows],
        }
    rollouts, update = (figures["synchronous"][key] for key in ("rollout_s", "train_s"))
    ratio = figures["synchronous"]["iteration_s"] / figures["asynchronous"]["iteration_s"]
    return figures | {
        "speed_up": round(ratio, 3),
        "limit": round((rollouts + update) / max(rollouts, update), 3),
    }


def train_slowly(delay: float) -> None:
    """The stage `train_rl short` in the working directory, with responses that are held back."""
    import components.stages  # noqa: F401, isort: skip  (thread settings, before torch)
    from components.policies import TransformersPolicy
    from components.stages import train_rl

    complete = TransformersPolicy.complete

    async def delayed(self: TransformersPolicy, request: Any) -> Any:
        await asyncio.sleep(delay)
        return await complete(self, request)

    TransformersPolicy.complete = delayed  # type: ignore[method-assign]
    train_rl.main("short")


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        train_slowly(float(sys.argv[2]))
    else:
        main()
