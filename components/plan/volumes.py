"""The sizes of what episodes leave: screenshots and texts, by stage, and how many episodes there are."""

from __future__ import annotations

from dataclasses import dataclass

from components.params import RLPhase
from components.plan.setting import Setting

GENERATED_PIXEL, WEB_PIXEL = 0.14, 0.25
"""Bytes of a PNG screenshot for each pixel: of generated pages (4.7 kB of 160×210 in the recipe `smoke`), and of the
web, which is an assumption (230 kB of 1280×720)."""
TURN_TEXT = 1500
"""Bytes of a turn in a journal beside page and response: addresses, tabs, calls, feedback, times."""
PAGE_TOKEN, RESPONSE_TOKEN = 4, 30
"""Bytes of a token of the page's text, and of a response with its ids and log-probabilities."""


@dataclass(frozen=True)
class EpisodeSize:
    """The mean size of a stage's episodes.

    Attributes:
        images: bytes of all screenshots.
        text: bytes of all else, as JSON.
    """

    turns: float
    images: float
    text: float

    @property
    def journal(self) -> float:
        """Bytes in a journal, which has images as base64."""
        return 4 / 3 * self.images + self.text

    @property
    def table(self) -> float:
        """Bytes in a Parquet table, whose texts are compressed."""
        return self.images + self.text / 4

    @property
    def memory(self) -> float:
        """Bytes of the records in a process, whose numbers are objects."""
        return self.images + 2 * self.text


def screenshot_bytes(setting: Setting) -> float:
    """Bytes of a screenshot."""
    width, height = setting.params.browser.viewport
    return width * height * (WEB_PIXEL if setting.params.tasks.files else GENERATED_PIXEL)


def episode_size(setting: Setting, stage: str, max_steps: int, is_evaluation: bool = False) -> EpisodeSize:
    """The episodes of a stage. Each has a screenshot for every turn, and one of its end."""
    turns, shape = setting.turns(stage, max_steps, is_evaluation).mean, setting.prompt_shape(stage)
    text = turns * (TURN_TEXT + PAGE_TOKEN * shape.text + RESPONSE_TOKEN * shape.response)
    return EpisodeSize(turns, (turns + 1) * screenshot_bytes(setting), text)


def taught_episodes(setting: Setting) -> int:
    """The teacher's episodes."""
    return setting.taught * setting.params.teacher.attempts


def curated_episodes(setting: Setting) -> int:
    """The episodes of SFT, at most."""
    return min(setting.params.curate.max_trajectories, setting.taught)


def judge_episodes(setting: Setting) -> int:
    """The episodes of the SFT policy for the judge."""
    return setting.judged * setting.params.judge.distill.rollout_attempts


def judge_examples(setting: Setting) -> float:
    """The trajectories that the judge learns from, without those that are shown with the task of another one."""
    share = setting.rates.habits_of("judge_rollouts").judged
    return taught_episodes(setting) + judge_episodes(setting) * share


def iteration_episodes(setting: Setting, phase: str) -> float:
    """The episodes of an RL iteration: those of all sampled groups, and the further attempts at failed tasks."""
    rl, rates = setting.params.rl, setting.rates
    groups = min(rl.max_sampled_groups, rl.effective_groups / rates.effective_share_of(f"train_rl@{phase}"))
    return groups * (rl.group_size + rates.failed_share * rl.extra_attempts)


def rl_phases(setting: Setting) -> dict[str, RLPhase]:
    """The phases of RL that have iterations."""
    rl = setting.params.rl
    return {name: phase for name, phase in (("short", rl.short), ("long", rl.long)) if phase.iterations}
