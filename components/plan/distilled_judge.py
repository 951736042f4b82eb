"""The distilled judge: whether it has servers, and how many questions of which length it answers together."""

from __future__ import annotations

from components.architecture import architecture_of
from components.params import Params, VLLMParams

JUDGE_ROWS = 32
"""As `DistilledJudge`'s batch."""
JUDGE_TEXT = 3000
"""Tokens of the task, the responses and the feedback in a question to a judge: 30 turns of 100 tokens."""


def served_judge(params: Params) -> VLLMParams | None:
    """The servers of the distilled judge in RL; None if there are none."""
    return params.judge.distill.vllm if params.judge.reward == "distilled" else None


def judge_length(params: Params) -> int:
    """Tokens of a question to the distilled judge with its answer: screenshots, the history, the verdict."""
    image = architecture_of(params.model.judge_base).image_tokens(params.browser.viewport)
    distill = params.judge.distill
    return distill.screenshots * image + JUDGE_TEXT + distill.max_response_tokens


def judge_rows(params: Params) -> int:
    """Questions to the distilled judge that are answered together."""
    return max(1, min(JUDGE_ROWS, params.judge.distill.decoding_tokens // judge_length(params)))
