"""`waymark run` as a user starts it: a process of its own, a real page, the small base model or a person."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from PIL import Image

from components.browser import ChromiumNotFoundError
from components.browser.chromium import find_headed_chromium
from components.cli.main import main
from components.params import load
from components.pipeline.demonstrations import DemonstrationError, read_demonstrations
from components.records import Termination, Trajectory
from components.store import read_table
from components.tracking import POLICY, model_digest, promote, stage_run
from tests.browser.conftest import Pages
from tests.endpoint_server import Server
from tests.loopback import Loopback
from tests.samples import raw_recipe

ROOT = Path(__file__).parents[2]
MODEL = str(ROOT / "data/base_model")
LIMIT_S = 240
SHOP = (
    "<button style='display:block;width:150px;height:60px' onclick=\"document.title = 'added'\">Add red tent</button>"
    "<input aria-label=Name>"
)


@pytest.fixture
def shop() -> Iterator[Pages]:
    server = Pages()
    server.add("/", SHOP, title="Tents")
    yield server
    server.close()


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    raw = raw_recipe(
        agent__prompt="compact", agent__max_context_tokens=65536, agent__max_response_tokens=160,
        agent__max_format_errors=1000,
    )  # fmt: skip
    (tmp_path / "params.yaml").write_text(yaml.dump(raw))
    return tmp_path / "params.yaml"


def command(shop: Pages, *options: str, task: str = "Add a red tent") -> list[str]:
    return [sys.executable, "-m", "components.cli.main", "run", task, "--url", f"{shop.origin}/", *options]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **more}


def start(folder: Path, arguments: list[str], **more: object) -> subprocess.Popen:
    return subprocess.Popen(
        arguments, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **more,
    )  # fmt: skip


def finished(folder: Path, arguments: list[str], lines: str = "") -> tuple[int, str, str]:
    process = start(folder, arguments, stdin=subprocess.PIPE)
    out, errors = process.communicate(lines, timeout=LIMIT_S)
    return process.returncode, out, errors


def written(folder: Path) -> Trajectory:
    (table,) = (folder / "data/runs").glob("*/trajectories.parquet")
    (trajectory,) = read_table(table, Trajectory)
    return trajectory


def viewed(folder: Path, printed: str) -> str:
    """The page that the printed command writes."""
    line = next(line for line in printed.splitlines() if line.startswith("View it:"))
    arguments = line.split("waymark ")[1].split()
    subprocess.run(
        [sys.executable, "-m", "components.cli.main", *arguments], cwd=folder, check=True, timeout=LIMIT_S,
        env={name: value for name, value in environment().items() if "DISPLAY" not in name}, capture_output=True,
    )  # fmt: skip
    (page,) = (folder / "reports/view").glob("*.html")
    return page.read_text()


@pytest.mark.slow
def test_a_person_answers_the_dialogs_of_a_page(recipe, tmp_path):
    style = "display:block;width:150px;height:60px"
    page = f"<button style='{style}' onclick=\"document.title = confirm('Sure?')\">Del</button>"
    server = Pages()
    server.add("/", page, title="Tents")
    lines = 'click 450 100\npress_keys escape\ndone "left"\nn\n'
    status, out, errors = finished(tmp_path, command(server, "--teacher", "human"), lines)
    server.close()
    assert status == 0, errors
    assert 'asks "Sure?" and waits' in out
    assert "answered the dialog with Cancel" in out
    assert written(tmp_path).turns[1].observation.tabs[0].title in ("Tents", "false")


@pytest.mark.slow
def test_a_model_is_printed_turn_by_turn_recorded_and_viewable(shop, recipe, tmp_path):
    options = ("--model", MODEL, "--max-steps", "2", "--record")
    status, out, errors = finished(tmp_path, command(shop, *options, task="Click the button Add red tent"))
    trajectory = written(tmp_path)
    assert (status, trajectory.termination) == (3, Termination.MAX_STEPS), errors
    assert "\x1b" not in out
    assert [line for line in out.splitlines() if line.startswith("Turn ")] == ["Turn 1", "Turn 2"]
    for turn in trajectory.turns:
        assert all(" ".join(line.split())[:60] in out for line in turn.feedback)
    assert "max_steps: The step limit is reached" in out
    assert trajectory.turns[0].token_ids
    assert "Add red tent" in viewed(tmp_path, out)
    (video,) = (tmp_path / "data/runs").glob("*/video.webp")
    with Image.open(video) as frames:
        assert frames.format == "WEBP"
        assert frames.size == (160, 210)
        assert frames.n_frames > 1


@pytest.mark.slow
def test_the_champion_of_the_registry_acts(shop, recipe, tmp_path, mlflow_database, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = load(recipe)
    with stage_run(params, "train_sft", "key", tmp_path / "state") as run:
        version = run.register(Path(MODEL), POLICY)
    promote(params, POLICY, version, {"against": "none"})
    status, out, errors = finished(tmp_path, command(shop, "--model", "champion", "--max-steps", "1"))
    trajectory = written(tmp_path)
    assert (status, trajectory.termination) == (3, Termination.MAX_STEPS), errors
    assert "Opening waymark-policy version 1 …" in out
    assert trajectory.policy == f"waymark-policy version 1:{model_digest(Path(MODEL))[:12]}"
    assert trajectory.turns[0].token_ids


@pytest.fixture(autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """A process in the background of a shell ignores Ctrl-C, and so do its children; the tests' children may not."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_ctrl_c_writes_the_turns_so_far_and_closes_the_browser(shop, recipe, tmp_path):
    process = start(tmp_path, command(shop, "--model", MODEL, "--max-steps", "500"), stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    out = ""
    while "Turn 3" not in out:
        line = process.stdout.readline()
        assert line, process.communicate()
        out += line
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("chrom" in child.name() for child in children)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
    rest, errors = process.communicate(timeout=60)
    trajectory = written(tmp_path)
    assert (process.returncode, trajectory.termination) == (130, Termination.ABORTED), errors
    assert len(trajectory.turns) >= 2
    assert trajectory.final_screenshot is not None
    assert "Traceback" not in errors
    assert "aborted: The run was stopped." in rest
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


DEMONSTRATION = """\
clik
click 450 100  # the red tent
click 100 420; write "Ann"
done The red tent is in the basket
y
"""


@pytest.mark.slow
def test_a_person_demonstrates_and_the_demonstration_can_train(shop, recipe, tmp_path):
    status, out, errors = finished(tmp_path, command(shop, "--teacher", "human"), DEMONSTRATION)
    assert status == 0, errors
    assert "there is no tool 'clik'" in out
    assert '- button "Add red tent"' in out
    trajectory = written(tmp_path)
    assert trajectory.answer == "The red tent is in the basket"
    assert [len(turn.tool_calls) for turn in trajectory.turns] == [1, 2, 1]
    assert trajectory.turns[0].response.startswith("<think>the red tent</think>")
    kept = Path("data/demonstrations/trajectories.parquet")
    assert str(kept) in out
    params = load(recipe)
    (demonstration,) = read_demonstrations([tmp_path / kept], params)
    assert demonstration == trajectory
    assert len(trained_responses(params, demonstration)) == 3
    other = params.model_copy(update={"observation": params.observation.model_copy(update={"text": "none"})})
    with pytest.raises(DemonstrationError, match="was made with other values of agent, observation"):
        read_demonstrations([tmp_path / kept], other)


def trained_responses(params, demonstration: Trajectory) -> list[list[int]]:
    """The ids that SFT trains the base model to say, per turn."""
    from components.model import VLM, Encoder
    from components.training.objectives.sft import SFT

    encoder = Encoder(VLM.load(MODEL, params.model))
    samples = SFT.from_params(params).samples([demonstration], encoder)
    expected = [[*encoder.tokens(turn.response), encoder.end_id] for turn in demonstration.turns]
    assert sorted(weighted.sample.response for unit in samples for weighted in unit) == sorted(expected)
    return expected


@pytest.mark.slow
def test_the_end_of_a_persons_input_stops_the_run_and_keeps_nothing(shop, recipe, tmp_path):
    status, _, errors = finished(tmp_path, command(shop, "--teacher", "human"), "click 450 100\n")
    trajectory = written(tmp_path)
    assert (status, trajectory.termination, len(trajectory.turns)) == (130, Termination.ABORTED, 1), errors
    assert not (tmp_path / "data/demonstrations").exists()


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.output = ""
        self._control, terminal = pty.openpty()
        self.process = subprocess.Popen(
            arguments, cwd=folder, env=environment(), stdin=terminal, stdout=terminal, stderr=terminal,
            start_new_session=True,
        )  # fmt: skip
        os.close(terminal)

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while text not in self.output:
            assert time.monotonic() < deadline, self.output
            assert select.select([self._control], [], [], LIMIT_S)[0], self.output
            self.output += os.read(self._control, 65536).decode(errors="replace")

    def type(self, line: str) -> None:
        """Type a line; the output so far is forgotten."""
        self.output = ""
        os.write(self._control, f"{line}\n".encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._control)


@pytest.mark.slow
def test_on_a_terminal_the_person_is_asked_before_the_first_host_is_left(shop, recipe, tmp_path):
    other = Loopback(shop._server.RequestHandlerClass, host="127.0.0.2")
    shop.add("/there", "<h1>there</h1>", title="the other host")
    arguments = command(shop, "--teacher", "human")
    terminal = Terminal(tmp_path, arguments)
    try:
        terminal.wait_for("your turn> ")
        terminal.type(f"goto_url {other.origin}/there")
        terminal.wait_for("in this run? [y/N]")
        terminal.type("n")
        terminal.wait_for("your turn> ")
        assert "\x1b[31mFailed: `goto_url`" in terminal.output, "a failure is red on a terminal"
        assert shop.hits.get("/there") is None
        terminal.type(f"goto_url {shop.origin}/there")
        terminal.wait_for("your turn> ")
        terminal.output = ""
        os.killpg(terminal.process.pid, signal.SIGINT)  # while the person is asked for a line
        terminal.wait_for("aborted")
        terminal.wait_for("View it")
        assert terminal.process.wait(60) == 130
    finally:
        terminal.close()
        other.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "nothing"), "--model nothing is not a directory"),
        (("--endpoint", "http://127.0.0.1:1/v1"), "--endpoint-model NAME belong together"),
        (("--model", MODEL, "--headed"), "no display to show the browser on"),
        (("--recipe", "missing.yaml"), "no such recipe"),
        (("--endpoint", "http://x/v1", "--endpoint-model", "m", "--endpoint-key", "NO_SUCH_KEY"), "holds no key"),
        (("--endpoint-key", "KEY"), "--endpoint-key is of the endpoint that --endpoint names"),
        (("--teacher", "human", "--model", MODEL), "with --teacher human you act, and no model does"),
        (("--model", MODEL, "--endpoint", "http://x/v1", "--endpoint-model", "m"), "name two models, and one acts"),
        (("--model", "teacher"), "name a model, or act yourself with --teacher human"),
        (("--model", "models:/waymark-policy/7"), "the registry has no version 7 of waymark-policy"),
        (("--model", "models:/waymark-policy@candidate"), "the registry has no version @candidate"),
        ((), "has the alias `champion` yet"),
    ],
)
def test_what_cannot_begin_says_why(options, message, recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert main(["run", "look", "--url", "http://127.0.0.1:1/", *options]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("data/runs/*/*.parquet"))


def test_a_run_whose_model_cannot_be_opened_leaves_no_folder(recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    options = ("--endpoint", "http://x/v1", "--endpoint-model", "m", "--endpoint-key", "NO_SUCH_KEY")
    assert main(["run", "look", "--url", "http://127.0.0.1:1/", *options]) == 1
    assert "cannot be opened" in capsys.readouterr().err
    assert list(tmp_path.glob("data/runs/*")) == []


def test_a_folder_of_the_users_stays_after_a_run_that_cannot_begin(recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    Path("mine").mkdir()
    options = ("--endpoint", "http://x/v1", "--endpoint-model", "m", "--endpoint-key", "NO_SUCH_KEY", "--out", "mine")
    assert main(["run", "look", "--url", "http://127.0.0.1:1/", *options]) == 1
    assert Path("mine").is_dir()


def test_a_run_alone_advises_to_record_a_video(recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(ChromiumNotFoundError) as raised:
        find_headed_chromium()
    assert "video" not in str(raised.value)
    assert main(["run", "look", "--url", "http://127.0.0.1:1/", "--teacher", "human", "--headed"]) == 1
    advice = "or record a video instead: --record in place of --headed"
    assert capsys.readouterr().err == f"{raised.value}; {advice}\n"


def test_a_page_that_cannot_be_opened_is_no_failure_of_the_agent(recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "look", "--url", "http://127.0.0.1:1/", "--teacher", "human"]) == 5
    assert "env_init_error: The first page could not be opened." in capsys.readouterr().out
    assert written(tmp_path).turns == []


def test_a_model_behind_an_endpoint_acts_in_the_recipes_protocol(shop, recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    server = Server()
    answers = iter(
        [
            '<think>add \x1b[2Jit</think><tool_call>{"name": "click", "arguments": {"x": 450, "y": 100}}</tool_call>',
            '<think>done</think><tool_call>{"name": "done", "arguments": {"answer": "added"}}</tool_call>',
        ]
    )
    server.reply = lambda body: next(answers)
    options = ("--endpoint", f"{server.origin}/v1", "--endpoint-model", "large", "--out", "there")
    status = main(["run", "Add a red tent", "--url", f"{shop.origin}/", *options])
    server.close()
    out = capsys.readouterr().out
    assert status == 0
    assert "Answer: added" in out
    turns = out.partition("\nTurn 1\n")[2].split("\n\n")
    assert turns[0].splitlines()[:2] == ["  add \N{REPLACEMENT CHARACTER}[2Jit", "  → click(x=450, y=100)"]
    assert turns[0].splitlines()[2].startswith('  Succeed: `click` on <button> "Add red tent"')
    assert turns[1].splitlines()[:3] == ["Turn 2", "  done", '  → done(answer="added")']
    assert "\x1b" not in out, "a model cannot control the terminal"
    (trajectory,) = read_table(tmp_path / "there/trajectories.parquet", Trajectory)
    assert (trajectory.policy, trajectory.answer) == ("large", "added")
    assert trajectory.turns[1].observation.tabs[0].title == "added"
    assert main(["run", "Add a red tent", "--url", f"{shop.origin}/", *options]) == 1
    assert "there holds a run already" in capsys.readouterr().err


def test_minutes_end_a_run_by_its_time(shop, recipe, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    server = Server()
    server.reply = lambda body: '<think>a</think><tool_call>{"name": "wait", "arguments": {"seconds": 1}}</tool_call>'
    endpoint = ("--endpoint", f"{server.origin}/v1", "--endpoint-model", "large")
    options = (*endpoint, "--minutes", "0.05", "--max-steps", "500")
    status = main(["run", "Look", "--url", f"{shop.origin}/", *options])
    server.close()
    trajectory = written(tmp_path)
    assert (status, trajectory.termination) == (3, Termination.TASK_TIMEOUT)
    assert "task_timeout: The time limit is reached; --minutes raises it." in capsys.readouterr().out
    assert len(trajectory.turns) <= 3, "each turn waits for a second, and the run has 3"
    assert trajectory.diagnostics["wall_s"] >= 3


@pytest.mark.parametrize(("options", "title"), [((), "false"), (("--dialogs", "accept"), "true")])
def test_a_model_that_does_not_answer_deletes_nothing(recipe, tmp_path, monkeypatch, capsys, options, title):
    monkeypatch.chdir(tmp_path)
    pages, server = Pages(), Server()
    style = "display:block;width:150px;height:60px"
    pages.add("/", f"<button style='{style}' onclick=\"document.title = confirm('Delete?')\">Del</button>")
    call = '<think>a</think><tool_call>{"name": "%s", "arguments": %s}</tool_call>'
    answers = iter([call % ("click", '{"x": 450, "y": 100}'), *[call % ("wait", '{"seconds": 0}')] * 4])
    server.reply = lambda body: next(answers)
    endpoint = ("--endpoint", f"{server.origin}/v1", "--endpoint-model", "large", "--out", "there", "--max-steps", "5")
    main(["run", "Look", "--url", f"{pages.origin}/", *endpoint, *options])
    server.close()
    pages.close()
    (trajectory,) = read_table(tmp_path / "there/trajectories.parquet", Trajectory)
    assert trajectory.turns[-1].observation.tabs[0].title == title, capsys.readouterr().out
