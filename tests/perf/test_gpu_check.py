"""The check of a GPU, with tiny sizes on a CPU."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from PIL import Image as PILImage
from PIL import ImageColor
from torch.utils.flop_counter import FlopCounterMode

from components.architecture import architecture_of
from components.model import Encoded, Encoder, Sample, Segments
from components.params import LoRAParams, SamplingParams
from components.training.forward import response_logprobs, score
from components.training.packing import pack
from perf.gpu_check import exactness, generation, learning, serving, training
from perf.gpu_check.__main__ import main
from perf.gpu_check.drawn_pages import HEIGHT, WIDTH, drawn_pages
from perf.gpu_check.report import run_parts
from perf.gpu_check.setting import Outcome, Setting, peak_flops
from perf.gpu_check.training import Step, Trainer
from perf.packing import dense_mask
from perf.training_workload import PUBLISHED, SHAPES, attention_flops, random_model, training_flops, trajectory
from tests.test_light_imports import ABSENT
from tests.vlm import random_vlm

ROOT = Path(__file__).parents[2]
SETTING = Setting("cpu", "tiny", learning_s=1.0, training_s=60.0)


@dataclass(frozen=True)
class Count:
    value: int


def test_packing_is_exact_on_this_machine():
    outcome = exactness.check(SETTING)
    assert outcome.reasons == []
    gaps = outcome.figures.packing
    assert {(gap.model, gap.dtype) for gap in gaps} == {
        (model, dtype) for model in ("base-model", "tiny") for dtype in ("float32", "bfloat16")
    }
    assert all(0 < gap.largest <= gap.tolerance and gap.gradient > 0 for gap in gaps)
    assert {gap.head_dim for gap in outcome.figures.attention} == {48, 128}


def test_attention_that_misses_the_context_is_not_exact(monkeypatch):
    full_mask = exactness.dense_mask

    def without_context(segments):
        return full_mask(Segments(replace(segment, context=()) for segment in segments))

    monkeypatch.setattr(exactness, "dense_mask", without_context)
    gap = exactness.attention_gap(SETTING, "float32", 48)
    [reason] = exactness.attention_reasons([gap])
    assert reason.startswith("attention by scaled_dot_product_attention in float32, heads of 48: wrong by")


@pytest.mark.parametrize("gap, failures", [(1e-5, 0), (2e-4, 3), (math.nan, 3)])
def test_a_gap_above_its_limit_or_nan_is_a_reason(gap, failures):
    row = exactness.PackingGap("m", "float32", 9, gap, gap, 1e-4, 1e-4, gradient=gap, gradient_limit=1e-4)
    assert len(exactness.packing_reasons([row])) == failures


@pytest.mark.slow
def test_packed_steps_have_fewer_tokens_than_single_ones():
    outcome = training.check(SETTING)
    assert outcome.reasons == []
    steps = {(step.trained, step.form, step.turns): step for step in outcome.figures.steps}
    assert len(steps) == 2 * 2 * 3
    first = 40 + 2 + 6 + 8 - 1  # system, marks, screenshot of 96 x 64, response without its last token
    history = 8 + 8
    for trained in ("all", "lora"):
        assert [steps[trained, "single", turns].tokens for turns in (1, 2)] == [first, first + first + history]
        assert [steps[trained, "packed", turns].tokens for turns in (1, 2)] == [first, first + history + 2 + 6 + 7]
    assert all(step.seconds > 0 and step.peak_gib is None for step in steps.values())


class SmallMemory(Trainer):
    """A device on which micro-batches of more than 4,096 tokens do not fit."""

    def step(self, encoder, samples, forward, row_tokens):
        if row_tokens > 4096:
            raise torch.OutOfMemoryError(f"{row_tokens} tokens")
        super().step(encoder, samples, forward, row_tokens)


class NoMemory(Trainer):
    """A device on which nothing fits."""

    def step(self, encoder, samples, forward, row_tokens):
        raise torch.OutOfMemoryError("tried to allocate 2 GiB. 1 GiB is free")


def small_memory() -> SmallMemory:
    vlm = random_model("tiny", "cpu")
    return SmallMemory("tiny", "all", vlm, torch.optim.AdamW(vlm.trainable()), "cpu")


@pytest.mark.slow
def test_a_step_that_does_not_fit_is_tried_with_smaller_batches():
    step = small_memory().measure("packed", 2)
    assert (step.row_tokens, step.problem) == (4096, None)
    [warning] = training.warnings([step])
    assert warning == "tiny, all, packed, T = 2: out of memory with 65536 tokens, fits with 4096"


def test_a_model_that_does_not_fit_is_recorded_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(training, "Trainer", NoMemory)
    outcome = training.check(SETTING)
    assert [step.problem for step in outcome.figures.steps] == [
        "out of memory with one turn: tried to allocate 2 GiB"
    ] * 12
    assert outcome.reasons == ["no training step could be measured"]


def test_a_step_that_fails_otherwise_is_recorded_with_its_error(monkeypatch):
    trainer = small_memory()
    monkeypatch.setattr(trainer.optimizer, "step", lambda: 1 / 0)
    monkeypatch.setattr(training, "ROW_TOKENS", 4096)
    assert trainer.measure("single", 1).problem == "it raised ZeroDivisionError: division by zero"


def test_without_time_no_model_is_built():
    begin = time.monotonic()
    steps = list(training.model_steps("qwen3-vl-8b", "all", replace(SETTING, size="full"), begin - 1))
    assert [(step.form, step.turns) for step in steps] == [(f, T) for f in ("packed", "single") for T in (5, 15, 30)]
    assert {step.problem for step in steps} == {"no time was left"}


def test_a_plan_that_misses_by_more_than_15_percent_is_a_warning():
    steps = [
        Step(
            "m",
            "lora",
            "packed",
            5,
            training.ROW_TOKENS,
            seconds=1,
            peak_gib=10,
            planned_gib=10 * (1 + error),
            plan_error=error,
        )
        for error in (0.14, -0.2)
    ]
    assert training.warnings(steps) == ["m, lora, packed, T = 5: planned 8.0 GiB, measured 10.0 GiB"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_random_models_have_the_published_number_of_parameters(name):
    model = random_model(name, "meta").model
    assert sum(parameter.numel() for parameter in model.parameters()) == architecture_of(PUBLISHED[name]).parameters


def test_arithmetic_beneath_adapters_is_counted_without_their_weights():
    """Against torch's own count; the first layer's input has no gradient, which is a part of one layer in sixteen."""
    vlm = random_vlm(16)
    vlm.freeze_vision()
    vlm.add_lora(LoRAParams(rank=2, alpha=4), seed=0)
    sample = Sample(Encoded(list(range(20, 120)), []), list(range(200, 210)))
    with FlopCounterMode(display=False) as counted:
        response_logprobs(vlm, Encoder(vlm), [sample])[0].sum().backward()
    by_name = {str(name): flops for name, flops in counted.get_flop_counts()["Global"].items()}
    products = sum(flops for name, flops in by_name.items() if name in ("aten.mm", "aten.addmm"))
    assert training_flops(vlm, tokens=109, predicted=10) == pytest.approx(products, rel=0.05)


@pytest.mark.parametrize("cuda, said", [(None, "is a CPU build"), ("13.0", "finds no GPU")])
def test_without_a_gpu_the_check_does_not_pass_on_the_cpu(cuda, said, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    with pytest.raises(SystemExit) as error:
        main([])
    assert error.value.code == 2
    assert said in capsys.readouterr().err


def test_attention_is_counted_pair_by_pair():
    vlm = random_model("tiny", "cpu")
    encoder = Encoder(vlm)
    text = vlm.model.config.text_config
    packed = pack(trajectory(encoder, 3, SHAPES["tiny"]), encoder).segments
    pairs = int(dense_mask(packed).sum())
    per_pair = 12 * text.num_hidden_layers * text.num_attention_heads * text.head_dim
    assert attention_flops(vlm, [packed, packed]) == 2 * per_pair * pairs


H200 = json.loads((ROOT / "docs/results/gpu-h200.json").read_text())
PACKED = [step for step in H200["steps"] if step["form"] == "packed" and step["peak_gib"]]


@pytest.mark.parametrize("step", PACKED, ids=lambda step: f"{step['model']}-{step['trained']}-{step['turns']}")
def test_the_plan_is_within_15_percent_of_the_memory_of_an_h200(step):
    assert step["tokens"] <= step["row_tokens"]  # one row
    vlm = random_model(step["model"], "meta")
    planned = training.planned_gib(vlm, step["trained"], [step["tokens"]], SHAPES[step["model"]])
    assert planned == pytest.approx(step["peak_gib"], rel=0.15)


@pytest.mark.parametrize(
    "name, tflops",
    [
        ("NVIDIA H200", 989),
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA GeForce RTX 4090", 165),
        ("NVIDIA L4", 121),
        ("NVIDIA L40S", None),
    ],
)
def test_the_peak_of_a_card_follows_from_its_drivers_name(name, tflops):
    assert peak_flops(name) == (tflops and tflops * 1e12)


def test_elements_are_drawn_where_their_lines_say():
    boxes = 0
    for page in drawn_pages(20, seed=4):
        picture = PILImage.open(io.BytesIO(page.png))
        assert picture.size == (WIDTH, HEIGHT)
        assert len({line.rsplit(" ", 2)[0] for line in page.lines}) == len(page.lines)
        for line in page.lines:
            label, x, y = line.rsplit(" ", 2)
            if label.startswith("- box "):
                pixel = picture.getpixel((int(x) * WIDTH // 1000, int(y) * HEIGHT // 1000))
                assert pixel == ImageColor.getrgb(label.removeprefix("- box "))
                boxes += 1
    assert boxes > 5


def test_the_loss_curve_has_twenty_points_and_every_step():
    points = learning.curve([float(n) for n in range(50)])
    assert (len(points), points[-1].step) == (20, 50)
    assert points[0] == learning.LossPoint(step=2, loss=0.5)
    assert learning.curve([3.0]) == [learning.LossPoint(1, 3.0)]


@pytest.mark.parametrize(
    "last, after, blank, failures",
    [(0.5, 0.9, 0.2, 0), (0.9, 0.9, 0.2, 1), (math.nan, 0.9, 0.2, 1), (0.5, 0.25, 0.2, 1), (0.9, 0.1, 0.2, 2)],
)
def test_learning_needs_a_lower_loss_and_more_than_guesses(last, after, blank, failures):
    curve = [learning.LossPoint(1, 1.0), learning.LossPoint(2, last)]
    figures = learning.Learning(9, 9, 9, 1.0, 2, 9, 9.0, 0.0, after, blank, curve)
    assert len(learning.reasons(figures, is_tiny=False)) == failures


def test_a_part_that_raises_is_reported_and_the_others_run():
    def broken(setting):
        raise ZeroDivisionError("a fault")

    report = run_parts(SETTING, ["last", "broken"], {"broken": broken, "last": lambda setting: Outcome(Count(7))})
    assert (report.passed, report.reasons) == (False, ["broken: it raised ZeroDivisionError: a fault"])
    assert report.parts["broken"].error == "ZeroDivisionError: a fault"
    assert "in broken" in report.parts["broken"].traceback
    assert report.parts["last"].figures == {"value": 7}


@pytest.mark.parametrize(
    ("name", "dtype"), [("base-model", "float32"), ("base-model", "bfloat16"), ("tiny", "bfloat16")]
)
def test_a_server_with_the_weights_before_a_change_would_exceed_the_limits(name, dtype):
    """The part `serving` can tell new weights from old ones."""
    vlm = exactness.model_named(name, SETTING, dtype)
    encoder = Encoder(vlm)
    samples = trajectory(encoder, 4, SHAPES["tiny"])
    with torch.no_grad():
        old = torch.cat(score(vlm, encoder, samples, SamplingParams(temperature=1.0), 16384)).tolist()
    assert generation.Agreement(**generation.agreement(vlm, encoder, samples, old)).reasons("unchanged") == []
    serving._change(vlm)
    after = generation.Agreement(**generation.agreement(vlm, encoder, samples, old))
    assert after.reasons("changed")


def test_a_part_that_leaves_the_gpu_unusable_is_the_last(monkeypatch):
    def broken(_):
        raise RuntimeError("CUDA error: misaligned address\nCompile with ...")

    monkeypatch.setattr("perf.gpu_check.report.free_memory", broken)
    parts = {"first": lambda _: Outcome(Count(1)), "second": lambda _: Outcome(Count(2))}
    report = run_parts(SETTING, ["first", "second"], parts)
    assert [*report.parts] == ["first"]
    assert report.reasons == ["first: it left the GPU unusable, so no later part ran: CUDA error: misaligned address"]


@pytest.mark.slow
def test_the_command_runs_without_browser_pipeline_and_installation(tmp_path):
    """In a process that cannot import what a machine with a GPU need not have."""
    output = tmp_path / "new" / "report.json"
    code = (
        f"import sys; sys.path.insert(0, '.'); sys.modules.update(dict.fromkeys({ABSENT!r})); "
        "from perf.gpu_check.__main__ import main; "
        "sys.exit(main(['--size', 'tiny', '--device', 'cpu', '--seconds', '20', '--vllm', 'absent', '--output', "
        f"{str(output)!r}]))"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-1500:]
    [line] = done.stdout.splitlines()
    report = json.loads(line)
    assert report == json.loads(output.read_text())
    assert report["passed"] is True
    assert list(report["parts"]) == ["exactness", "generation", "serving", "training", "learning"]
    assert "serving: absent does not exist, so vLLM was not checked" in report["warnings"]
    assert report["versions"]["torch"] == torch.__version__
    assert [row["sequences"] for row in report["parts"]["generation"]["figures"]["decoding"]] == [1, 8, 32] * 3
    assert len(report["parts"]["learning"]["figures"]["curve"]) == 20
