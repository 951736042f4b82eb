"""`waymark export`: what others read is what was stored, with images, a card, and no secrets."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from pathlib import Path

import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.cli.main import main
from components.evaluation.episodes import join_verdicts
from components.export import Origin, Source, dataset, export, export_as, recorded_seed
from components.export.columns import EPISODES, TURNS, Episode
from components.formats import format_named
from components.records import Outcome, RowChange, StateCheck, Termination, ToolCall, Trajectory, Verdict
from components.redaction import Redaction
from components.store import write_table
from tests.samples import a_task, a_trajectory, a_turn, a_verdict, png, shipped

CHANGE = RowChange(table="basket_line", key="7", before=None, after={"quantity": "2"})
PARTIAL = StateCheck(reward=0, credit=0.5, missing=["1 row of basket_line"], side_effects=["x"], changes=[CHANGE])
ORIGIN = Origin("Trajectories of a test", "apache-2.0", "smoke", "0.1", {"teacher": 3})
SECRET = 'q"9\\zebra'


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two training episodes, one of them judged, and a held-out one out of steps, which needs no verdict."""
    trajectories = [
        a_trajectory(a_task(1), turns=3, final_screenshot=png("red")),
        a_trajectory(a_task(2), turns=1),
        a_trajectory(
            a_task(3, split="heldout"), turns=2, state_check=PARTIAL, termination=Termination.MAX_STEPS, answer=None
        ),
    ]
    path = tmp_path / "data/teacher/trajectories.parquet"
    write_table(path, Trajectory, trajectories)
    write_table(path.with_name("verdicts.parquet"), Verdict, [a_verdict(trajectories[0])])
    return path


def rows(folder: Path, name: str, split: str) -> list[dict]:
    files = sorted((folder / name).glob(f"{split}-*.parquet"))
    return pa.concat_tables(pq.read_table(file) for file in files).to_pylist()


def header(folder: Path) -> dict:
    return yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])


def test_turns_and_episodes_are_read_back_by_split(table, tmp_path):
    export(Source.of([table]), tmp_path / "out", ORIGIN, str)
    turns = rows(tmp_path / "out", "turns", "train")
    assert [(row["turn"], row["intent"]) for row in turns] == [(turn, a_task().intent) for turn in (0, 1, 2, 0)]
    assert json.loads(turns[0]["tool_calls"]) == [
        {"name": "click", "arguments": {"coordinate": [512, 86]}, "error": None}
    ]
    episodes = rows(tmp_path / "out", "episodes", "train") + rows(tmp_path / "out", "episodes", "heldout")
    assert [row["success"] for row in episodes] == [True, None, False], "by the verdict, not judged, out of steps"
    assert [row["turns"] for row in episodes] == [3, 1, 2]
    assert (episodes[2]["state_credit"], episodes[2]["side_effects"]) == (0.5, ["x"])
    assert json.loads(episodes[2]["changes"]) == [CHANGE.model_dump()]
    assert not (tmp_path / "out/turns/eval-00000.parquet").exists()


ACCOUNT = {"id": "3", "password": "md5$salt$900a83d7", "secret_key": "dbee90f1", "city": "Ulm"}
LOGIN = {"session_key": "k7x9q2", "expires": "May"}
ROWS_WITH_SECRETS = StateCheck(
    reward=0,
    credit=0.5,
    missing=["a row of account (id 3) changed (password sw0rdfish)"],
    side_effects=[
        "also changed row 3 of account (city from Ulm to Rome)",
        "also changed row 4 of account (password from md5$salt$900a83d7 to md5$salt$11)",
        "also added 1 row to login (session_key k7x9q2, expires May)",
        "also removed 1 row from authtoken_token (key 40c81e, user 3)",
        "also changed row 40c81e of authtoken_token (user from 3 to 4)",
    ],
    changes=[
        RowChange(table="account", key="3", before=ACCOUNT, after=ACCOUNT | {"city": "Rome"}),
        RowChange(table="account", key="4", before=ACCOUNT, after=ACCOUNT | {"password": "md5$salt$11"}),
        RowChange(table="login", key="k7x9q2", before=None, after=LOGIN),
        RowChange(table="authtoken_token", key="40c81e", before={"key": "40c81e", "user": "3"}, after=None),
        RowChange(
            table="authtoken_token",
            key="40c81e",
            before={"key": "40c81e", "user": "3"},
            after={"key": "40c81e", "user": "4"},
        ),
        RowChange(
            table="setting", key="theme", before={"key": "theme", "pin": None}, after={"key": "theme", "pin": "1"}
        ),
    ],
)
PUBLIC_CHANGES = [
    {"table": "account", "key": "3", "before": {"city": "Ulm"}, "after": {"city": "Rome"}},
    {"table": "account", "key": "4", "before": {"password": "***"}, "after": {"password": "***"}},
    {"table": "login", "key": "***", "before": None, "after": {"session_key": "***", "expires": "May"}},
    {"table": "authtoken_token", "key": "***", "before": {"key": "***", "user": "3"}, "after": None},
    {"table": "authtoken_token", "key": "***", "before": {"user": "3"}, "after": {"user": "4"}},
    {"table": "setting", "key": "theme", "before": {"pin": None}, "after": {"pin": "***"}},
]
PUBLIC_SIDE_EFFECTS = [
    "also changed row 3 of account (city from Ulm to Rome)",
    "also changed row 4 of account (password ***)",
    "also added 1 row to login (session_key ***)",
    "also removed 1 row from authtoken_token (key ***)",
    "also changed row *** of authtoken_token (user from 3 to 4)",
]


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    """A table with an episode that changed accounts."""
    path = tmp_path / "teacher/trajectories.parquet"
    write_table(path, Trajectory, [a_trajectory(a_task(1), state_check=ROWS_WITH_SECRETS)])
    return path


def test_a_dataset_has_changed_columns_and_no_passwords(accounts, tmp_path):
    export(Source.of([accounts]), tmp_path / "out", ORIGIN, str)
    (row,) = rows(tmp_path / "out", "episodes", "train")
    assert json.loads(row["changes"]) == PUBLIC_CHANGES
    assert row["missing"] == ["a row of account (id 3) changed (password ***)"]
    assert row["side_effects"] == PUBLIC_SIDE_EFFECTS
    assert "the values of columns whose names mean a secret" in (tmp_path / "out/README.md").read_text()


def test_atif_has_changed_columns_and_no_passwords(accounts, tmp_path):
    export_as(format_named("atif"), Source.of([accounts]), tmp_path / "out", str)
    (file,) = (tmp_path / "out").rglob("trajectory.json")
    check = json.loads(file.read_text())["extra"]["waymark"]["state_check"]
    assert (check["changes"], check["side_effects"]) == (PUBLIC_CHANGES, PUBLIC_SIDE_EFFECTS)
    for secret in ("md5", "dbee90f1", "sw0rdfish", "k7x9q2", "40c81e"):
        assert secret not in file.read_text()


def test_numbers_that_json_cannot_hold_are_exported_as_texts(tmp_path):
    arguments = {"by": float("inf"), "to": [-float("inf"), {"x": float("nan")}], "at": 0.5}
    turn = a_turn(0, tool_calls=[ToolCall(name="scroll", arguments=arguments)])
    path = tmp_path / "teacher/trajectories.parquet"
    write_table(path, Trajectory, [a_trajectory(a_task(1)).model_copy(update={"turns": [turn]})])
    export(Source.of([path]), tmp_path / "out", ORIGIN, str)
    (row,) = rows(tmp_path / "out", "turns", "train")
    texts = {"by": "Infinity", "to": ["-Infinity", {"x": "NaN"}], "at": 0.5}
    assert json.loads(row["tool_calls"]) == [{"name": "scroll", "arguments": texts, "error": None}]


def test_screenshots_are_images_for_the_library_datasets(table, tmp_path):
    export(Source.of([table]), tmp_path / "out", ORIGIN, str)
    schema = pq.read_schema(tmp_path / "out/turns/train-00000.parquet")
    assert schema.field("screenshot").type == pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert features["screenshot"] == {"_type": "Image"}
    assert features["feedback"] == [{"dtype": "string", "_type": "Value"}]
    assert [*features] == schema.names
    image = rows(tmp_path / "out", "episodes", "train")[0]["final_screenshot"]
    assert PIL.Image.open(io.BytesIO(image["bytes"])).getpixel((0, 0)) == (255, 0, 0)
    assert image["path"].endswith(".png")


def test_the_card_names_licence_splits_and_every_column(table, tmp_path):
    export(Source.of([table]), tmp_path / "out", ORIGIN, str)
    assert header(tmp_path / "out")["license"] == "apache-2.0"
    for config in header(tmp_path / "out")["configs"]:
        assert [files["split"] for files in config["data_files"]] == ["heldout", "train"]
        for files in config["data_files"]:
            assert [*(tmp_path / "out").glob(files["path"])]
    text = (tmp_path / "out/README.md").read_text()
    assert all(f"| `{column.name}` |" in text for column in (*EPISODES, *TURNS))
    assert "| train | 2 | 4 |" in text
    assert "| teacher | 3 | `sample` | 1 | 1 | 1 |" in text
    assert "the recipe in use was then `smoke`" in text


def test_a_seed_is_recorded_for_the_very_file_that_a_run_made(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, content = table.relative_to(tmp_path), table.read_bytes()
    assert recorded_seed(path) is None, "without dvc.lock"
    made = {"path": path.as_posix(), "size": len(content), "md5": hashlib.md5(content).hexdigest()}
    stage = {"params": {"params.yaml": {"seed": 7}}, "outs": [{"path": "reports/stages/x.json"}, made]}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"stages": {"teacher_rollouts": stage}}))
    assert recorded_seed(path) == 7
    table.write_bytes(bytes(len(content)))
    assert recorded_seed(path) is None, "another content of the same size"
    (tmp_path / "dvc.lock").write_text("stages:\n  teacher_rollouts:\n")
    assert recorded_seed(path) is None


def test_a_lock_that_is_cut_off_anywhere_has_no_wrong_seed(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, content = table.relative_to(tmp_path), table.read_bytes()
    made = {"path": path.as_posix(), "hash": "md5", "md5": hashlib.md5(content).hexdigest(), "size": len(content)}
    outs = [{"path": "data/städte.json"}, made]
    stage = {"cmd": "python", "params": {"params.yaml": {"seed": 7, "name": "demo"}}, "outs": outs}
    lock = yaml.safe_dump({"schema": "2.0", "stages": {"a": stage}}, sort_keys=False, allow_unicode=True).encode()
    for length in range(len(lock)):
        (tmp_path / "dvc.lock").write_bytes(lock[:length])
        assert recorded_seed(path) in (None, 7), lock[:length]


@pytest.mark.parametrize("spelling", ["{folder}/data/teacher", "./data/teacher", "data/../data/teacher"])
def test_a_seed_is_known_for_every_spelling_of_a_path(table, tmp_path, monkeypatch, spelling):
    monkeypatch.chdir(tmp_path)
    content = table.read_bytes()
    made = {"path": "data/teacher/trajectories.parquet", "size": len(content), "md5": hashlib.md5(content).hexdigest()}
    stage = {"params": {"params.yaml": {"seed": 7}}, "outs": [made]}
    (tmp_path / "dvc.lock").write_text(yaml.safe_dump({"stages": {"teacher_rollouts": stage}}))
    assert recorded_seed(Path(spelling.format(folder=tmp_path)) / table.name) == 7


def test_a_table_without_a_folder_has_the_name_of_its_file():
    assert [source.name for source in Source.of([Path("mine.parquet"), Path("a/b.parquet")])] == ["mine.parquet", "a"]


def test_tables_in_folders_of_one_name_are_told_apart(project, table):
    """The seed of the one that `dvc.lock` records does not stand beside the other."""
    other = Path("run2/data/teacher/trajectories.parquet")
    write_table(other, Trajectory, [a_trajectory(a_task(9))])
    content = other.read_bytes()
    made = {"path": other.as_posix(), "size": len(content), "md5": hashlib.md5(content).hexdigest()}
    stage = {"params": {"params.yaml": {"seed": 7}}, "outs": [made]}
    Path("dvc.lock").write_text(yaml.safe_dump({"stages": {"teacher_rollouts": stage}}))
    tables = ["--table", str(table), "--table", str(other)]
    assert main(["export", "out", "--licence", "mit", *tables]) == 0
    mine = "data/teacher/trajectories.parquet"
    assert {row["origin"] for row in rows(Path("out"), "episodes", "train")} == {mine, other.as_posix()}
    card = Path("out/README.md").read_text()
    assert f"| {mine} | not recorded |" in card
    assert f"| {other} | 7 |" in card


@pytest.mark.parametrize(
    ("texts", "public"),
    [([83719264], ["***"]), (["mysql://root:change", "ada@example.org"], ["mysql://root:change", "ada@example.org"])],
)
def test_calls_are_json_whatever_is_removed_from_them(tmp_path, texts, public):
    """A secret typed as a number, and texts that together look like an address with a password."""
    turn = a_turn(0, tool_calls=[ToolCall(name="write", arguments={"text": text}) for text in texts])
    path = tmp_path / "teacher/trajectories.parquet"
    write_table(path, Trajectory, [a_trajectory(a_task(1), turns=0).model_copy(update={"turns": [turn]})])
    export(Source.of([path]), tmp_path / "out", ORIGIN, Redaction(["83719264"]))
    (row,) = rows(tmp_path / "out", "turns", "train")
    assert [call["arguments"]["text"] for call in json.loads(row["tool_calls"])] == public


@pytest.mark.slow
@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from([SECRET, "http://ada:swordfish@shop.test/"]))
def test_no_secret_is_in_any_text(before, after, secret):
    text = f"{before}{secret}{after}"
    call = ToolCall(name="write", arguments={"text": text, "more": [text]})
    change = RowChange(table="user", key="1", before={"note": text}, after=None)
    trajectory = a_trajectory(
        a_task(1, intent=text, evaluator={"type": "qa", "answers": [text]}),
        turns=0,
        answer=text,
        state_check=StateCheck(reward=0, credit=0, missing=[text], side_effects=[text], changes=[change]),
    )
    turn = a_turn(0, response=text, feedback=[text], tool_calls=[call], parse_error=text)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "teacher/trajectories.parquet"
        write_table(table, Trajectory, [trajectory.model_copy(update={"turns": [turn]})])
        export(Source.of([table]), Path(folder) / "out", ORIGIN, Redaction([SECRET]))
        exported = [rows(Path(folder) / "out", name, "train")[0] for name in ("turns", "episodes")]
    cells = [cell for row in exported for cell in row.values()]
    for known in (SECRET, json.dumps(SECRET)[1:-1], "swordfish"):
        assert known not in "\n".join(map(str, cells))
    assert "***" in exported[0]["response"]


def test_a_full_shard_is_followed_by_another(table, tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "SHARD_BYTES", 1)
    monkeypatch.setattr(dataset, "GROUP_ROWS", 3)
    export(Source.of([table]), tmp_path / "out", ORIGIN, str)
    names = sorted(path.name for path in (tmp_path / "out/turns").iterdir())
    assert names == ["heldout-00000.parquet", "train-00000.parquet", "train-00001.parquet"]
    assert [row["turn"] for row in rows(tmp_path / "out", "turns", "train")] == [0, 1, 2, 0]


@pytest.fixture
def project(table, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(yaml.safe_dump(shipped("smoke")))
    return tmp_path


def test_the_command_exports_what_stages_wrote(project, capsys, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "Click on the")
    assert main(["export", "out", "--licence", "mit", "--only", "success", "--secret", "SHOP_PASSWORD"]) == 0
    assert "train: 1 episodes, 3 turns" in capsys.readouterr().out
    assert header(project / "out")["license"] == "mit"
    assert rows(project / "out", "episodes", "train")[0]["intent"] == '*** "Ok" button.'


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["data"], "data exists and is not empty"),
        (["out", "--secret", "NOT_SET"], "--secret NOT_SET: the variable is not set"),
        (["out", "--table", "no.parquet"], r"no.parquet: no such file"),
        (["out", "--secret", "SHORT"], "the secret in SHORT has fewer than 6 characters"),
        (["out", "--table", "data/a/trajectories.parquet"], "no episode is left to export"),
        (["out", *["--table", "data/a/trajectories.parquet"] * 2], "a table is named twice; name each once"),
        (["out", "--licence", ""], "--licence '' is no name of the Hub: give one such as apache-2.0, or other"),
        (["out", "--licence", "Apache 2"], "--licence 'Apache 2' is no name of the Hub"),
        (["params.yaml/out"], "params.yaml/out cannot be written, because params.yaml is a file"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_nothing(project, capsys, monkeypatch, arguments, problem):
    monkeypatch.setenv("SHORT", "abc")
    write_table("data/a/trajectories.parquet", Trajectory, [])
    assert main(["export", "--licence", "mit", *arguments]) == 1
    assert problem in capsys.readouterr().err
    assert not Path("out").exists()
    assert not [*project.glob(".*.part")]


def test_a_short_secret_of_the_recipe_is_named_by_its_variable(project, capsys, monkeypatch):
    """For a server that asks for no key, people set one such as EMPTY."""
    monkeypatch.setenv("WAYMARK_VLLM_KEY", "EMPTY")
    assert main(["export", "out", "--licence", "mit"]) == 1
    assert "the secret in WAYMARK_VLLM_KEY has fewer than 6 characters" in capsys.readouterr().err
    monkeypatch.delenv("WAYMARK_VLLM_KEY")
    assert main(["export", "out", "--licence", "mit"]) == 0


@pytest.mark.parametrize("name", ["trajectories.parquet", "verdicts.parquet"])
def test_a_damaged_table_is_named(project, capsys, name):
    write_table("data/a/trajectories.parquet", Trajectory, [a_trajectory(a_task(1))])
    Path("data/a", name).write_bytes(b"PAR1 and no more")
    tables = ["--table", "data/a/trajectories.parquet"]
    assert main(["export", "out", "--licence", "mit", *tables]) == 1
    assert f"data/a/{name} is no table of {name.split('.')[0]} that can be read" in capsys.readouterr().err


def test_a_trajectory_in_two_tables_is_refused(project, table, capsys):
    write_table("data/b/trajectories.parquet", Trajectory, [a_trajectory(a_task(1))])
    tables = ["--table", str(table), "--table", "data/b/trajectories.parquet"]
    assert main(["export", "out", "--licence", "mit", *tables]) == 1
    assert "name one of them" in capsys.readouterr().err


SOLVED = StateCheck(reward=1, credit=1)


@pytest.mark.parametrize("late_actions", [None, 1])
@pytest.mark.parametrize("answer", [None, "Done."])
@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("ending", Termination)
def test_an_episode_succeeds_where_the_evaluation_says_so(ending, outcome, answer, late_actions):
    trajectory = a_trajectory(termination=ending, answer=answer, late_actions=late_actions, state_check=SOLVED)
    verdict = a_verdict(trajectory, outcome)
    (evaluated,) = join_verdicts([trajectory], [verdict])
    exported = Episode(trajectory, verdict, "teacher").success
    assert exported == (evaluated.success if ending.is_agents_doing else None)


def test_a_missing_verdict_is_no_failure_and_the_state_no_verdict():
    assert Episode(a_trajectory(state_check=SOLVED), None, "teacher").success is None
