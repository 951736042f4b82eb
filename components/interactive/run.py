"""Runs one episode in front of a person and writes its trajectory, whatever ends it.

Ctrl-C (SIGINT, or SIGTERM) cancels the episode: the turns so far are written with the termination `aborted`, then the
browser is closed. A person's demonstration is written in the same form and, if it is to be kept, added to the file of
demonstrations (`pipeline.demonstrations`).
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from components.agent import EpisodeSettings, EpisodeSpec, Policy, Renderer, run_episode, trajectory_of
from components.agent.protocols import protocol
from components.browser import BrowserPool, ChromiumNotFoundError, SandboxError, Site
from components.browser.chromium import find_headed_chromium
from components.endpoint import EndpointError
from components.interactive.console import Console
from components.interactive.endings import sentence
from components.interactive.hosts import HostRules
from components.interactive.leaving import Confirm, HostGate
from components.interactive.models import Model, find_model
from components.interactive.options import PERSON_STEPS, RunError, RunOptions
from components.interactive.page import page_task
from components.interactive.person import VERSION, PersonPolicy, PersonStoppedError
from components.interactive.screencast import Screencast
from components.interactive.session import WatchedSession
from components.interactive.transcript import PrintedPolicy, Transcript, one_line, print_feedback
from components.params import Params
from components.pipeline.demonstrations import DEMONSTRATIONS, add_demonstration, attempts_at, observed_as
from components.policies.vllm import ServerError
from components.records import Termination, Trajectory, Turn
from components.store import write_table

RUNS = Path("data/runs")
TABLE, VIDEO = "trajectories.parquet", "video.webp"


@dataclass(frozen=True)
class RunRecord:
    """What a run left: its trajectory and the files."""

    trajectory: Trajectory
    table: Path
    video: Path | None = None
    demonstrations: Path | None = None
    """The file to which a person's demonstration was added; None if it was not."""
    error: Exception | None = None
    """The error of the model that ended the run; None if it ended otherwise."""


@dataclass
class _Episode:
    """The parts of one run."""

    options: RunOptions
    params: Params
    spec: EpisodeSpec
    model: Model | None
    """None: a person acts."""
    site: Site | None
    """The site of the recipe's world that serves the first page; None for other pages."""
    rules: HostRules
    folder: Path
    transcript: Transcript
    console: Console
    screencast: Screencast | None
    turns: list[Turn] = field(default_factory=list)
    session: WatchedSession | None = None
    started: float = field(default_factory=time.monotonic)


def run_task(options: RunOptions, params: Params) -> RunRecord:
    """Run an episode, print it, and write its trajectory.

    Raises:
        RunError: the options are wrong, or the model is missing or cannot be opened.
        ChromiumNotFoundError: there is no Chromium, or none that can show a window.
        SandboxError: Chromium does not start.
    """
    if options.headed:
        _require_window()
    page = page_task(options, params)
    task, params = page.task, page.params
    model = None if options.by_person else find_model(options, params)
    folder = options.out or _new_folder()
    if (folder / TABLE).exists():
        raise RunError(f"{folder} holds a run already; name another folder with --out")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    attempt = attempts_at(task.task_id, DEMONSTRATIONS) if options.by_person else 0
    seed = params.seed if options.seed is None else options.seed
    transcript = Transcript()
    episode = _Episode(
        options,
        params,
        EpisodeSpec(task, attempt, model.version if model is not None else VERSION, seed),
        model,
        page.site,
        page.rules,
        folder,
        transcript,
        Console(transcript.write),
        Screencast() if options.record else None,
    )
    try:
        record = asyncio.run(_run(episode))
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # it has files, such as the log of the model's server
                folder.rmdir()
        raise
    if episode.screencast is not None and episode.screencast.frames:
        transcript.note("Writing the video …")
        episode.screencast.write(folder / VIDEO)
    return record


def _require_window() -> None:
    """Checks that a window can be shown before the model is opened.

    Raises:
        ChromiumNotFoundError: as `find_headed_chromium`; the message also names the video.
    """
    try:
        find_headed_chromium()
    except ChromiumNotFoundError as error:
        raise ChromiumNotFoundError(f"{error}; or record a video instead: --record in place of --headed") from error


async def _run(episode: _Episode) -> RunRecord:
    """The episode and its record. The record is written before the browser is closed."""
    task = asyncio.current_task()
    assert task is not None
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with AsyncExitStack() as stack:
        error: Exception | None = None
        try:
            trajectory = await _played(episode, stack)
        except (asyncio.CancelledError, PersonStoppedError):
            trajectory = _unfinished(episode, Termination.ABORTED, "")
        except SandboxError as problem:
            if episode.session is None:
                raise
            trajectory = _unfinished(episode, Termination.SANDBOX_ERROR, str(problem))
        except Exception as problem:
            if episode.session is None or episode.session.last is None:
                raise
            error = problem
            trajectory = _unfinished(episode, Termination.ABORTED, f"{type(problem).__name__}: {problem}")
        trajectory = trajectory.model_copy(update={"diagnostics": trajectory.diagnostics | observed_as(episode.params)})
        write_table(episode.folder / TABLE, Trajectory, [trajectory])
        episode.transcript.end(trajectory, sentence(trajectory.termination))
        kept = None
        if episode.model is None and trajectory.termination is Termination.DONE:
            kept = await _keep(episode, trajectory)
    video = episode.folder / VIDEO if episode.screencast is not None and episode.screencast.frames else None
    return RunRecord(trajectory, episode.folder / TABLE, video, kept, error)


async def _played(episode: _Episode, stack: AsyncExitStack) -> Trajectory:
    """Open the model and the browser on `stack`, and run the episode."""
    params, options = episode.params, episode.options
    opened: Policy | None = None
    if episode.model is not None:
        episode.transcript.note(f"Opening {episode.model.label} …")
        try:
            opened = await stack.enter_async_context(episode.model.open(episode.folder))
        except (EndpointError, ServerError, OSError, ValueError) as error:
            raise RunError(f"the model {episode.model.label} cannot be opened: {error}") from error
    pool = await stack.enter_async_context(
        BrowserPool(params.browser, episode.site, params.observation.text, options.headed)
    )
    browser = await stack.enter_async_context(pool.session(episode.spec.task))
    gate = HostGate(episode.rules, _confirm(episode), pool.replace_egress_rules) if episode.site is None else None
    session = episode.session = WatchedSession(browser, gate, episode.screencast)
    if gate is not None:
        stack.callback(_report_refused, episode, gate)
        hosts = ", ".join(gate.rules.hosts)
        episode.transcript.note(f"Allowed hosts: {hosts}. Opening {episode.spec.task.start_url} …")
    speaks = protocol(params.agent.protocol)
    policy = PrintedPolicy(
        opened or PersonPolicy(session, episode.console, episode.transcript, params.agent.protocol),
        speaks,
        episode.transcript,
    )
    evaluation, agent = params.evaluation, params.evaluation_agent

    def on_turn(turn: Turn) -> None:
        episode.turns.append(turn)
        print_feedback(episode.transcript, turn)

    settings = EpisodeSettings(
        Renderer(params.agent, params.observation, params.model.think_prefix),
        agent,
        evaluation.sampling,
        options.max_steps or (PERSON_STEPS if episode.model is None else evaluation.max_steps),
        agent.max_response_tokens,
        on_turn=on_turn,
    )
    return await run_episode(episode.spec, session, policy, settings)


def _confirm(episode: _Episode) -> Confirm:
    """Questions to the person; without a terminal, the answer is no."""

    async def confirm(question: str) -> bool:
        if episode.console.is_terminal:
            return await episode.console.confirm(one_line(question))
        return False

    return confirm


def _unfinished(episode: _Episode, termination: Termination, error: str) -> Trajectory:
    """The record of the turns so far."""
    last = episode.session.last if episode.session is not None else None
    diagnostics = {"wall_s": round(time.monotonic() - episode.started, 3), **({"error": error} if error else {})}
    return trajectory_of(
        episode.spec,
        episode.params.agent.protocol,
        termination,
        diagnostics,
        episode.turns,
        final_screenshot=last.screenshot if last is not None else None,
    )


async def _keep(episode: _Episode, trajectory: Trajectory) -> Path | None:
    """Ask whether a finished demonstration is to be kept; the file to which it was added, or None."""
    if not await episode.console.confirm("Is the task done as it should be? Keep the demonstration?", default=True):
        return None
    add_demonstration(trajectory, DEMONSTRATIONS)
    return DEMONSTRATIONS


def _report_refused(episode: _Episode, gate: HostGate) -> None:
    for name in sorted(gate.denied):
        episode.transcript.note(f"Pages of {name} were not opened; `--allow {name}` permits them from the start.")
    for name, count in gate.refused_files.most_common(5):
        episode.transcript.note(f"{count} requests for files of {name} were refused; `--allow {name}` lets them pass.")


def _new_folder() -> Path:
    base = RUNS / time.strftime("%Y%m%d-%H%M%S")
    candidates = [base, *(base.with_name(f"{base.name}-{number}") for number in range(2, 100))]
    return next(folder for folder in candidates if not folder.exists())
