"""The adapter for WebArena-Infinity's layout, on a small application that we wrote in it: a list of issues."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import httpx
import pytest

from components.browser import BrowserPool, SandboxError, parse_elements
from components.cli.main import main
from components.params import BrowserParams, load
from components.records import StateCheck, Task, ToolCall
from components.worlds import world_class, worlds_of
from components.worlds.own_site import OwnSite, OwnSiteError, image, read_site
from components.worlds.own_site.application import Application
from components.worlds.own_site.texts import command
from components.worlds.own_site.webarena_infinity import FORGEABLE, write_adapter

pytestmark = pytest.mark.slow

SERVER = """
import http.server, json, sys

state = None

class Handler(http.server.SimpleHTTPRequestHandler):
    def do_PUT(self):
        global state
        state = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(200, {})

    def do_GET(self):
        if self.path != "/api/state":
            return super().do_GET()
        self.answer(404 if state is None else 200, state)

    def answer(self, status, content):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

http.server.ThreadingHTTPServer(("", int(sys.argv[2])), Handler).serve_forever()
"""
PAGE = """<!DOCTYPE html><title>Issues</title><body><script>
const first = [{title: 'Slow login', open: true}, {title: 'Typo', open: true}];
const issues = localStorage.issues ? JSON.parse(localStorage.issues) : first;
function show() {
  localStorage.issues = JSON.stringify(issues);
  fetch('/api/state', {method: 'PUT', body: JSON.stringify({issues})});
  document.body.replaceChildren(...issues.filter(({open}) => open).map((issue) => {
    const button = document.createElement('button');
    button.textContent = `Close ${issue.title}`;
    button.onclick = () => { issue.open = false; show(); };
    return button;
  }));
}
show();
</script>"""
VERIFIER = """
import json, urllib.request

def verify(server_url: str) -> tuple[bool, str]:
    with urllib.request.urlopen(f"{server_url}/api/state") as response:
        issues = json.load(response)["issues"]
    for issue in issues:
        if issue["title"] == "%s":
            return not issue["open"], f"open is {issue['open']}"
    raise LookupError("no such issue")
"""


FORGERY = """fetch('/api/state',
  {method: 'PUT', body: JSON.stringify({issues: [{title: 'Typo', open: false}]})})"""


def row(name: str, difficulty: str, instruction: str) -> dict:
    return {
        "id": f"task_{name}",
        "difficulty": difficulty,
        "instruction": instruction,
        "verify": f"real-tasks/task_{name}.py",
    }


def rows() -> list[dict]:
    return [
        row("e1", "easy", 'Close "Typo" {now}.'),
        row("e2", "easy", "Close the slow one."),
        row("h1", "hard", "Close the other."),
    ]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The folder of an application."""
    folder = tmp_path / "clone/apps/issues"
    (folder / "real-tasks").mkdir(parents=True)
    (folder / "server.py").write_text(SERVER)
    (folder / "index.html").write_text(PAGE)
    (folder / "real-tasks.json").write_text(json.dumps(rows()))
    for name, title in {"e1": "Typo", "e2": "Slow login", "h1": "Other"}.items():
        (folder / f"real-tasks/task_{name}.py").write_text(VERIFIER % title)
    return folder


@pytest.fixture
def world(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnSite:
    write_adapter("issues", tmp_path / "issues", clone)
    monkeypatch.syspath_prepend(str(tmp_path / "issues"))
    monkeypatch.delitem(__import__("sys").modules, "waymark_issues", raising=False)
    monkeypatch.setattr(image.ensure, "__defaults__", (tmp_path / "cache",))
    kind = world_class("waymark_issues:KIND")
    world = kind(kind.Params())
    assert isinstance(world, OwnSite)
    return world


def tasks_of(world: OwnSite) -> dict[str, Task]:
    """The tasks by their ids in the clone."""
    tasks = [Task.model_validate(row) for row in asyncio.run(world.tasks(0, (800, 600)))]
    return {task.evaluator["facts"]["task"]["id"]: task for task in tasks}


def test_the_tasks_are_those_of_the_clone(world: OwnSite) -> None:
    tasks = tasks_of(world)
    assert {name: task.intent for name, task in tasks.items()} == {row["id"]: row["instruction"] for row in rows()}
    assert {name: task.website for name, task in tasks.items()} == {
        "task_e1": "issues/easy",
        "task_e2": "issues/easy",
        "task_h1": "issues/hard",
    }


@pytest.mark.timeout(100)
def test_the_clones_verifier_decides_and_a_forged_state_deceives_it(world: OwnSite) -> None:
    """A script of the page can send any state, which is why the world says so (`forgeable`)."""
    tasks = tasks_of(world)

    async def episodes() -> list[StateCheck | None]:
        params = BrowserParams(concurrency=1, quiet_ms=60)
        checks = []
        async with BrowserPool(params, world.site(), "elements") as pool:
            for kind in ("idle", "agent", "forged", "idle"):
                async with pool.session(tasks["task_e1"]) as session:
                    observation = await session.start(tasks["task_e1"])
                    if kind == "agent":
                        (line,) = [line for line in parse_elements(observation.text or "") if line.name == "Close Typo"]
                        await session.step([ToolCall(name="click", arguments={"x": line.x, "y": line.y})])
                    if kind == "forged":
                        await session.page.evaluate(FORGERY)
                    await session.step([ToolCall(name="done", arguments={"answer": ""})])
                    checks.append(await session.check_state())
        return checks

    checks = asyncio.run(episodes())
    assert [check and check.reward for check in checks] == [0, 1, 1, 0]
    assert checks[0] is not None
    assert checks[0].missing == ["open is True"]


def test_the_world_says_that_it_can_be_forged(world: OwnSite, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.forgeable == FORGEABLE
    assert world.clean_success == f"the rule is satisfied, but {FORGEABLE}"
    assert main(["world", "check", "waymark_issues:KIND", "no_such_family"]) == 1
    assert f"issues can be forged: {FORGEABLE}" in capsys.readouterr().err


def test_an_agent_cannot_read_what_a_verifier_wants(world: OwnSite) -> None:
    site = world.definition
    application = Application(site, world.folder, image.ensure(site, world.folder))
    try:
        application.reset()
        client = httpx.Client(base_url=f"http://127.0.0.1:{application.port}", trust_env=False)
        with contextlib.closing(client):
            found = {path: client.get(path).status_code for path in ("/", "/real-tasks.json", "/real-tasks/task_e1.py")}
        assert found == {"/": 200, "/real-tasks.json": 404, "/real-tasks/task_e1.py": 404}
        with pytest.raises(OwnSiteError, match=r"verify ended with status 2, not 0 or 1:\n(.|\n)*HTTP Error 404"):
            application.verify('"$PYTHON" "$SITE/infinity.py" verify real-tasks/task_e1.py')
    finally:
        application.close()


@pytest.mark.timeout(100)
def test_a_verifier_that_breaks_is_no_failure_of_the_agent(world: OwnSite) -> None:
    task = tasks_of(world)["task_h1"]

    async def episode() -> None:
        params = BrowserParams(concurrency=1, quiet_ms=60)
        async with BrowserPool(params, world.site(), "elements") as pool, pool.session() as session:
            await session.start(task)
            await session.step([ToolCall(name="done", arguments={"answer": ""})])
            await session.check_state()

    with pytest.raises(SandboxError, match="no such issue"):
        asyncio.run(episode())


def test_an_updated_clone_has_other_first_data(world: OwnSite, clone: Path, tmp_path: Path) -> None:
    def first_data(folder: Path) -> str:
        package = folder / "waymark_issues"
        return image.digest(read_site(package), package)

    write_adapter("issues", tmp_path / "again", clone)
    assert first_data(tmp_path / "again") == first_data(tmp_path / "issues")
    (clone / "server.py").write_text(f"{SERVER}# a later version\n")
    write_adapter("issues", tmp_path / "updated", clone)
    assert first_data(tmp_path / "updated") != first_data(tmp_path / "issues")


def test_the_recipe_of_the_package_is_valid(world: OwnSite, tmp_path: Path) -> None:
    file = tmp_path / "issues/issues.yaml"
    file.write_text(file.read_text().replace("  issues:", "  waymark_issues:KIND:"))  # it is not installed
    recipe = load(file)
    assert recipe.tasks.files == []
    (own,) = worlds_of(recipe)
    assert (own.name, own.problems(recipe)) == ("issues", [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda clone: (clone / "server.py").unlink(), "has no server.py: name the folder of one application"),
        (lambda clone: (clone / "real-tasks.json").rename(clone / "my-tasks.json"), "name one with --suite: my-tasks"),
        (lambda clone: (clone / "real-tasks.json").write_text('[{"id": "a"}]'), "0.instruction: Field required"),
        (lambda clone: (clone / "real-tasks.json").write_text("[]"), "there are no tasks"),
        (lambda clone: (clone / "real-tasks/task_h1.py").unlink(), "there is no verifier real-tasks/task_h1.py"),
    ],
)
def test_a_folder_of_another_layout_is_refused_with_what_is_missing(clone, tmp_path, change, message) -> None:
    change(clone)
    with pytest.raises(OwnSiteError, match=message):
        write_adapter("issues", tmp_path / "issues", clone)
    assert not (tmp_path / "issues").exists()


def test_the_command_writes_a_package_with_the_chosen_suite(clone, tmp_path, capsys) -> None:
    (clone / "function-tasks.json").write_text(json.dumps([{**rows()[1], "difficulty": "simple"}]))
    place = tmp_path / "issues"
    options = ["--webarena-infinity", str(clone), "--suite", "function-tasks", "--directory", str(place)]
    assert main(["world", "new", "issues", *options]) == 0
    assert "could forge its state" in capsys.readouterr().out
    assert [*read_site(place / "waymark_issues").tasks] == ["simple"]
    assert main(["world", "new", "issues", "--suite", "tasks"]) == 1


def test_parameters_are_single_words_in_a_command() -> None:
    facts = {"name": "a b; rm -rf x", "row": {"id": "it's"}}
    assert command("check {name} {row[id]}", facts) == "check 'a b; rm -rf x' 'it'\"'\"'s'"
