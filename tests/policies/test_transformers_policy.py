"""Sampling: exact ids, log-probabilities of the distribution that was drawn from, and no bit that depends on others."""

import asyncio
import copy
import math
import random
import threading
import time

import pytest
import torch

from components.agent import Request
from components.model import Encoder, Sample
from components.params import ImageCacheParams, SamplingParams
from components.policies import TransformersPolicy
from components.policies.drafts import NgramDrafts
from components.policies.generation import Generation, Row, generate_batch
from components.policies.row_cache import BLOCK
from components.policies.token_sampling import sample_tokens
from components.training.forward import response_logprobs
from tests.vlm import TASK, observation, random_vlm, renderer

HOT = SamplingParams(temperature=0.8)
SIZE = (128, 96)
"""Of a screenshot, in pixels. It has 12 tokens; with fewer, two threads round as one does not."""


@pytest.fixture(scope="module")
def vlm():
    return random_vlm()


def rows(encoder: Encoder, count: int, sampling: SamplingParams = HOT) -> list[Row]:
    texts = ['- button "ok" 512 86', '- button "ok" 512 86\n- button "cancel" 3 4', None]
    prompts = [renderer().prompt(TASK, [], observation(i, texts[i % 3], SIZE)) for i in range(count)]
    return [Row(encoder.encode(prompt), sampling, 12, seed=i) for i, prompt in enumerate(prompts)]


@pytest.mark.parametrize("sampling", [HOT, SamplingParams(top_p=0.6), SamplingParams(temperature=1.2, top_k=5)])
def test_trainer_and_rollout_agree_on_every_token(vlm, sampling):
    encoder = Encoder(vlm)
    asked = rows(encoder, 5, sampling)
    completions = generate_batch(vlm, encoder, asked)
    samples = [Sample(row.prompt, completion.token_ids) for row, completion in zip(asked, completions, strict=True)]
    for ours, theirs in zip(response_logprobs(vlm, encoder, samples, sampling), completions, strict=True):
        assert ours.tolist() == pytest.approx(theirs.logprobs, abs=2e-5)


def test_no_bit_of_a_response_depends_on_its_batch(vlm):
    encoder = Encoder(vlm)
    asked = rows(encoder, 6)
    together = generate_batch(vlm, encoder, asked)
    assert together == [generate_batch(vlm, Encoder(vlm), [row])[0] for row in asked]


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    """Threads of a product: each computes a part of its rows."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_no_bit_depends_on_when_rows_join_and_how_long_they_are(vlm, seed, threads):
    rng = random.Random(seed)
    encoder, drafts = Encoder(vlm), NgramDrafts()
    texts = [
        "\n".join(f'- link "item {rng.randrange(99)}" {n} 7' for n in range(lines)) for lines in (0, 3, 12, 40, 90)
    ]
    pages = [observation(number % 3, rng.choice(texts), SIZE) for number in range(14)]
    prompts = [renderer().prompt(TASK, [], page) for page in pages]
    asked = [Row(encoder.encode(prompt), HOT, rng.randint(1, 16), seed=n) for n, prompt in enumerate(prompts)]
    assert max(len(row.prompt.ids) for row in asked) > BLOCK > min(len(row.prompt.ids) for row in asked)
    waiting, generation = list(asked), Generation(vlm, encoder, drafts)
    while waiting or generation:
        if waiting and rng.random() < 0.4:
            joining = [waiting.pop() for _ in range(min(len(waiting), rng.randint(1, 4)))]
            generation.merge(Generation.prefill(vlm, encoder, joining, drafts))
        if generation:
            generation.step()
    found = dict(generation.ended)
    for row in asked:
        assert found[row] == generate_batch(vlm, Encoder(vlm), [row])[0]


def test_the_work_of_all_responses_is_at_most_the_time_they_took(vlm):
    encoder = Encoder(vlm)
    began = time.perf_counter()
    works = [completion.work for completion in generate_batch(vlm, encoder, rows(encoder, 5))]
    took_s = time.perf_counter() - began
    assert 0.1 * took_s < sum(work.vision_s + work.prefill_s + work.decode_s for work in works) <= took_s
    assert all(min(work.vision_s, work.prefill_s, work.decode_s) > 0 for work in works)
    again_s = min(
        sum(completion.work.vision_s for completion in generate_batch(vlm, encoder, rows(encoder, 5))) for _ in range(5)
    )
    assert sum(work.vision_s for work in works) > again_s, "the features were cached"


def test_a_response_ends_at_its_end_token_or_its_limit(vlm):
    encoder = Encoder(vlm)
    unended, *_ = generate_batch(vlm, encoder, rows(encoder, 1))
    encoder.end_id = unended.token_ids[5]  # the model has random weights and does not sample its own
    completions = generate_batch(vlm, encoder, rows(encoder, 6))
    assert {completion.finish_reason for completion in completions} == {"stop", "length"}
    for completion in completions:
        assert (completion.finish_reason == "stop") == (completion.token_ids[-1] == encoder.end_id)
        assert len(completion.token_ids) == 12 or completion.finish_reason == "stop"
        assert encoder.end_id not in completion.token_ids[:-1]


def test_the_screenshot_reaches_the_model(vlm):
    encoder = Encoder(vlm)
    one, other = (Sample(encoder.encode(renderer().prompt(TASK, [], observation(seed))), [300, 301]) for seed in (1, 2))
    assert one.prompt.ids == other.prompt.ids
    a, b = response_logprobs(vlm, encoder, [one, other])
    assert not torch.allclose(a, b, atol=1e-6)


def test_temperature_is_in_the_log_probabilities():
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25]]))
    # at T = 0.5 probabilities go with their squares: 4/6, 1/6, 1/6
    ids, logprobs = sample_tokens(logits, [SamplingParams(temperature=0.5)], [0.1])
    assert ids.tolist() == [0]
    assert logprobs.item() == pytest.approx(math.log(4 / 6), abs=1e-6)


def test_drawing_follows_the_cumulative_distribution():
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25]])).repeat(4, 1)
    ids, _ = sample_tokens(logits, [SamplingParams()] * 4, [0.49, 0.51, 0.74, 0.9999])
    assert ids.tolist() == [0, 1, 1, 2]


def test_top_k_and_top_p_renormalise():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.2]]))
    _, top_k = sample_tokens(logits, [SamplingParams(top_k=2)], [0.0])
    _, top_p = sample_tokens(logits, [SamplingParams(top_p=0.6)], [0.0])
    assert top_k.item() == top_p.item() == pytest.approx(math.log(0.5 / 0.8), abs=1e-6)
    ids, _ = sample_tokens(logits, [SamplingParams(top_k=2)], [0.9999])
    assert ids.tolist() == [1]


def test_temperature_0_is_greedy():
    logits = torch.tensor([[0.0, 3.0, 1.0]])
    ids, _ = sample_tokens(logits, [SamplingParams(temperature=0)], [0.9999])
    assert ids.tolist() == [1]


def test_a_failing_model_raises_in_its_callers_and_serves_on(vlm):
    async def main() -> list[object]:
        policy = TransformersPolicy(vlm, "v")
        good = Request(renderer().prompt(TASK, [], observation(1)), (), HOT, 3, 1)
        bad = Request(good.prompt, (), HOT, 3, -1)  # no seed of NumPy's
        async with policy:
            first = await asyncio.gather(policy.complete(bad), return_exceptions=True)
            second = await policy.complete(good)
        return [first[0], second]

    broken, fine = asyncio.run(main())
    assert isinstance(broken, ValueError)
    assert len(fine.token_ids) >= 1


def test_the_pixel_cache_is_bounded_and_changes_nothing(vlm):
    generous, none = Encoder(vlm), Encoder(vlm, ImageCacheParams(memory_gib=0))
    for encoder in (generous, none):
        first = [encoder.vision.pixels(observation(seed).screenshot)[0] for seed in (1, 2, 1)]
        assert torch.equal(first[0], first[2])
        assert not torch.equal(first[0], first[1])
    assert torch.equal(
        generous.vision.pixels(observation(1).screenshot)[0], none.vision.pixels(observation(1).screenshot)[0]
    )


def test_features_follow_the_current_weights_of_the_tower(vlm):
    model = copy.deepcopy(vlm)
    encoder, images = Encoder(model), [observation(1).screenshot]
    with torch.no_grad():
        first = encoder.vision.features(images)["image"].pooler_output[0]
        again = encoder.vision.features(images)["image"].pooler_output[0]
        assert torch.equal(again, first)
        model.model.model.visual.patch_embed.proj.weight.mul_(1.5)
        assert not torch.allclose(encoder.vision.features(images)["image"].pooler_output[0], first)
    assert encoder.vision.features(images)["image"].pooler_output[0].requires_grad
    model.freeze_vision()
    assert not encoder.vision.features(images)["image"].pooler_output[0].requires_grad


def test_attempts_at_one_prompt_are_each_sampled_as_if_alone(vlm):
    encoder = Encoder(vlm)
    prompts = [encoder.encode(renderer().prompt(TASK, [], observation(i % 2))) for i in range(6)]
    asked = [Row(prompt, HOT, 12, seed=i) for i, prompt in enumerate(prompts)]
    together = generate_batch(vlm, encoder, asked)
    alone = [generate_batch(vlm, encoder, [row])[0] for row in asked]
    assert together == alone
    assert len({tuple(c.token_ids) for c in together}) > 2


def test_policy_and_trainer_both_exclude_image_placeholders(vlm):
    encoder = Encoder(vlm)
    eager = Encoder(vlm)
    wanted = vlm.model.config.image_token_id
    index = torch.tensor([wanted])
    eager.mask_placeholders = lambda logits: encoder.mask_placeholders(logits.index_fill(-1, index, 1e4))
    asked = rows(encoder, 3)
    completions = generate_batch(vlm, eager, asked)
    assert all(wanted not in completion.token_ids for completion in completions)
    samples = [Sample(row.prompt, completion.token_ids) for row, completion in zip(asked, completions, strict=True)]
    for ours, theirs in zip(response_logprobs(vlm, encoder, samples, HOT), completions, strict=True):
        assert ours.tolist() == pytest.approx(theirs.logprobs, abs=2e-5)


def test_rows_that_join_and_leave_are_sampled_as_if_alone(vlm):
    encoder = Encoder(vlm)
    asked = [Row(row.prompt, HOT, 4 + 3 * (i % 4), seed=i) for i, row in enumerate(rows(encoder, 9))]
    generation = Generation.prefill(vlm, encoder, asked[:3], NgramDrafts())
    for begin in (3, 5, 8):
        generation.step()
        generation.step()
        generation.merge(Generation.prefill(vlm, encoder, asked[begin : {3: 5, 5: 8, 8: 9}[begin]], NgramDrafts()))
    while generation:
        generation.step()
    found = dict(generation.ended)
    for row in asked:
        assert found[row] == generate_batch(vlm, encoder, [row])[0]


class Silent(NgramDrafts):
    """No guess at all."""

    def draft(self, ids, count):
        return []


class Corrupt(NgramDrafts):
    """Guesses of which every third is wrong."""

    def draft(self, ids, count):
        right = super().draft(ids, count)
        return [token if (len(ids) + n) % 3 else token + 1 for n, token in enumerate(right)]


def decoded(vlm, encoder: Encoder, asked: list[Row], drafts: NgramDrafts) -> tuple[list, int]:
    generation, steps = Generation.prefill(vlm, encoder, asked, drafts), 0
    while generation:
        generation.step()
        steps += 1
    found = dict(generation.ended)
    return [found[row] for row in asked], steps


@pytest.mark.parametrize("kind, fewer", [(NgramDrafts, 3), (Corrupt, 1.3)])
@pytest.mark.parametrize("sampling", [HOT, SamplingParams(temperature=0.0), SamplingParams(top_p=0.9)])
def test_guesses_save_steps_and_change_no_response(vlm, kind, fewer, sampling):
    encoder = Encoder(vlm)
    asked = [Row(row.prompt, sampling, 8 + 5 * (i % 4), seed=i) for i, row in enumerate(rows(encoder, 6))]
    plain, steps = decoded(vlm, encoder, asked, Silent())
    drafts = kind()
    for completion in plain:
        drafts.learn(completion.token_ids)
        drafts.learn(completion.token_ids)
    guessed, steps_with = decoded(vlm, encoder, asked, drafts)
    assert steps_with * fewer < steps
    assert guessed == plain


def test_drafts_guess_sequences_that_occurred_twice():
    drafts = NgramDrafts()
    drafts.learn([1, 2, 3, 4, 5])
    assert drafts.draft([], 9) == []
    drafts.learn([1, 2, 3, 4, 6])
    assert drafts.draft([], 9) == [1, 2, 3, 4]
    assert drafts.draft([1, 2, 3], 9) == [4]
    assert drafts.draft([1], 2) == [2, 3]
    drafts.learn([1, 2, 3, 7])
    assert drafts.draft([], 9) == [1, 2, 3]


def test_dropped_rows_do_not_affect_the_others(vlm):
    encoder = Encoder(vlm)
    asked = rows(encoder, 4)
    generation = Generation.prefill(vlm, encoder, asked, NgramDrafts())
    generation.step()
    generation.drop({asked[0], asked[2]})
    while generation:
        generation.step()
    found = dict(generation.ended)
    for row in (asked[1], asked[3]):
        assert found[row] == generate_batch(vlm, encoder, [row])[0]


def test_requests_at_any_time_get_the_response_of_an_idle_policy(vlm):
    asked = [Request(renderer().prompt(TASK, [], observation(i)), (), HOT, 3 + 5 * (i % 3), seed=i) for i in range(12)]

    async def busy() -> list[list[int]]:
        async def later(index: int) -> list[int]:
            await asyncio.sleep(0.02 * (index % 5))
            return (await policy.complete(asked[index])).token_ids

        async with TransformersPolicy(vlm, "v", max_batch=4) as policy:
            return await asyncio.gather(*(later(index) for index in range(len(asked))))

    async def quiet() -> list[list[int]]:
        async with TransformersPolicy(vlm, "v") as policy:
            return [(await policy.complete(request)).token_ids for request in asked]

    assert asyncio.run(busy()) == asyncio.run(quiet())


def test_responses_of_one_token_end_nothing_else(vlm):
    asked = [Request(renderer().prompt(TASK, [], observation(i)), (), HOT, 1, seed=i) for i in range(3)]

    async def main() -> list[list[int]]:
        async with TransformersPolicy(vlm, "v") as policy:
            alone = await policy.complete(asked[0])
            both = await asyncio.gather(*(policy.complete(request) for request in asked[1:]))
            longer = await policy.complete(Request(asked[0].prompt, (), HOT, 4, seed=0))
            return [answer.token_ids for answer in (alone, *both, longer)]

    alone, *both, longer = asyncio.run(main())
    assert [len(tokens) for tokens in (alone, *both)] == [1, 1, 1]
    assert longer[:1] == alone


def test_a_failed_or_cancelled_request_does_not_affect_others(vlm, monkeypatch):
    joined, merge = threading.Semaphore(0), Generation.merge

    def announced(generation: Generation, other: Generation) -> None:
        merge(generation, other)
        joined.release()

    async def main() -> tuple[object, object, list[int], list[int]]:
        prompt = renderer().prompt(TASK, [], observation(1))
        async with TransformersPolicy(vlm, "v") as policy:
            good = asyncio.create_task(policy.complete(Request(prompt, (), HOT, 200, 7)))
            await asyncio.to_thread(joined.acquire)
            given_up = asyncio.create_task(policy.complete(Request(prompt, (), HOT, 4000, 8)))
            await asyncio.to_thread(joined.acquire)  # requests that join together fail together
            bad = asyncio.create_task(policy.complete(Request(prompt, (), HOT, 3, -1)))
            await asyncio.wait([bad])
            given_up.cancel()
            ended = await asyncio.gather(given_up, bad, return_exceptions=True)
            with_others = (await good).token_ids
            return *ended, with_others, (await policy.complete(Request(prompt, (), HOT, 200, 7))).token_ids

    monkeypatch.setattr(Generation, "merge", announced)
    given_up, bad, with_others, alone = asyncio.run(main())
    assert isinstance(given_up, asyncio.CancelledError)
    assert isinstance(bad, ValueError)
    assert with_others == alone
