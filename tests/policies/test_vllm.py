"""vLLM as the policy: real servers on the CPU, with the shipped model. `make test-vllm` runs these."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest
import torch

from components.agent import EpisodeSettings, Request
from components.agent.rendering import Prompt, Text
from components.browser import BrowserPool
from components.params import EndpointParams, LoRAParams, Params, RLPhase, SamplingParams, load
from components.policies import VLM, Encoder, EndpointPolicy, Sample, TransformersPolicy, follow, open_model
from components.policies.vllm import Fleet, ServerError, ServerMismatch, VLLMPolicy
from components.records import Trajectory, Turn
from components.rollout import collect, specs
from components.sites import MiniWoB
from components.store import Journal
from components.training.forward import score
from components.training.learner import Learner
from components.training.rl import train_rl
from components.training.team import Team
from tests.training import test_rl_resume
from tests.training.rl_child import TASKS, judge
from tests.vlm import TASK, observation, picture, renderer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

BASE = Path("data/base_model")
GREEDY, HOT = SamplingParams(temperature=0.0), SamplingParams(temperature=0.8)
ENGINE = {"enforce_eager": True, "max_num_seqs": 16, "kv_cache_memory_bytes": 2**28}

LORA = LoRAParams(rank=4, alpha=8)

taught = test_rl_resume.model


def recipe(**engine: object) -> Params:
    params = load("recipes/smoke.yaml")
    vllm = params.inference.vllm.model_copy(update={"engine": {**ENGINE, **engine}, "start_timeout_s": 300})
    inference = params.inference.model_copy(update={"engine": "vllm", "vllm": vllm})
    agent = params.agent.model_copy(update={"max_context_tokens": 2048, "max_response_tokens": 40})
    return params.model_copy(update={"inference": inference, "agent": agent})


def fleet_of(path: Path, work: Path, params: Params | None = None) -> Fleet:
    params = params or recipe()
    return Fleet(path, params.model, params.inference.vllm, params.agent.max_context_tokens, 1, work)


def alive(group: int) -> list[psutil.Process]:
    """Processes of a process group."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.Error):
            continue
    return found


def gone(group: int, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while alive(group) and time.monotonic() < end:
        time.sleep(0.2)
    return not alive(group)


@pytest.fixture(scope="module")
def vlm() -> VLM:
    return VLM.load(BASE, load("recipes/smoke.yaml").model)


@pytest.fixture(scope="module")
def encoder(vlm) -> Encoder:
    return Encoder(vlm)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A running fleet, and `run` to run coroutines in the loop that it lives in."""
    with asyncio.Runner() as runner:
        fleet = fleet_of(BASE, tmp_path_factory.mktemp("served"))
        runner.run(fleet.__aenter__())
        yield fleet, runner.run
        runner.run(fleet.__aexit__())


def requests(encoder: Encoder, sampling: SamplingParams, count: int = 8) -> list[Request]:
    """Prompts of a second turn: a recorded response stands in the history, in ids that no tokenizer would choose."""
    found = []
    for index in range(count):
        page = observation(index, f'- button "ok" {index} 86\n- text "Click {index}"')
        page = page.model_copy(update={"screenshot": picture(index, 160 + 24 * (index % 3), 210)})
        oddly = [*(token for letter in "Click" for token in encoder.tokens(letter)), encoder.end_id]
        turn = Turn(
            index=0, observation=page, prompt_sha256="", prompt_tokens=1, response="Click", token_ids=oddly,
            logprobs=[0.0] * len(oddly), finish_reason="stop", tool_calls=[], feedback=["Failed: no"], parse_error="no",
            timings={},
        )  # fmt: skip
        found.append(Request(renderer().prompt(TASK, [turn], page), (turn,), sampling, 40, seed=index))
    return found


async def ask(policy: VLLMPolicy | TransformersPolicy, asked: list[Request]) -> list:
    return await asyncio.gather(*(policy.complete(request) for request in asked))


def embedded(vlm: VLM, asked: list[Request]) -> list:
    async def main():
        async with TransformersPolicy(vlm, "v") as policy:
            return await ask(policy, asked)

    return asyncio.run(main())


def test_greedy_answers_are_those_of_transformers(served, vlm, encoder):
    fleet, run = served
    asked = requests(encoder, GREEDY)
    theirs, ours = run(ask(VLLMPolicy(fleet, "v", encoder), asked)), embedded(vlm, asked)
    assert [one.token_ids for one in theirs] == [one.token_ids for one in ours]
    assert [one.text for one in theirs] == [one.text for one in ours]
    assert [one.finish_reason for one in theirs] == [one.finish_reason for one in ours]


def test_log_probabilities_are_those_that_the_trainer_computes(served, vlm, encoder):
    fleet, run = served
    asked = requests(encoder, HOT, 16)
    answers = run(ask(VLLMPolicy(fleet, "v", encoder), asked))
    assert len({tuple(one.token_ids) for one in answers}) > 8, "nothing was sampled"
    samples = [Sample(encoder.encode(r.prompt), one.token_ids) for r, one in zip(asked, answers, strict=True)]
    for one, trainer_T in zip(answers, score(vlm, encoder, samples, HOT.temperature, 8192), strict=True):
        assert one.logprobs == pytest.approx(trainer_T.tolist(), abs=1e-3)


def test_the_same_request_gives_the_same_response(served, encoder):
    fleet, run = served
    policy, asked = VLLMPolicy(fleet, "v", encoder), requests(encoder, HOT, 4)
    first = run(ask(policy, asked))
    time.sleep(6)  # the server closes connections that nobody used for five seconds
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
    blind = VLLMPolicy(fleet, "v", encoder)
    other.vision.as_seen = encoder.vision.as_seen
    blind._encoder = other
    with pytest.raises(ServerMismatch, match="the server saw"):
        run(ask(blind, requests(encoder, GREEDY, 1)))


def test_a_request_that_the_server_refuses_is_an_error_that_says_why(served, encoder):
    fleet, run = served
    long = Prompt((Text("never ending " * 3000),))
    with pytest.raises(ServerError, match=r"refused .* maximum context length"):
        run(ask(VLLMPolicy(fleet, "v", encoder), [Request(long, (), GREEDY, 4, 0)]))


def test_new_weights_answer_from_then_on(served, vlm, encoder, tmp_path):
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


@pytest.mark.parametrize("victim", ["server", "engine"])
def test_a_killed_server_is_started_again_and_no_request_is_lost(served, vlm, encoder, victim):
    fleet, run = served
    asked = requests(encoder, GREEDY, 24)

    async def main():
        answers = asyncio.gather(*(VLLMPolicy(fleet, "v", encoder).complete(request) for request in asked))
        await asyncio.sleep(0.3)
        (pid,) = fleet.pids
        if victim == "server":
            os.kill(pid, signal.SIGKILL)
        else:
            for child in psutil.Process(pid).children(recursive=True):
                child.kill()
        return await answers, pid

    answers, pid = run(main())
    assert fleet.pids != [pid]
    assert gone(pid, within_s=10)
    assert [one.token_ids for one in answers] == [one.token_ids for one in embedded(vlm, asked)]


def test_no_episode_is_lost_with_a_server(served, encoder, tmp_path):
    fleet, run = served
    params = recipe()
    rendered = renderer()
    settings = EpisodeSettings(rendered, params.agent, HOT, 2, 40)

    async def main():
        policy = VLLMPolicy(fleet, "v", encoder)
        with Journal(tmp_path / "episodes.jsonl", Trajectory) as journal:
            async with BrowserPool(params.browser, site=MiniWoB(), text="elements") as pool:
                rolling = asyncio.create_task(
                    collect(specs(TASKS, 4, "v", 0), pool, lambda spec, session: policy, settings, journal)
                )
                while not journal.path.exists() or not journal.path.stat().st_size:
                    await asyncio.sleep(0.05)
                os.kill(fleet.pids[0], signal.SIGKILL)
                return await rolling

    trajectories = run(main())
    assert len({one.trajectory_id for one in trajectories}) == len(TASKS) * 4
    assert all(one.termination.is_agents_doing for one in trajectories)


def test_rl_trains_on_what_vllm_sampled_with_its_own_weights(taught, tmp_path):
    """Two iterations: the second is sampled with the weights of the first update, or the trainer would object.

    Behaviour cloning learns from any success, so that each iteration has an update however its attempts come out.
    """
    params = recipe()
    groups = {"effective_groups": 2, "max_sampled_groups": 6, "group_size": 4, "batch_turns": 4, "lr": 1e-4}
    objective = {"objective": "filtered_bc", "drop_repeats": False}
    params = params.model_copy(update={"rl": params.rl.model_copy(update=groups | objective)})
    mine, before = VLM.load(taught, params.model), VLM.load(taught, params.model)
    learner = Learner.begin(mine, params, Team())
    heard: list[dict[str, float]] = []

    async def main():
        async with (
            BrowserPool(params.browser, site=MiniWoB(), text="elements") as pool,
            follow(mine, learner.encoder, taught, params, tmp_path) as open_policy,
        ):
            say, report = lambda *said: None, lambda figures, *rest: heard.append(figures)
            phase = RLPhase(iterations=2, max_steps=1)
            await train_rl(learner, phase, "test", TASKS, pool, open_policy, judge, tmp_path, say, report)

    asyncio.run(main())
    assert [one["iteration"] for one in heard] == [1, 2]
    assert all(one["steps"] > 0 for one in heard)
    assert max(one["logprob_gap_max"] for one in heard) < 1e-3
    moved = max(
        (a - b).abs().max().item() for a, b in zip(mine.model.parameters(), before.model.parameters(), strict=True)
    )
    assert moved > 1e-4, "the weights are the same, and a server that kept the old ones would go unnoticed"
    assert not (tmp_path / "served").exists()


def test_a_stage_that_is_killed_leaves_no_server_behind(tmp_path):
    script = tmp_path / "stage.py"
    script.write_text(
        "import asyncio, pathlib, sys\n"
        "from tests.policies.test_vllm import BASE, fleet_of\n"
        "async def main():\n"
        "    async with fleet_of(BASE, pathlib.Path(sys.argv[1])) as fleet:\n"
        "        print(*fleet.pids, flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    stage = subprocess.Popen(
        [sys.executable, script, tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    assert stage.stdout is not None
    group = int(stage.stdout.readline())
    assert len(alive(group)) >= 2, "the server, and its engine"
    stage.kill()
    stage.wait()
    assert gone(group, within_s=15)


def test_what_does_not_start_says_why_and_how_to_mend_it(tmp_path):
    async def enter(fleet: Fleet) -> None:
        async with fleet:
            pass

    with pytest.raises(ServerError, match="does not start"):
        asyncio.run(enter(fleet_of(tmp_path / "no model", tmp_path)))
    params = recipe()
    vllm = params.inference.vllm.model_copy(update={"python": "nowhere/python"})
    params = params.model_copy(update={"inference": params.inference.model_copy(update={"vllm": vllm})})
    with pytest.raises(ServerError, match="make vllm-cpu"):
        asyncio.run(enter(fleet_of(BASE, tmp_path, params)))


def test_a_stages_policy_needs_no_weights_in_its_own_process(vlm, encoder, tmp_path):
    asked = requests(encoder, GREEDY, 2)

    async def main():
        async with open_model(BASE, recipe(), "v", tmp_path) as policy:
            assert policy._encoder.device.type == "meta"
            return await ask(policy, asked), [policy.prompt_tokens(request.prompt) for request in asked]

    answers, lengths = asyncio.run(main())
    assert [one.token_ids for one in answers] == [one.token_ids for one in embedded(vlm, asked)]
    assert lengths == [encoder.length(request.prompt) for request in asked]


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
                fleet.load_adapter(tmp_path / str(number))
                yield await ask(policy, asked)
            os.kill(fleet.pids[0], signal.SIGKILL)
            yield await ask(policy, asked)

    async def answers():
        return [found async for found in main()]

    for found, expected in zip(asyncio.run(answers()), [plain, *wanted, wanted[1]], strict=True):
        assert [one.token_ids for one in found] == [one.token_ids for one in expected]
    texts = [tuple(one.text for one in found) for found in (plain, *wanted)]
    assert len(set(texts)) == 3, "the adapters change nothing"


def test_vllms_own_openai_server_is_an_endpoint_like_any_other(encoder, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert done.text.startswith("<think>")
    assert done.token_ids == []
    ours = encoder.length(asked.prompt)
    assert abs(spent.prompt_tokens - ours) <= 4, "the server writes the same prompt by the model's template"


def test_two_servers_share_the_requests_and_one_does_the_work_while_the_other_is_started_again(vlm, encoder, tmp_path):
    params = recipe()
    two = params.inference.vllm.model_copy(update={"servers": 2})
    params = params.model_copy(update={"inference": params.inference.model_copy(update={"vllm": two})})
    asked = requests(encoder, GREEDY, 48)

    async def main():
        async with fleet_of(BASE, tmp_path, params) as fleet:
            policy, (first, second) = VLLMPolicy(fleet, "v", encoder), fleet.pids
            answers = asyncio.gather(*(policy.complete(request) for request in asked))
            await asyncio.sleep(0.3)
            busy = [server.requests for server in fleet._servers]
            os.kill(first, signal.SIGKILL)
            return await answers, busy, fleet.pids[1] == second

    answers, busy, kept = asyncio.run(main())
    assert min(busy) > 8, "one had nothing to do"
    assert kept
    assert [one.token_ids for one in answers] == [one.token_ids for one in embedded(vlm, asked)]
