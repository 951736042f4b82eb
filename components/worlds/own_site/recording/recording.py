"""Records the oracle of a task: a person's episode, the file of steps, and its replay on fresh copies."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from playwright.async_api import Error as PlaywrightError

from components.browser import BrowserPool, EnvError, Session
from components.params import BrowserParams
from components.records import StateCheck, Task
from components.worlds.own_site.instances import Instance
from components.worlds.own_site.recording.parameters import with_fields
from components.worlds.own_site.recording.recorder import PersonRecorder
from components.worlds.own_site.recording.transcription import PASSWORD, Transcription, has_secret
from components.worlds.own_site.site import OwnEpisode
from components.worlds.own_site.site_file import OwnSiteError, Request, SiteFile
from components.worlds.playing import play
from components.worlds.recorded import AskPerson, Recorded, RuleVerdict

if TYPE_CHECKING:
    from components.worlds.own_site.own_world import OwnSite

_FAILURES = (RuntimeError, EnvError, ValueError, PlaywrightError)
"""What an application, a browser, a rule or an oracle may raise. A `WorldError` is a `RuntimeError`."""


async def record_oracle(
    world: OwnSite, family: str, number: int, params: BrowserParams, ask: AskPerson, headed: bool
) -> Recorded:
    """See `World.record`. The steps are also replayed on the next task of the family, if there is one.

    Raises:
        OwnSiteError: there is no such task, or the application does not start.
    """
    instance, *others = _instances(world, family, number)
    steps, person, remarks = await _of_person(world, instance, params, ask, headed)
    advice = _secret_advice(steps)
    recorded = [_with_steps(task, steps) for task in (instance, *others)]
    verdicts = await _replays(world, recorded, params)
    file = _written(world, family, steps, verdicts[0].reward == 1, advice)
    if verdicts[0].reward == 1 and any(verdict.reward != 1 for verdict in verdicts[1:]):
        advice.append(
            f"The steps do {verdicts[0].task_id} only: where they name something of this task alone, write a parameter "
            f"({', '.join(instance.facts)}) in braces."
        )
    if verdicts[0].reward != 1 and person is not None and person.reward != 1:
        advice.append("What you did does not satisfy the rule either: correct the task's rule, or do the task again.")
    return Recorded(steps_text(steps), person, verdicts[0], verdicts[1:], remarks, file, advice)


def steps_text(steps: list[dict[str, Any]]) -> str:
    """Steps as YAML, one line each, as `site.yaml` has them."""
    return "".join(f"- {kind}:{_inline(value)}\n" for step in steps for kind, value in step.items()) or "[]\n"


def _inline(value: Any) -> str:
    if value is None:
        return ""
    text = yaml.safe_dump([value], default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)
    return f" {text.strip()[1:-1]}"


def _instances(world: OwnSite, family: str, number: int) -> list[Instance]:
    """The task, and the next one of the family (the first one after the last)."""
    if family not in world.definition.tasks:
        raise OwnSiteError(f"the site {world.name} has no task {family!r}; it has {', '.join(world.definition.tasks)}")
    templates = world.templates()
    templates.require(family, number, "--task")
    count = templates.count(family)
    numbers = [number, number % count + 1] if count > 1 else [number]
    return [templates.instances(family, at, 1)[0] for at in numbers]


async def _of_person(
    world: OwnSite, instance: Instance, params: BrowserParams, ask: AskPerson, headed: bool
) -> tuple[list[dict[str, Any]], RuleVerdict | None, list[str]]:
    """The steps of the person's episode, the rule's verdict on it, and remarks."""
    task = Task.model_validate(instance.row("eval"))
    transcription = Transcription(own_passwords={*_own_texts(instance.site), *_texts(instance.facts)})
    async with BrowserPool(params, world.site(), "elements", headed) as pool, pool.session(task) as session:
        await session.start(task)
        async with PersonRecorder(session, instance.site.address, transcription) as recorder:
            asking = asyncio.ensure_future(ask(task, session.page))
            closing = asyncio.create_task(recorder.closed.wait())
            try:
                await asyncio.wait({asking, closing}, return_when=asyncio.FIRST_COMPLETED)
                answer = asking.result() if asking.done() else ""
            finally:
                asking.cancel()
                closing.cancel()
        is_closed = recorder.closed.is_set()
        verdict = None if is_closed and instance.template.page else await _verdict_of(session, task, instance, answer)
    return with_fields(transcription.steps(), instance.facts), verdict, transcription.remarks


async def _verdict_of(session: Session, task: Task, instance: Instance, answer: str) -> RuleVerdict:
    episode = session.site_episode
    assert isinstance(episode, OwnEpisode)
    try:
        check = await episode.check_state(answer)
    except _FAILURES as error:
        return RuleVerdict(task.task_id, 0.0, (f"the rule cannot be checked: {error}",))
    assert check is not None
    verdict = _verdict(task.task_id, check)
    expected = instance.expected
    if check.answer_ok is False and expected is not None:
        reason = f'the answer "{answer}" is not right: the rule expects one such as "{expected.example}"'
        return RuleVerdict(verdict.task_id, verdict.reward, (*verdict.reasons, reason))
    return verdict


def _verdict(task_id: str, check: StateCheck) -> RuleVerdict:
    missing = [f"missing: {effect}" for effect in check.missing]
    side_effects = [f"side effect: {effect}" for effect in check.side_effects]
    return RuleVerdict(task_id, check.reward, (*missing, *side_effects))


def _with_steps(instance: Instance, steps: list[dict[str, Any]]) -> Instance:
    """The same task of a site whose template has these steps as its oracle."""
    site, name = instance.site, instance.name
    template = site.tasks[name].model_copy(update={"oracle": steps})
    tasks = {**site.tasks, name: template}
    return Instance(site.model_copy(update={"tasks": tasks}), name, instance.number, instance.facts, instance.answer)


async def _replays(world: OwnSite, instances: list[Instance], params: BrowserParams) -> list[RuleVerdict]:
    """What the rule says of the steps on fresh copies. A failure is a reason, so that the steps are kept."""
    verdicts: list[RuleVerdict] = []
    try:
        async with BrowserPool(params, world.site(), "elements") as pool:
            for instance in instances:
                try:
                    verdicts.append(await _replay(instance, pool))
                except _FAILURES as error:
                    verdicts.append(_failed(instance, error))
    except _FAILURES as error:
        verdicts = verdicts or [_failed(instances[0], error)]
    return verdicts


def _failed(instance: Instance, error: Exception) -> RuleVerdict:
    return RuleVerdict(Task.model_validate(instance.row("eval")).task_id, 0.0, (str(error),))


async def _replay(instance: Instance, pool: BrowserPool) -> RuleVerdict:
    """What the rule says of the steps on a fresh copy."""
    task = Task.model_validate(instance.row("eval"))
    async with pool.session(task) as session:
        await session.start(task)
        await play(session, instance.oracle(random.Random(0)))
        check = await session.check_state()
        assert check is not None
        verdict = _verdict(task.task_id, check)
        if check.answer_ok is False:
            return RuleVerdict(task.task_id, 0.0, (*verdict.reasons, "the rule's own example of an answer is wrong"))
        return verdict


def _written(
    world: OwnSite, family: str, steps: list[dict[str, Any]], is_right: bool, advice: list[str]
) -> Path | None:
    """Write the steps beside `site.yaml`, unless the task has an oracle. Steps that fail get another name."""
    has_oracle = world.definition.tasks[family].oracle is not None
    folder = world.folder / "oracles"
    file = folder / (f"{family}.yaml" if is_right else f"{family}.failed.yaml")
    if is_right and has_oracle:
        advice.append(
            f"{family} has an oracle already, which stays. To use the new one, put its steps in the old ones' place."
        )
        return None
    folder.mkdir(exist_ok=True)
    file.write_text(f"# Recorded by `waymark world record`.\n{steps_text(steps)}")
    if not is_right:
        advice.append(f"Correct the steps in {file}, name the file {family}.yaml, and type `waymark world check`.")
    return file


def _secret_advice(steps: list[dict[str, Any]]) -> list[str]:
    if not has_secret(steps):
        return []
    return [
        f"A password was typed and is written as {PASSWORD}. Put a test login under `logins` in site.yaml, whose "
        "password is then written down, or let the task begin logged in (`login`), and record again."
    ]


def _own_texts(site: SiteFile) -> Iterator[str]:
    """The texts of the site's own logins."""
    for login in site.logins.values():
        for request in login if isinstance(login, list) else []:
            if isinstance(request, Request):
                yield from _texts([request.form or {}, request.body or {}])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    else:
        yield str(value)
