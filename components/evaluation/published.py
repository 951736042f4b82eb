"""Published numbers that a report prints beside its own, each with the table it was read from.

They are not comparable with the demo's as numbers: other tasks, another model, another budget. What compares is the
shape: base below SFT, SFT below RL, and RL giving the larger part.
"""

from __future__ import annotations

from dataclasses import dataclass

BENCHMARKS = ("WebVoyager", "Online-Mind2Web", "DeepShop", "Average")


@dataclass(frozen=True)
class PublishedSuccess:
    """Official success rates in percent, in the order of `BENCHMARKS`."""

    model: str
    stage: str
    rates: tuple[float, float, float, float]


@dataclass(frozen=True)
class PublishedJudge:
    """Agreement with GPT-4.1 on 500 held-out trajectories, in percent."""

    model: str
    accuracy: float
    precision: float
    recall: float
    f1: float


SUCCESS_SOURCE = "OpenWebRL, table 2: official success rate, 30 steps, live websites"
SUCCESS = (
    PublishedSuccess("Qwen3-VL-4B-Thinking", "base", (52.6, 32.0, 33.3, 39.3)),
    PublishedSuccess("OpenWebRL-4B-SFT", "sft", (60.2, 47.0, 48.7, 52.0)),
    PublishedSuccess("OpenWebRL-4B", "rl", (74.1, 67.0, 64.0, 68.4)),
    PublishedSuccess("Qwen3-VL-8B-Thinking", "base", (61.3, 38.7, 44.0, 48.0)),
    PublishedSuccess("OpenWebRL-8B-SFT", "sft", (66.2, 54.0, 50.0, 56.7)),
    PublishedSuccess("OpenWebRL-8B", "rl", (73.8, 67.0, 65.3, 68.7)),
)

JUDGE_SOURCE = "OpenWebRL, table 3: agreement with GPT-4.1 on 500 held-out trajectories"
JUDGE = (
    PublishedJudge("Qwen3-VL-8B-Instruct", 80.6, 78.6, 91.7, 84.7),
    PublishedJudge("OpenWebRL-Judge-8B", 89.8, 89.5, 94.8, 92.1),
)
