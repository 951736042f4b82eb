"""Training on packed rows, which encode shared prefixes once, against every turn alone: `python -m perf.packing`.

The input is one trajectory of T turns with one screenshot in context: turn t reads the system prompt, the responses and
feedbacks of the turns before it and its own screenshot, and answers. On a CPU, widths and lengths are a quarter of the
paper's agent's (`perf/training_workload.py`): a system prompt of 400 tokens, screenshots of 220, responses of 75, and
feedback, URL and tabs of 75 (`--feedback`). Three forms run forward and backward over all turns, in rows of at most
`--row-tokens` tokens:

- naive: each turn complete, without padding;
- dense: shared tokens once, with one mask over the row;
- ours: shared tokens once, with attention by segment.

The vision tower is frozen, as in the papers, and reads each screenshot once per pass in every form. On a CPU, each
measurement is a process of its own, and the forms take turns. Figures are medians over the rounds; peak memory is the
memory that the passes add to the process.

`--device cuda --model qwen3-vl-4b` takes the paper's architecture and shapes, with random weights in bfloat16 and
gradient checkpointing. It also reports tokens per second and the model FLOPs utilisation: the share of the card's
`--peak-tflops` that the products of the weights use, for the tokens of each form's rows, without recomputation. There,
building the model takes longer than most passes, so one process per form measures all T, the cheapest form first, and
everything ends after `--limit-s`. A missing measurement is null, with the reason in `failed`. Last line: JSON.
"""

from __future__ import annotations

import components.stages  # noqa: F401, isort: skip  (thread settings, before torch)

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import torch
from transformers import AttentionInterface

from components.model import VLM, Encoder, Sample
from components.model.attention import Segments
from components.training.forward import response_logprobs
from components.training.packing import micro_batches, pack
from perf.training_workload import SHAPES, random_model, training_flops, trajectory

FORMS = ("naive", "dense", "ours")
Figures = dict[str, float]


def passes(vlm: VLM, encoder: Encoder, samples: list[Sample], form: str, row_tokens: int) -> None:
    """Forward and backward over all samples."""
    for batch in rows_of(samples, encoder, row_tokens, form):
        logprobs = response_logprobs(vlm, encoder, batch, share=form != "naive")
        (-torch.cat(list(logprobs)).sum()).backward()


def row_token_count(encoder: Encoder, samples: list[Sample], form: str, row_tokens: int) -> int:
    """Number of tokens in all rows of a form."""
    rows = rows_of(samples, encoder, row_tokens, form)
    return sum(len(pack(batch, encoder, share=form != "naive").ids) for batch in rows)


def rows_of(samples: list[Sample], encoder: Encoder, row_tokens: int, form: str) -> list[list[Sample]]:
    """The samples of each row of at most `row_tokens` tokens. Rows of the form `naive` share no prefix, so every sample
    counts with its whole prompt."""
    if form != "naive":
        return [[samples[index] for index in batch] for batch in micro_batches(samples, encoder, row_tokens)]
    rows: list[list[Sample]] = [[]]
    for sample in samples:
        length = sum(len(s.prompt.ids) + len(s.response) for s in [*rows[-1], sample])
        if rows[-1] and length > row_tokens:
            rows.append([])
        rows[-1].append(sample)
    return rows


class DenseAttention:
    """The same attention in one call, with a mask over the whole row, which is made once per row."""

    NAME = "benchmark_dense"

    def __init__(self) -> None:
        self._segments: Segments | None = None
        self._mask = torch.empty(0)

    def __call__(
        self,
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: None,
        segments: Segments,
        scaling: float,
        **kwargs: object,
    ) -> tuple[torch.Tensor, None]:
        """Attention as `transformers` calls it: `query` is (1, heads, L, width), and the output (1, L, heads,
        width)."""
        if self._segments is not segments:
            self._segments, self._mask = segments, dense_mask(segments).to(query.device)
        if query.is_cuda:  # no fused kernel supports a mask with fewer heads of keys
            key, value = (part.repeat_interleave(query.shape[1] // part.shape[1], dim=1) for part in (key, value))
        out = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=self._mask, scale=scaling, enable_gqa=True
        )
        return out.transpose(1, 2).contiguous(), None


def dense_mask(segments: Segments) -> torch.Tensor:
    """Which tokens of a row attend to which, as one mask (1, 1, L, L)."""
    mask = torch.zeros(segments[-1].end, segments[-1].end, dtype=torch.bool)
    for segment in segments:
        own = slice(segment.begin, segment.end)
        mask[own, own] = torch.ones(segment.end - segment.begin, segment.end - segment.begin).tril().bool()
        for begin, end in segment.context:
            mask[own, begin:end] = True
    return mask[None, None]


def measure(form: str, options: argparse.Namespace) -> None:
    """Measure one form in this process. Prints a line of JSON for each T: turns, median seconds of a pass, tokens,
    TFLOP/s, and peak memory in MiB."""
    vlm, cuda = random_model(options.model, options.device, options.layers), options.device == "cuda"
    if cuda:
        vlm.model.train().gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if form == "dense":
        AttentionInterface.register(DenseAttention.NAME, DenseAttention())
        vlm.model.set_attn_implementation({"text_config": DenseAttention.NAME})
    shapes = SHAPES[options.model]
    if options.feedback is not None:
        shapes = replace(shapes, feedback=options.feedback)
    for turns in options.turns:
        samples = trajectory(Encoder(vlm), turns, shapes)
        print(json.dumps(_timed(vlm, samples, form, options.row_tokens, options.repeats, cuda)), flush=True)


def _timed(vlm: VLM, samples: list[Sample], form: str, row_tokens: int, repeats: int, cuda: bool) -> Figures:
    passes(vlm, Encoder(vlm), samples[:1], form, row_tokens)  # start threads and compile kernels
    vlm.model.zero_grad()
    tokens = row_token_count(Encoder(vlm), samples, form, row_tokens)
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    before, seconds = peak_mib(cuda), []
    for _ in range(repeats):
        vlm.model.zero_grad()
        encoder = Encoder(vlm)  # without cached features, so that each pass reads its screenshots
        for sample in samples:
            encoder.vision.pixels(sample.prompt.images[0])
        if cuda:
            torch.cuda.synchronize()
        started = time.monotonic()
        passes(vlm, encoder, samples, form, row_tokens)
        if cuda:
            torch.cuda.synchronize()
        seconds.append(time.monotonic() - started)
    work = training_flops(vlm, tokens, sum(len(sample.response) for sample in samples))
    return {
        "turns": len(samples), "s": statistics.median(seconds), "tokens": tokens,
        "tflops": work / statistics.median(seconds) / 1e12, "peak_mib": peak_mib(cuda) - before,
    }  # fmt: skip


def peak_mib(cuda: bool) -> float:
    """Peak memory of the process so far; on CUDA, since the last reset."""
    if cuda:
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Measurements:
    """The figures of each round per T and form, and the error of each form that failed."""

    def __init__(self, turns: Sequence[int]) -> None:
        self.figures: dict[int, dict[str, list[Figures]]] = {T: {form: [] for form in FORMS} for T in turns}
        self.failed: dict[str, str] = {}

    def measure(self, form: str, turns: Sequence[int], options: argparse.Namespace, limit_s: float | None) -> None:
        """Run `measure` in a process of its own. If it fails, the T that it has measured before are kept."""
        command = [sys.executable, "-m", "perf.packing", "--form", form, "--turns", *map(str, turns)]
        for name in ("row_tokens", "repeats", "model", "device", "layers", "feedback"):
            if getattr(options, name) is not None:
                command += ["--" + name.replace("_", "-"), str(getattr(options, name))]
        lines, problem = run_command(command, limit_s)
        for line in lines:
            print(f"{form}: {line}", flush=True)
            figures = json.loads(line)
            self.figures[figures["turns"]][form].append(figures)
        if problem is not None:
            self.failed[form] = problem

    def summary(self, turns: int, options: argparse.Namespace) -> dict[str, object]:
        """Medians over the rounds; None for a missing measurement."""
        rounds = self.figures[turns]

        def medians(figure: str, digits: int | None, scale: float = 1.0) -> dict[str, float | None]:
            values = {form: [figures[figure] for figures in rounds[form]] for form in FORMS}
            return {form: round(statistics.median(v) / scale, digits) if v else None for form, v in values.items()}

        seconds, tokens = medians("s", 3), medians("tokens", None)
        time_s = {form: statistics.median(figures["s"] for figures in rounds[form]) for form in FORMS if rounds[form]}
        figures: dict[str, object] = {
            **{f"{form}_s": seconds[form] for form in FORMS},
            "ratio": round(time_s["naive"] / time_s["ours"], 2) if {"naive", "ours"} <= time_s.keys() else None,
            "tokens_naive": tokens["naive"],
            "tokens_ours": tokens["ours"],
            "peak_mib": medians("peak_mib", None),
        }
        if options.device == "cuda":
            figures["tokens_s"] = {
                form: None if (count := tokens[form]) is None else round(count / time_s[form]) for form in FORMS
            }
            figures["mfu"] = medians("tflops", 3, options.peak_tflops)
        return figures


def run_command(command: Sequence[str], limit_s: float | None) -> tuple[list[str], str | None]:
    """Run a command. Returns the lines that it printed and, if it failed or took too long, the last line of its
    errors."""
    try:
        result = subprocess.run(command, capture_output=True, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode().splitlines(), f"--limit-s ended it after {limit_s:.0f} s"
    lines = result.stdout.decode().splitlines()
    if result.returncode == 0:
        return lines, None
    return lines, (result.stderr.decode().strip().splitlines() or [f"ended with {result.returncode}"])[-1]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, nargs="+", default=[1, 5, 10, 15, 30])
    parser.add_argument("--row-tokens", type=int, default=16384)
    parser.add_argument("--model", choices=SHAPES, default="quarter")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--layers", type=int, help="number of layers of the language model, for a trial run")
    parser.add_argument("--feedback", type=int, help="tokens of a turn's feedback, URL and tabs, if not the model's")
    parser.add_argument("--peak-tflops", type=float, default=989.0, help="of the card in bfloat16; an H100's or H200's")
    parser.add_argument("--limit-s", type=float, default=450.0, help="for the whole run, on CUDA")
    parser.add_argument("--rounds", type=int, default=3, help="on a CPU; one on CUDA")
    parser.add_argument("--repeats", type=int, default=3, help="passes per process and T")
    parser.add_argument("--form", choices=FORMS, help="measure one form here")
    options = parser.parse_args()
    if options.form:
        measure(options.form, options)
        return
    measurements, started = Measurements(options.turns), time.monotonic()
    if options.device == "cuda":
        for form in reversed(FORMS):
            measurements.measure(form, options.turns, options, max(1.0, started + options.limit_s - time.monotonic()))
    else:
        for turns, _, form in itertools.product(options.turns, range(options.rounds), FORMS):
            measurements.measure(form, [turns], options, None)
    figures = {turns: measurements.summary(turns, options) for turns in options.turns}
    card = torch.cuda.get_device_name() if options.device == "cuda" else None
    setting = {
        "benchmark": "packing",
        "model": options.model,
        "device": card or "cpu",
        "row_tokens": options.row_tokens,
    }
    setting["shapes"] = vars(SHAPES[options.model]) | ({"feedback": options.feedback} if options.feedback else {})
    print(json.dumps({**setting, "turns": figures, "failed": measurements.failed}))


if __name__ == "__main__":
    main()
