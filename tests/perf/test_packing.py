"""The benchmark of packing, on shapes small enough to try."""

from __future__ import annotations

import argparse
import json
import sys

import pytest
from torch.utils.flop_counter import FlopCounterMode

from components.model import Encoded, Encoder, Sample
from components.training.forward import response_logprobs
from perf import packing
from perf.training_workload import TrajectoryShape, training_flops
from tests.vlm import random_vlm

SHAPES = TrajectoryShape(system=20, screenshot=(64, 64), response=5, feedback=3)
SCREENSHOT = 4 + 2
"""Tokens of a screenshot: 32 px a token, and its two marks."""
OPTIONS = argparse.Namespace(
    model="tiny", device="cpu", layers=None, feedback=None, row_tokens=64, repeats=1, turns=[1, 2], peak_tflops=1e-3
)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(packing, "random_model", lambda model, device, layers: random_vlm())
    monkeypatch.setitem(packing.SHAPES, "tiny", SHAPES)


@pytest.mark.parametrize("form", packing.FORMS)
def test_every_form_measures_each_length_in_one_process(tiny, form, capsys):
    packing.measure(form, OPTIONS)
    one, two = map(json.loads, capsys.readouterr().out.splitlines())
    first = 20 + SCREENSHOT + 5 - 1  # the last token of a response predicts nothing
    assert (one["turns"], one["tokens"]) == (1, first)
    history = 5 + 3
    second = {"naive": first + history, "dense": history + SCREENSHOT + 5 - 1}
    second["ours"] = second["dense"]
    assert (two["turns"], two["tokens"]) == (2, first + second[form])
    assert one["s"] > 0
    assert one["tflops"] > 0


@pytest.mark.parametrize("form", packing.FORMS)
def test_no_tokens_are_counted_while_the_clock_runs(monkeypatch, form):
    def pack(*args, **kwargs):
        raise AssertionError("counting tokens is no part of training")

    vlm = random_vlm()
    samples = packing.trajectory(Encoder(vlm), 2, SHAPES)
    monkeypatch.setattr(packing, "pack", pack)
    packing.passes(vlm, Encoder(vlm), samples, form, 64)
    assert any(parameter.grad is not None for parameter in vlm.trainable())


def test_a_form_that_fails_keeps_the_others_and_its_earlier_figures():
    measurements = packing.Measurements([5, 30])
    figures = {"s": 2.0, "tokens": 100, "tflops": 5e-4, "peak_mib": 10.4}
    for turns in (5, 30):
        for form in ("ours", "naive") if turns == 5 else ("ours",):
            measurements.figures[turns][form].append({**figures, "s": 6.0 if form == "naive" else 2.0})
    options = argparse.Namespace(device="cuda", peak_tflops=1e-3)
    assert measurements.summary(5, options) == {
        "naive_s": 6.0, "dense_s": None, "ours_s": 2.0, "ratio": 3.0, "tokens_naive": 100, "tokens_ours": 100,
        "peak_mib": {"naive": 10, "dense": None, "ours": 10},
        "tokens_s": {"naive": 17, "dense": None, "ours": 50}, "mfu": {"naive": 0.5, "dense": None, "ours": 0.5},
    }  # fmt: skip
    assert (measurements.summary(30, options)["naive_s"], measurements.summary(30, options)["ratio"]) == (None, None)


@pytest.mark.parametrize(
    "then, limit_s, problem",
    [
        ("raise MemoryError('CUDA out of memory')", None, "MemoryError: CUDA out of memory"),
        ("import time; time.sleep(60)", 3.0, "--limit-s ended it after 3 s"),
        ("raise SystemExit(3)", None, "ended with 3"),
        ("", None, None),
    ],
)
def test_figures_printed_before_a_process_failed_count(then, limit_s, problem):
    command = [sys.executable, "-c", f"print('one', flush=True)\n{then}"]
    assert packing.run_command(command, limit_s) == (["one"], problem)


def test_arithmetic_is_that_of_the_products_with_weights():
    """Against torch's own count, in a model whose embedding is half of its weights."""
    vlm = random_vlm()
    vlm.model.zero_grad()
    encoder = Encoder(vlm)
    sample = Sample(Encoded(list(range(20, 120)), []), list(range(200, 210)))
    with FlopCounterMode(display=False) as counted:
        (-response_logprobs(vlm, encoder, [sample])[0].sum()).backward()
    by_name = {str(name): flops for name, flops in counted.get_flop_counts()["Global"].items()}
    products = sum(flops for name, flops in by_name.items() if name in ("aten.mm", "aten.addmm"))
    norms = 0.02
    assert training_flops(vlm, tokens=109, predicted=10) == pytest.approx(products, rel=norms)
    embedding = vlm.model.lm_head.weight.numel()
    assert embedding > 0.3 * sum(p.numel() for p in vlm.model.model.language_model.parameters())
