"""An RL iteration at the paper's scale: what it wastes, in waves and in a stream of groups: `python -m perf.scale`.

Simulated with the plan's rates (`waymark plan`) for a recipe and GPUs that this machine need not have: the seconds of
the rollouts with their judge, the share of them in which a browser has an episode, and both for each effective group,
for several seeds. Measured on this machine: how often an update of three passes prepares and encodes each screenshot,
with a cache for few of them and with one for all. Last line: JSON.
"""

from __future__ import annotations

import components.stages  # noqa: F401, isort: skip  (thread settings, before torch)

import argparse
import json
from pathlib import Path
from statistics import fmean

from components.model import Encoder
from components.params import ImageCacheParams
from components.plan import PlanOptions, plan
from components.plan.rates import default_rates
from components.plan.setting import Setting
from components.plan.stages import iteration_time
from perf.images import update
from perf.packing import trajectory
from perf.training_workload import SHAPES, random_model

PASSES = 3


def simulated(recipe: Path, device: str, open_groups: int | None, seeds: int) -> dict[str, float]:
    """Means over seeds of an iteration's rollouts in the short phase.

    Args:
        open_groups: `rl.open_groups`; None for waves.
    """
    rows = []
    for seed in range(seeds):
        planned = plan(recipe, PlanOptions({"rl.open_groups": open_groups, "seed": seed}, device))
        setting = Setting(planned.recipe, planned.machine, default_rates(planned.recipe, planned.machine.device))
        iteration = iteration_time(setting, "short")
        rolled, browsers = iteration.rolled, planned.recipe.browser.concurrency
        seconds = rolled.rollouts.usage.seconds + rolled.judging.usage.seconds
        rows.append(
            {
                "groups": rolled.groups,
                "effective_groups": rolled.effective,
                "rollouts_and_judge_s": seconds,
                "judge_alone_s": rolled.judging.usage.seconds,
                "browsers_busy": rolled.rollouts.usage.busy["browsers"] / browsers / seconds,
                "s_per_effective_group": seconds / rolled.effective,
                "iteration_s": iteration.seconds,
            }
        )
    return {name: round(fmean(row[name] for row in rows), 3) for name in rows[0]}


def image_work(count: int) -> dict[str, dict[str, float]]:
    """Preparations and encodings per screenshot in an update of `count` ones, with a cache for 7 or for all."""
    vlm = random_model("quarter", "cpu", None)
    vlm.freeze_vision()
    encoder = Encoder(vlm)
    images = [sample.prompt.images[0] for sample in trajectory(encoder, count, SHAPES["quarter"])]
    tower = vlm.model.model.visual.config
    width = (1 + len(tower.deepstack_visual_indexes)) * tower.out_hidden_size
    few_gib = 7 * width * encoder.vision.tokens(images[0]) * vlm.feature_dtype.itemsize / 2**30
    return {
        name: update(Encoder(vlm, ImageCacheParams(memory_gib=gib)), images, PASSES)
        for name, gib in (("for_7", few_gib), ("for_all", 4.0))
    }


def main() -> None:
    """Simulate, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("recipe", nargs="?", type=Path, default=Path("openwebrl-4b"))
    parser.add_argument("--device", default="B200", help="GPU of the plan (default: B200, the paper's)")
    parser.add_argument("--open-groups", type=int, nargs="+", default=[16, 24, 32, 48, 64])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--images", type=int, default=40, help="screenshots of the measured update")
    options = parser.parse_args()
    ways: dict[str, int | None] = {"waves": None} | {f"{number} open groups": number for number in options.open_groups}
    rollouts = {name: simulated(options.recipe, options.device, number, options.seeds) for name, number in ways.items()}
    figures = {"rollouts": rollouts, "images": image_work(options.images)}
    for table in figures.values():
        for name, row in table.items():
            print(f"{name:>15}: " + ", ".join(f"{key} {value:g}" for key, value in row.items()))
    print(json.dumps({"recipe": str(options.recipe), "device": options.device, **figures}))


if __name__ == "__main__":
    main()
