"""The command `waymark`, as a user types it."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from components.cli import main
from components.params import load
from components.records import Image, Observation, Outcome, Tab, Task, Termination, Trajectory, Turn, Verdict
from components.store import read_table, state_dir, write_table

ROOT = Path(__file__).resolve().parents[2]


def waymark(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "components.cli.main", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_help_answers_without_importing_the_library() -> None:
    program = (
        "import sys; from components.cli import main; main.parser(); "
        "print({'torch', 'pydantic', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
@pytest.mark.parametrize("key", ["", "tooshort"])
def test_no_server_starts_without_a_key(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("WAYMARK_VLLM_KEY", key)
    done = waymark("serve", "smoke")
    assert done.returncode == 1
    assert "WAYMARK_VLLM_KEY" in done.stderr
    assert "openssl rand -hex 32" in done.stderr


def test_a_server_empties_a_folder_of_its_own_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    recipe = yaml.safe_load((ROOT / "recipes/smoke.yaml").read_text())
    recipe["inference"] = {"engine": "vllm", "vllm": {"python": sys.executable}}
    (tmp_path / "served.yaml").write_text(yaml.safe_dump(recipe))
    monkeypatch.setenv("WAYMARK_VLLM_KEY", "k" * 32)
    started: list[list[str]] = []
    monkeypatch.setattr("components.cli.serve._become", lambda arguments, environment: started.append(arguments) or 0)
    assert main.main(["serve", str(tmp_path / "served.yaml"), "--port", "8011", "--work", str(tmp_path)]) == 0
    work = Path(started[0][started[0].index("--work") + 1])
    assert work == tmp_path / "serve-8011", "the server empties this folder"


@pytest.mark.heavy  # torch
@pytest.mark.parametrize("judge", [[], ["--judge"]])
def test_a_server_that_vllm_would_not_start_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], judge: list[str]
) -> None:
    recipe = {
        "name": "served",
        "extends": "one-gpu",
        "inference": {"vllm": {"python": sys.executable, "gpus_per_server": 3}},
        "judge": {
            "reward": "distilled",
            "distill": {"vllm": {"python": sys.executable, "gpus_per_server": 3, "first_gpu": 3}},
        },
    }
    (tmp_path / "served.yaml").write_text(yaml.safe_dump(recipe))
    monkeypatch.setenv("WAYMARK_VLLM_KEY", "k" * 32)
    monkeypatch.setattr("components.cli.serve._become", lambda *_: pytest.fail("the server was started"))
    assert main.main(["serve", str(tmp_path / "served.yaml"), *judge]) == 1
    section = "judge.distill.vllm" if judge else "inference.vllm"
    assert f"{section}.gpus_per_server = 3: vLLM cannot divide the 16 attention heads" in capsys.readouterr().err


def test_every_recipe_that_ships_is_valid() -> None:
    done = waymark("validate", *map(str, sorted((ROOT / "recipes").glob("*.yaml"))))
    assert done.returncode == 0, done.stderr


def test_validate_takes_the_name_of_a_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["validate", "smoke", "smokey"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "recipes/smoke.yaml: ok\n"
    assert "smokey: no such recipe; there are " in printed.err


def test_validate_names_each_wrong_field_and_continues_with_the_next_file(tmp_path: Path) -> None:
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["rl"]["lr"] = -1
    raw["agent"]["colour"] = "red"
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(raw))
    done = waymark("validate", str(tmp_path / "bad.yaml"), "params.yaml")
    assert done.returncode == 1
    assert "rl.lr = -1" in done.stderr
    assert "agent.colour = 'red': unknown field; allowed" in done.stderr
    assert "params.yaml: ok" in done.stdout


def test_validate_refuses_families_that_are_unknown_or_have_no_teacher(tmp_path: Path) -> None:
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["worlds"]["miniwob"]["train"] = ["click-buton", "use-spinner"]
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(raw))
    done = waymark("validate", str(tmp_path / "bad.yaml"))
    assert done.returncode == 1
    assert "no family 'click-buton'; near it: click-button" in done.stderr
    assert "no plan for 'use-spinner'" in done.stderr


@pytest.mark.slow
def test_use_puts_a_valid_recipe_in_place_and_refuses_a_wrong_one(tmp_path: Path) -> None:
    text = (ROOT / "params.yaml").read_text()
    raw = yaml.safe_load(text)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/mine.yaml").write_text(yaml.safe_dump({**raw, "name": "mine"}))
    (tmp_path / "recipes/wrong.yaml").write_text(yaml.safe_dump({**raw, "seed": "many"}))
    (tmp_path / "params.yaml").write_text(text)
    assert waymark("use", "recipes/wrong.yaml", cwd=tmp_path).returncode == 1
    assert (tmp_path / "params.yaml").read_text() == text
    assert waymark("use", "mine", cwd=tmp_path).returncode == 0
    assert load(tmp_path / "params.yaml").name == "mine"


def test_use_writes_a_recipe_with_all_that_it_extends(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/base.yaml").write_text((ROOT / "recipes/demo.yaml").read_text())
    (tmp_path / "recipes/mine.yaml").write_text("extends: base\nname: mine\nrl: {objective: {name: m_grpo}}\n")
    done = waymark("use", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "params.yaml").read_text()
    assert "from recipes/mine.yaml, which extends recipes/base.yaml." in text
    assert yaml.safe_load(text)["rl"]["objective"]["kl"] == 0.001
    (tmp_path / "recipes/mine.yaml").write_text("extends: nothing\nname: mine\n")
    done = waymark("use", "mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "recipes/mine.yaml: extends = 'nothing': no such recipe; there are base" in done.stderr
    assert (tmp_path / "params.yaml").read_text() == text


def test_params_shows_how_a_recipe_differs_from_its_base() -> None:
    done = waymark("params", "--diff", "openwebrl-8b")
    assert done.stdout.splitlines() == [
        'name: "openwebrl-4b" -> "openwebrl-8b"',
        'model.base: "Qwen/Qwen3-VL-4B-Thinking" -> "Qwen/Qwen3-VL-8B-Thinking"',
        "rl.lr: 1e-06 -> 5e-07",
    ]
    lines = waymark("params", "--diff", "demo").stdout.splitlines()
    assert "agent.max_response_tokens: (none) -> 96" in lines
    assert [line for line in lines if line.endswith("-> (none)")] == []


def test_params_prints_a_whole_recipe_that_is_valid_again(tmp_path: Path) -> None:
    done = waymark("params")
    (tmp_path / "again.yaml").write_text(done.stdout)
    assert load(tmp_path / "again.yaml") == load(ROOT / "params.yaml")
    assert "clip_high: 0.28" in done.stdout


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8ffff3f0005fe02fe"
    "a7357d1a0000000049454e44ae426082"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder with one trajectory of one turn and its verdict."""
    task = Task(
        task_id="t1", intent="Click on OK", start_url="http://miniwob/x.html", website="miniwob", source="miniwob"
    )
    tab = Tab(index=0, title="x", url=task.start_url, active=True)
    seen = Observation(url=task.start_url, tabs=[tab], viewport=(160, 210), screenshot=Image.of(PNG))
    turn = Turn(
        index=0,
        observation=seen,
        prompt_sha256="0",
        prompt_tokens=1,
        response="<think>a thought to be found</think>",
        token_ids=[1],
        logprobs=[0.0],
        finish_reason="stop",
        tool_calls=[],
        feedback=[],
    )
    one = Trajectory(
        trajectory_id="abc123",
        task=task,
        attempt=0,
        policy="p",
        protocol="openwebrl",
        seed=0,
        turns=[turn],
        termination=Termination.MAX_STEPS,
    )
    verdict = Verdict(trajectory_id="abc123", outcome=Outcome.FAILURE, rationale="", judge="rules", judge_version="1")
    write_table(tmp_path / "trajectories.parquet", Trajectory, [one])
    write_table(tmp_path / "verdicts.parquet", Verdict, [verdict])
    return tmp_path / "trajectories.parquet"


def test_view_writes_the_page_of_a_trajectory(table: Path, tmp_path: Path) -> None:
    done = waymark("view", "abc123", "--table", str(table), "--out", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    assert "a thought to be found" in (tmp_path / "page.html").read_text()


def test_view_without_an_id_shows_the_first_trajectory(table: Path, tmp_path: Path) -> None:
    done = waymark("view", "--table", str(table), "--out", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    assert "a thought to be found" in (tmp_path / "page.html").read_text()


def test_view_lists_trajectories_and_names_what_is_missing(table: Path, tmp_path: Path) -> None:
    line = "abc123  1 turns  max_steps  reward -  t1  Click on OK"
    assert line in waymark("view", "--list", "--table", str(table)).stdout
    missing = waymark("view", "nope", "--table", str(table)).stderr
    assert f"no trajectory nope; `waymark view --list --table {table}` lists" in missing
    assert "run `make demo`" in waymark("view", cwd=tmp_path).stderr


@pytest.mark.parametrize("is_listing", [False, True])
@pytest.mark.parametrize("named", ["text.parquet", "folder", "verdicts.parquet"])
def test_view_refuses_what_is_no_table_of_trajectories(
    table: Path, capsys: pytest.CaptureFixture[str], named: str, is_listing: bool
) -> None:
    (table.parent / "text.parquet").write_text("no table")
    (table.parent / "folder").mkdir()
    path = table.parent / named
    assert main.main(["view", "--table", str(path), *(["--list"] if is_listing else [])]) == 1
    said = capsys.readouterr().err
    assert f"{path} is no table of trajectories that can be read (" in said
    assert "name another trajectories.parquet with --table" in said


def test_view_names_a_table_of_verdicts_that_is_damaged(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.with_name("verdicts.parquet").write_text("no table")
    assert main.main(["view", "--table", str(table), "--out", str(table.with_name("page.html"))]) == 1
    assert "verdicts.parquet is no table of verdicts that can be read (" in capsys.readouterr().err


@pytest.mark.parametrize(("reward", "shown"), [(1.0, "1"), (0.25, "0.25")])
def test_view_lists_the_reward_of_each_trajectory(
    table: Path, capsys: pytest.CaptureFixture[str], reward: float, shown: str
) -> None:
    rewarded = [trajectory.model_copy(update={"site_reward": reward}) for trajectory in read_table(table, Trajectory)]
    write_table(table, Trajectory, rewarded)
    assert main.main(["view", "--list", "--table", str(table)]) == 0
    assert f"max_steps  reward {shown}  t1" in capsys.readouterr().out


def test_view_does_not_replace_a_folder(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "mine.txt").write_text("mine")
    assert main.main(["view", "--table", str(table), "--out", str(pages)]) == 1
    assert f"--out {pages} is a folder: name a file, such as {pages}/page.html" in capsys.readouterr().err
    assert (pages / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("content", ["mine", "<!doctype html>\n<html><title>My notes</title></html>"])
def test_view_replaces_its_own_pages_and_no_other_files(
    content: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes, page = tmp_path / "notes.html", tmp_path / "page.html"
    notes.write_text(content)
    assert main.main(["view", "--table", str(table), "--out", str(notes)]) == 1
    assert f"--out {notes} exists and is no page of `waymark view`: name a new file" in capsys.readouterr().err
    assert notes.read_text() == content
    assert main.main(["view", "--table", str(table), "--out", str(page)]) == 0
    assert main.main(["view", "--table", str(table), "--out", str(page)]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["view", "--table", "{table}", "--out", "{file}/page.html"],
        ["plan", "demo", "--picture", "{file}/plan.svg"],
        ["judge", "review", "collect", "x", "--out", "{file}/labels.csv"],
        ["run", "look", "--url", "http://127.0.0.1:1/", "--out", "{file}"],
        ["tasks", "split", "x.jsonl", "--out", "{file}"],
        ["export", "{file}/new", "--format", "atif", "--table", "{table}"],
    ],
)
def test_a_place_beneath_a_file_is_refused_before_anything_starts(
    arguments: list[str], table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.txt"
    file.write_text("mine")
    assert main.main([argument.format(table=table, file=file) for argument in arguments]) == 1
    assert f"cannot be written, because {file} is a file: name another place" in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.parametrize("command", [["use"], ["validate"], ["evaluate"], ["view", "--table"]])
def test_a_name_that_is_too_long_for_a_file_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([*command, "a" * 300]) == 1
    assert "File name too long: give a shorter name" in capsys.readouterr().err


def test_a_full_disk_ends_with_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def write(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "params.yaml")

    monkeypatch.setattr("components.cli.clean.run", write)
    assert main.main(["clean"]) == 1
    assert "params.yaml: No space left on device: free some space" in capsys.readouterr().err


def test_use_does_not_replace_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").mkdir()
    assert main.main(["use", str(ROOT / "recipes/smoke.yaml")]) == 1
    assert "params.yaml is a folder, which no recipe replaces" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["params.yaml"]


@pytest.mark.parametrize("further", [["abc123"], ["--out", "page.html"]])
def test_a_list_of_trajectories_is_no_page(further: list[str], table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["view", "--list", "--table", str(table), *further]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("--list shows all trajectories and writes no page: leave out TRAJECTORY_ID and --out")
    assert printed.out == ""


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ("{nope: 1}", "--keys: nope = 1: unknown field; allowed here: "),
        ("[", "--keys [: not YAML: line 1, column 2: expected the node content"),
        ("3", "--keys: (recipe) = 3: must be a section, which is a mapping of its keys"),
    ],
)
def test_wrong_keys_of_a_world_are_refused_in_one_line(
    keys: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["world", "check", "city", "--keys", keys]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(reason)


def test_clean_keeps_the_state_of_a_running_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    state = state_dir("train_sft", "key")
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main.main(["clean"]) == 1
    assert "train_sft is running" in capsys.readouterr().err
    assert state.exists()
    assert main.main(["clean"]) == 0
    assert not state.exists()


@pytest.mark.parametrize("command", ["use", "validate", "study"])
def test_a_folder_is_no_recipe(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["--plan"] if command == "study" else []
    assert main.main([command, str(tmp_path), *plan]) == 1
    printed = capsys.readouterr()
    assert f"{tmp_path}: cannot be read (Is a directory)" in printed.out + printed.err


def test_clean_removes_journals_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (".waymark/state/train_rl/key/journal.jsonl", ".waymark/dvc.lock.good", "data/tasks/tasks.parquet"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    assert main.main(["clean"]) == 0
    assert not Path(".waymark/state").exists()
    assert Path(".waymark/dvc.lock.good").exists()
    assert Path("data/tasks/tasks.parquet").exists()
