"""vLLM as the policy: what it answers is what the embedded policy would. `make test-vllm` runs these."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from dataclasses import replace

import httpx
import pytest
import torch

from components.agent import Request
from components.browser import BrowserPool
from components.judge.distilled import DistilledJudge
from components.judge.served import ServedJudge
from components.model import VLM, Encoder, Sample
from components.params import EndpointParams, FilteredBCParams, LoRAParams, RLPhase, SamplingParams
from components.policies import EndpointPolicy, open_model, training_policies
from components.policies.serving import server_settings
from components.policies.vllm import Fleet, ServerError, ServerMismatchError, VLLMPolicy
from components.ports import free_port
from components.training.forward import score
from components.training.learner import Learner
from components.training.rl import RLTrainer
from components.training.rl_rollouts import RolloutSetup
from components.training.workers import Workers
from components.worlds.miniwob.site import MiniWoBSite
from perf.gpu_check import serving
from perf.gpu_check.setting import Setting
from tests.policies.vllm_servers import BASE, GREEDY, HOT, ask, embedded, fleet_of, recipe, requests
from tests.samples import a_task, a_trajectory
from tests.samples import recipe as sampled_recipe
from tests.training import test_rl_resume
from tests.training.rl_child import TASKS, judge
from tests.vlm import TASK, observation, picture, renderer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

LORA = LoRAParams(rank=4, alpha=8)

taught = test_rl_resume.model


def test_greedy_answers_are_those_of_transformers(served, vlm, encoder):
    fleet, run = served
    asked = requests(encoder, GREEDY)
    theirs, ours = run(ask(VLLMPolicy(fleet, "v", encoder), asked)), embedded(vlm, asked)
    assert [one.token_ids for one in theirs] == [one.token_ids for one in ours]
    assert [one.text for one in theirs] == [one.text for one in ours]
    assert [one.finish_reason for one in theirs] == [one.finish_reason for one in ours]


def test_the_judge_on_servers_gives_the_verdicts_of_the_process(served, vlm):
    fleet, run = served
    params = sampled_recipe(
        agent__prompt="compact", judge__distill__max_response_tokens=24, judge__distill__screenshots=1
    )
    trajectories = [a_trajectory(a_task(seed), turns=1 + seed % 2) for seed in range(4)]
    theirs = run(ServedJudge(VLLMPolicy(fleet, "v", Encoder(vlm)), params)(trajectories))
    ours = DistilledJudge(vlm, "v", params).judge(trajectories)
    assert [verdict.rationale for verdict in theirs] == [verdict.rationale for verdict in ours]
    assert [verdict.outcome for verdict in theirs] == [verdict.outcome for verdict in ours]
    assert [verdict.tokens for verdict in theirs] == [verdict.tokens for verdict in ours]


@pytest.mark.parametrize("sampling", [HOT, SamplingParams(temperature=1.0, top_p=0.75)])
def test_log_probabilities_are_those_that_the_trainer_computes(served, vlm, encoder, sampling):
    fleet, run = served
    asked = requests(encoder, sampling, 16)
    answers = run(ask(VLLMPolicy(fleet, "v", encoder), asked))
    assert len({tuple(one.token_ids) for one in answers}) > 8, "nothing was sampled"
    samples = [Sample(encoder.encode(r.prompt), one.token_ids) for r, one in zip(asked, answers, strict=True)]
    for one, trainer_T in zip(answers, score(vlm, encoder, samples, sampling, 8192), strict=True):
        assert one.logprobs == pytest.approx(trainer_T.tolist(), abs=1e-3)


def test_the_same_request_gives_the_same_response(served, encoder):
    fleet, run = served
    policy, asked = VLLMPolicy(fleet, "v", encoder), requests(encoder, HOT, 4)
    first = run(ask(policy, asked))
    time.sleep(6)  # the server closes connections that were idle for five seconds
    again = run(ask(policy, asked[::-1]))[::-1]
    assert [one.token_ids for one in first] == [one.token_ids for one in again]


def test_a_server_that_sees_other_tokens_stops_the_run(served, vlm, encoder):
    """A trainer that encodes images in another size than the server: what it scores is not what was sampled from."""
    fleet, run = served
    processor = type(vlm.images).from_pretrained(BASE, size={"shortest_edge": 1024, "longest_edge": 96 * 64})
    other = Encoder(VLM(vlm.model, vlm.tokenizer, processor))
    assert (
        other.encode(requests(encoder, GREEDY, 1)[0].prompt).ids
        != encoder.encode(requests(encoder, GREEDY, 1)[0].prompt).ids
    )
    other.vision.for_server = encoder.vision.for_server
    with pytest.raises(ServerMismatchError, match="the server read"):
        run(ask(VLLMPolicy(fleet, "v", other), requests(encoder, GREEDY, 1)))


def test_a_server_that_sees_other_pixels_stops_the_run(served, encoder, monkeypatch):
    """A screenshot of the right size, with as many tokens, and another page on it."""
    fleet, run = served
    for_server = encoder.vision.for_server

    def another(image):
        return replace(for_server(image), png=for_server(picture(99)).png)

    monkeypatch.setattr(encoder.vision, "for_server", another)
    request = Request(renderer().prompt(TASK, [], observation(0)), (), GREEDY, 4, 0)
    with pytest.raises(ServerMismatchError, match="other pixels"):
        run(ask(VLLMPolicy(fleet, "v", encoder), [request]))


def test_new_weights_answer_all_later_requests(served, vlm, encoder, tmp_path):
    fleet, run = served
    policy, asked = VLLMPolicy(fleet, "v", encoder), requests(encoder, GREEDY, 4)
    before = run(ask(policy, asked))
    changed = vlm.frozen_copy()
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in changed.model.parameters():
            parameter.mul_(1 + 0.2 * torch.randn_like(parameter))
    changed.save(tmp_path / "changed")
    run(fleet.load(tmp_path / "changed"))
    after = run(ask(policy, asked))
    assert [one.token_ids for one in after] == [one.token_ids for one in embedded(changed, asked)]
    assert [one.token_ids for one in after] != [one.token_ids for one in before]
    run(fleet.load(BASE))
    assert [one.token_ids for one in run(ask(policy, asked))] == [one.token_ids for one in before]


def test_rl_trains_on_what_vllm_sampled_with_its_own_weights(taught, tmp_path):
    """Two iterations: the second is sampled with the weights of the first update, or the trainer would object.

    Behaviour cloning learns from any success, so that each iteration has an update however its attempts come out.
    """
    params = recipe()
    groups = {"effective_groups": 2, "max_sampled_groups": 6, "group_size": 4, "batch_turns": 4, "lr": 1e-4}
    objective = {"objective": FilteredBCParams(drop_repeats=False)}
    params = params.model_copy(update={"rl": params.rl.model_copy(update=groups | objective)})
    mine, before = VLM.load(taught, params.model), VLM.load(taught, params.model)
    learner = Learner.begin(mine, params)
    heard: list[dict[str, float]] = []

    async def main():
        async with (
            BrowserPool(params.browser, site=MiniWoBSite(), text="elements") as pool,
            training_policies(mine, learner.encoder, taught, params, tmp_path) as open_policy,
        ):
            say, report = lambda *said: None, lambda figures, *rest: heard.append(figures)
            phase = RLPhase(iterations=2, max_steps=1)
            learners = Workers().replicate(lambda workers: learner)
            setup = RolloutSetup(TASKS, pool, open_policy, judge)
            await RLTrainer(learners, phase, "test", setup, tmp_path, say, report).run()

    asyncio.run(main())
    assert [one["iteration"] for one in heard] == [1, 2]
    assert all(one["steps"] > 0 for one in heard)
    assert max(one["logprob_gap_max"] for one in heard) < 1e-3
    moved = max(
        (a - b).abs().max().item() for a, b in zip(mine.model.parameters(), before.model.parameters(), strict=True)
    )
    assert moved > 1e-4, "the weights are the same, and a server that kept the old ones would go unnoticed"
    assert not (tmp_path / "served").exists()


@pytest.mark.exhaustive
def test_a_stages_policy_needs_no_weights_in_its_own_process(vlm, encoder, tmp_path):
    asked = requests(encoder, GREEDY, 2)

    async def main():
        async with open_model(BASE, recipe(), "v", tmp_path) as policy:
            assert policy._encoder.device.type == "meta"
            return await ask(policy, asked), [policy.prompt_tokens(request.prompt) for request in asked]

    answers, lengths = asyncio.run(main())
    assert [one.token_ids for one in answers] == [one.token_ids for one in embedded(vlm, asked)]
    assert lengths == [encoder.length(request.prompt) for request in asked]


@pytest.mark.exhaustive
def test_an_adapter_that_is_swapped_in_answers_at_once(vlm, encoder, tmp_path):
    """Two adapters one after the other, then a server that dies: its successor answers with the second."""
    params = recipe()
    params = params.model_copy(update={"model": params.model.model_copy(update={"lora": LORA})})
    asked = requests(encoder, GREEDY, 4)
    wanted, plain = [], embedded(vlm, asked)
    for number in range(2):
        adapted = VLM.load(BASE, params.model)
        adapted.add_lora(LORA, seed=number)
        torch.manual_seed(number)
        with torch.no_grad():
            for parameter in adapted.trainable():
                parameter.add_(0.1 * torch.randn_like(parameter))
        adapted.save_adapter(tmp_path / str(number))
        wanted.append(embedded(adapted, asked))

    async def main():
        async with fleet_of(BASE, tmp_path, params) as fleet:
            policy = VLLMPolicy(fleet, "v", encoder)
            yield await ask(policy, asked)
            for number in range(2):
                await fleet.load_adapter(tmp_path / str(number))
                yield await ask(policy, asked)
            os.kill(fleet.pids[0], signal.SIGKILL)
            yield await ask(policy, asked)

    async def answers():
        return [found async for found in main()]

    for found, expected in zip(asyncio.run(answers()), [plain, *wanted, wanted[1]], strict=True):
        assert [one.token_ids for one in found] == [one.token_ids for one in expected]
    texts = [tuple(one.text for one in found) for found in (plain, *wanted)]
    assert len(set(texts)) == 3, "the adapters change nothing"


@pytest.mark.exhaustive
def test_vllms_own_openai_server_is_an_endpoint_and_gets_no_weights(encoder, tmp_path, monkeypatch):
    port = free_port()
    options = [
        "--enforce-eager",
        "--dtype",
        "float32",
        "--max-model-len",
        "2048",
        "--kv-cache-memory-bytes",
        str(2**28),
    ]
    images = ["--limit-mm-per-prompt", '{"image": 1, "video": 0}', "--served-model-name", "base"]
    command = [".venv-vllm/bin/python", "-m", "vllm.entrypoints.openai.api_server", "--model", str(BASE)]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, *options, *images, "--port", str(port)], stdout=log, stderr=log, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        while True:
            assert server.poll() is None, (tmp_path / "log").read_text()[-2000:]
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                    break
            time.sleep(0.5)
        params = EndpointParams(url=f"{url}/v1", model="base", key_variable=None)

        async def main():
            async with EndpointPolicy(params, tmp_path / "spent.json") as policy:
                asked = Request(renderer().prompt(TASK, [], observation(1)), (), GREEDY, 40, 0)
                return await policy.complete(asked), policy.spent, asked

        done, spent, asked = asyncio.run(main())
        monkeypatch.setenv("WAYMARK_VLLM_KEY", "k" * 16)
        settings = server_settings(recipe())
        settings = replace(settings, vllm=settings.vllm.model_copy(update={"urls": [url]}))
        with pytest.raises(ServerError, match=r"is vLLM's own server 0\.\d+.*start `waymark serve` there"):
            asyncio.run(Fleet(BASE, settings, tmp_path).__aenter__())
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert done.text.startswith("<think>")
    assert done.token_ids == []
    ours = encoder.length(asked.prompt)
    assert abs(spent.prompt_tokens - ours) <= 4, "the server writes the same prompt by the model's template"


@pytest.mark.exhaustive
def test_the_gpu_check_compares_served_responses_with_the_trainer():
    """Also after new weights, in the sizes for a CPU."""
    outcome = serving.check(Setting("cpu", "tiny", learning_s=1.0, training_s=1.0))
    assert outcome.reasons == outcome.warnings == []
    responses = [(batch.weights, batch.requests, batch.tokens) for batch in outcome.figures.responses]
    assert responses == [("start", 1, 12), ("start", 1, 12), ("start", 8, 96), ("disk", 8, 96)]
    assert [change.what for change in outcome.figures.changes] == ["start", "disk"]
    assert all(0 < batch.largest < batch.largest_limit for batch in outcome.figures.responses)
