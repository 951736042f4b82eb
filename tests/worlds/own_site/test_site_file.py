"""What `site.yaml` may say, and what is wrong in one is named."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
import yaml

from components.worlds.own_site import OwnSite, OwnSiteError, own_site, read_site
from components.worlds.own_site.image import digest, ensure
from components.worlds.own_site.instances import Templates
from components.worlds.own_site.site_file import Reset
from components.worlds.own_site.tables import copy_of
from tests.samples import recipe
from tests.worlds.own_site.packages import Change, changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda site: site.update(colour="red"), "colour: there is no such key; docs/reference/site-file.md has all"),
        (
            lambda site: site["tasks"]["finish_item"].update(
                parameters={"item": {"sql": "SELECT id, title FROM item WHERE id < 0"}}
            ),
            "finish_item.parameters.item has no values; its SQL finds no row .* let `prepare` make such rows",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(login="ola"),
            r"tasks\.add_item\.login = 'ola': there is no such login in logins, which has kim",
        ),
        (lambda site: site["tasks"]["add_item"].update(effects=[]), "a task needs a rule"),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"klick": "button Add"}]),
            "is none of `click: button Save`",
        ),
        (
            lambda site: site.update(requires={"no-such-program": "apt-get install it"}),
            "no-such-program is not installed",
        ),
        (lambda site: site["tasks"]["add_item"].update(intent="Add {titel}"), "names 'titel', which is no parameter"),
        (lambda site: site["tasks"]["count_open"].update(answer={"number": {"sql": "SELECT x"}}), "no such column: x"),
        (
            lambda site: site["tasks"]["count_open"].update(answer={"phrase": {"sql": "SELECT NULL"}}),
            "finds a row without a value",
        ),
        (lambda site: site["tasks"]["count_open"].update(answer={"names": ["Ann"]}), "`names` needs `among`"),
        (lambda site: site.update(tasks=["add_item"]), "tasks must be a mapping of names to tasks, not list"),
        (
            lambda site: site.update(origin="http://notes.test:80"),
            "origin: http://notes.test:80 must be http:// and a host",
        ),
        (lambda site: site.update(ready="login"), "ready: String should match pattern"),
        (lambda site: site["state"].update(files=["/etc/*.txt"]), r"state\.files\.0: /etc/\*\.txt leads out of \$DATA"),
        (
            lambda site: site["state"].update(files=["pages/../../*"]),
            r"state\.files\.0: pages/\.\./\.\./\* leads out of",
        ),
        (lambda site: site["state"].update(files=[""]), r"state\.files\.0: a pattern of files is empty"),
        (lambda site: site["state"].update(files=["."]), r"state\.files\.0: a pattern of files is empty"),
        (lambda site: site["state"].update(files=["pages/**.txt"]), r"`\*\*` .* is a whole part of a path"),
        (
            lambda site: site["state"].update(sqlite=["a/app.db", "b/app.sqlite"]),
            r"state: the tables of both a/app\.db and b/app\.sqlite would be named `app:",
        ),
        (
            lambda site: site["state"].update(files=["*.txt"], json={"files": {"get": "/api"}}),
            "state: state.files is the table `files`: give the list of state.json another name",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"fill": {"field": "New item", "text": True}}]),
            "text: YAML reads this as a boolean .*, True: put the text in quotes",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"choose": {"select": "Size", "option": None}}]),
            "option has no value, as YAML reads ~ and null, too: put the text in quotes",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"fill": {"field": "Price", "text": 1.5}}]),
            "text: YAML reads this as a number with a fraction, 1.5: put the text in quotes",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"press": [False]}]),
            "press: YAML reads this as a boolean",
        ),
        (
            lambda site: site["tasks"]["finish_item"].update(parameters={"item": {"sql": "SELECT x'00ff' AS photo"}}),
            r"parameters\.item: .* finds bytes \(a BLOB\) in photo; convert them in the SQL, by hex\(photo\)",
        ),
        (
            lambda site: site["tasks"]["count_open"].update(answer={"phrase": {"sql": "SELECT x'41' AS name"}}),
            r"finds bytes \(a BLOB\) in name; convert them in the SQL",
        ),
        (lambda site: site.update(stray={"post": "/add", "as": "ola"}), r"stray\.as = 'ola': there is no such login"),
        (lambda site: site.update(stray={"post": "add"}), "add must begin with /"),
        (lambda site: site["tasks"]["add_item"].update(start="add"), "start: String should match pattern"),
        (lambda site: site["tasks"]["add_item"].update(parameters={"title": ["a", True]}), "put it in quotes"),
        (lambda site: site["tasks"]["add_item"].update(intent="Add {title[name]}"), "which is no parameter"),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"scroll": {"direction": "down", "amount": [1]}}]),
            "the step .* float",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"click": {"role": "button", "nam": "Delete"}}]),
            "click has no key 'nam'; its keys: role, name",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"scroll": {"direction": "sideways", "amount": 1}}]),
            "direction must be one of up, down, left, right, not 'sideways'",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(parameters={"title": [datetime.date(2026, 1, 5)]}),
            r"parameters\.title: YAML reads 2026-01-05 as a date: put it in quotes",
        ),
        (
            lambda site: site["tasks"]["add_item"]["effects"][0].update(values={"title": datetime.date(2026, 1, 5)}),
            "YAML reads 2026-01-05 as a date: put it in quotes",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(
                parameters={"title": {"sql": "SELECT 'a' UNION SELECT NULL"}}
            ),
            r"parameters\.title.* finds a row without a value \(NULL\); leave such rows out",
        ),
        (
            lambda site: site["tasks"]["add_item"]["effects"][0].update(values={"owner": {"key_of": "opened"}}),
            "key_of: opened is no earlier effect of the task; earlier ones: none has a `name`",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(
                effects=[{"name": "opened", "added": "item"}, {"name": "opened", "added": "item"}]
            ),
            "two effects have the name opened",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(
                requests=[{"get": "/", "json": {"id": {"key_of": "opened"}}}]
            ),
            "`key_of` ties rows of `effects` and `may`; a response has no row",
        ),
    ],
)
def test_what_is_wrong_in_a_site_file_is_named(written: Path, tmp_path: Path, change: Change, message: str) -> None:
    folder = changed(written, change)

    def read_all() -> None:
        site = read_site(folder)
        templates = Templates(site, copy_of(ensure(site, folder, tmp_path / "cache") / "todo.db"))
        for name in site.tasks:
            templates.instances(name, 1, 1)

    with pytest.raises(OwnSiteError, match=message):
        read_all()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "logins: {kim: [{post: /login, form: {p: 1234}}]}",
            "logins.kim.0.form.p: YAML reads this as 1234, which is no text: put it in quotes",
        ),
        ("logins: {kim: {sid: 12}}", "logins.kim.sid: YAML reads this as 12, which is no text: put it in quotes"),
        (
            "logins: {kim: [{post: /login, forms: {}}]}",
            "logins.kim.0.forms: there is no such key; docs/reference/site-file.md has all",
        ),
        (
            "tasks: {a: {intent: b, page: {}, parameters: {p: 5}}}",
            "tasks.a.parameters.p: Input should be a valid list or a valid dictionary",
        ),
        (
            "tasks: {a: {intent: b, page: {}, parameters: {p: [~, 2]}}}",
            "tasks.a.parameters.p: None is no value of a parameter, which is a text or a number",
        ),
        (
            "tasks: {a: {intent: b, requests: [{get: /, json: {on: 1}}]}}",
            "tasks.a.requests.0.json: YAML reads the key as True, which is no text: put it in quotes",
        ),
        (
            "tasks: {a: {intent: b, answer: {phrase: [12]}}}",
            "tasks.a.answer.phrase.0: YAML reads this as 12, which is no text: put it in quotes",
        ),
        ("reset: ~", "reset: Input should be a valid dictionary or instance of Reset"),
    ],
)
def test_a_wrong_place_of_a_site_file_has_one_line(tmp_path: Path, text: str, line: str) -> None:
    (tmp_path / "site.yaml").write_text(f"name: notes\nstart: exec true\n{text}\n")
    with pytest.raises(OwnSiteError) as raised:
        read_site(tmp_path)
    assert str(raised.value).splitlines() == [f"{tmp_path / 'site.yaml'} is wrong:", f"  {line}"]


def test_a_misspelled_form_of_a_value_is_compared_with_the_nearest(tmp_path: Path) -> None:
    task = "{intent: b, requests: [{get: /, json: {c: {contain: d}}}]}"
    (tmp_path / "site.yaml").write_text(f"name: notes\nstart: exec true\ntasks: {{a: {task}}}\n")
    place = "tasks.a.requests.0.json.c"
    with pytest.raises(OwnSiteError, match=rf"{place}\.contains: Field required\n  {place}\.contain: there is no such"):
        read_site(tmp_path)


PYTHON_TASKS = """
TASKS = {
    f"rename_{title.lower()}": {
        "intent": f"Rename {title} to {{new}}.",
        "parameters": {"new": ["Tea", "Bread"]},
        "effects": [{"changed": "item", "where": {"title": title}, "to": {"title": "{new}"}}],
    }
    for title in ("Milk", "Oats")
}
"""


def test_a_python_file_makes_templates_beside_those_of_yaml(written: Path) -> None:
    folder = written / "waymark_notes"
    names = set(read_site(folder).tasks)
    (folder / "tasks.py").write_text(PYTHON_TASKS)
    (folder / "oracles").mkdir(exist_ok=True)
    (folder / "oracles/rename_milk.yaml").write_text("- click: button Rename\n")
    for _ in range(2):  # the second reading finds the file as the first one did
        tasks = read_site(folder).tasks
        assert set(tasks) == names | {"rename_milk", "rename_oats"}
        assert tasks["rename_oats"].intent == "Rename Oats to {new}."
        assert [task.oracle is None for task in (tasks["rename_milk"], tasks["rename_oats"])] == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tasks = {}", r"tasks\.py must define TASKS, a mapping of names to tasks"),
        ("TASKS = ['a']", r"tasks\.py must define TASKS"),
        ("import json\nTASKS = json.loads('{')", r"tasks\.py, line 2: JSONDecodeError: .*; correct the file"),
        ("TASKS = {", r"tasks\.py: SyntaxError: .*; correct the file"),
        ("TASKS = {'add_item': {'intent': 'a'}}", r"add_item: in site\.yaml and in tasks\.py of .*; remove one"),
        ("TASKS = {'a': {'intent': 'b'}}", "a: a task needs a rule"),
        ("TASKS = {'a': {'intent': print, 'page': {}}}", r"a\.intent"),
    ],
)
def test_what_is_wrong_in_a_python_file_of_tasks_is_named(written: Path, text: str, message: str) -> None:
    folder = written / "waymark_notes"
    (folder / "tasks.py").write_text(text)
    with pytest.raises(OwnSiteError, match=message):
        read_site(folder)


@pytest.mark.parametrize("number", ["12:30", "007", "1_000", "0x1F", "+4912", "1:30.5", "1_0.5"])
@pytest.mark.parametrize("file", ["site.yaml", "tasks.yaml", "oracles/add_item.yaml"])
def test_a_number_that_would_lose_its_text_is_refused(written: Path, file: str, number: str) -> None:
    folder = changed(written, lambda site: site["tasks"]["add_item"].pop("oracle"))
    path = folder / file
    path.parent.mkdir(exist_ok=True)
    text = path.read_text() if path.exists() else ""
    path.write_text(f"{text}\nkey: {number}\n")
    line = text.count("\n") + 2
    message = f"{file} cannot be read: line {line}, column 6: YAML reads {number} as a number .*: put it in quotes"
    with pytest.raises(OwnSiteError, match=re.escape(message).replace(r"\.\*", ".*")):
        read_site(folder)


def test_numbers_and_texts_in_quotes_are_read_as_written(written: Path) -> None:
    folder = changed(written, lambda site: site["tasks"]["add_item"].pop("oracle"))
    (folder / "oracles").mkdir()
    (folder / "oracles/add_item.yaml").write_text("- fill: {field: '007', text: 7}\n- press: [0, '12:30', -5]\n")
    oracle = read_site(folder).tasks["add_item"].oracle
    assert oracle == [{"fill": {"field": "007", "text": 7}}, {"press": [0, "12:30", -5]}]


@pytest.mark.parametrize(
    ("command", "varies"),
    [
        ('./make "$SEED"', True),
        ("make ${SEED}", True),
        ("make ${SEED:-1}", True),
        ('cp "$SITE/SEED_DATA.db" app.db', False),
        ("echo $SEEDS; npm run RESEED", False),
    ],
)
def test_only_a_reset_that_uses_the_seed_varies(command: str, varies: bool) -> None:
    assert Reset(command=command).varies is varies


def test_a_file_of_steps_that_is_no_yaml_is_named(written: Path) -> None:
    folder = changed(written, lambda site: site["tasks"]["add_item"].pop("oracle"))
    (folder / "oracles").mkdir(exist_ok=True)
    (folder / "oracles/add_item.yaml").write_text("- click: [")
    with pytest.raises(OwnSiteError, match=r"oracles/add_item.yaml cannot be read"):
        read_site(folder)


def test_a_file_of_steps_that_is_nested_without_end_is_named(written: Path) -> None:
    folder = changed(written, lambda site: site["tasks"]["add_item"].pop("oracle"))
    (folder / "oracles").mkdir(exist_ok=True)
    (folder / "oracles/add_item.yaml").write_text("[" * 5000)
    with pytest.raises(OwnSiteError, match=r"oracles/add_item.yaml cannot be read: line 1, column 65: more than 64 "):
        read_site(folder)


def test_what_stands_twice_is_named(written: Path) -> None:
    folder = written / "waymark_notes"
    text = (folder / "site.yaml").read_text()
    tasks = {"add_item": yaml.safe_load(text)["tasks"]["add_item"]}
    (folder / "tasks.yaml").write_text(yaml.safe_dump(tasks))
    with pytest.raises(OwnSiteError, match=r"add_item: in site\.yaml and in tasks\.yaml"):
        read_site(folder)
    (folder / "tasks.yaml").unlink()
    (folder / "site.yaml").write_text(f"{text}\nready: /other\nready: /another\n")
    with pytest.raises(OwnSiteError, match="found 'ready' twice"):
        read_site(folder)


@pytest.mark.parametrize(("said", "is_replayable"), [({}, False), ({"replayable": True}, True)])
def test_a_site_says_whether_its_pages_can_be_reached_again(written: Path, said: dict, is_replayable: bool) -> None:
    folder = changed(written, lambda site: site.update(said))
    assert own_site(str(folder / "__init__.py")).replayable is is_replayable


def test_a_name_with_an_underscore_has_a_host_that_servers_accept(written: Path) -> None:
    folder = changed(written, lambda site: site.update(name="my_notes"))
    assert read_site(folder).address == "http://my-notes.test"


@pytest.mark.parametrize("number", ["123456789.12", "12345678901.5", "1234567.8912", "0.1", "250000.0"])
def test_a_number_of_sql_keeps_its_digits(written: Path, tmp_path: Path, number: str) -> None:
    answer = {"number": {"sql": f"SELECT {number}"}}
    folder = changed(written, lambda site: site["tasks"]["count_open"].update(answer=answer))
    site = read_site(folder)
    templates = Templates(site, copy_of(ensure(site, folder, tmp_path / "cache") / "todo.db"))
    (instance,) = templates.instances("count_open", 1, 1)
    assert instance.expected.accepts(number)
    assert instance.expected.accepts(instance.expected.example)


def test_what_the_recipe_cannot_do_is_a_problem(world: OwnSite) -> None:
    params = recipe()
    assert world.problems(params) == []
    world.definition.tasks["add_item"].__dict__["oracle"] = None
    (problem,) = world.problems(params)
    assert problem.startswith("train: add_item without an oracle, which teacher.policy = scripted plays")
    world.definition.__dict__.update(start_timeout_s=61.0, reset=Reset())
    assert "browser.start_timeout_s = 60, within which an episode begins" in world.problems(params)[1]


def test_an_oracle_that_is_longer_than_the_teachers_turns_is_a_problem(world: OwnSite) -> None:
    params = recipe()
    limit = params.teacher.max_steps
    oracle = [{"click": "button Add"}] * (limit - 1)
    world.definition.tasks["add_item"].__dict__["oracle"] = oracle
    assert world.problems(params) == []
    world.definition.tasks["add_item"].__dict__["oracle"] = [*oracle, {"back": None}]
    (problem,) = world.problems(params)
    assert problem.startswith(
        f"train: the oracle needs more turns than teacher.max_steps = {limit} in add_item ({limit + 1}),"
    )


def test_a_database_that_prepare_did_not_make_is_named(world: OwnSite) -> None:
    world.definition.state.__dict__["sqlite"] = ["data/todo.db"]
    with pytest.raises(OwnSiteError, match=r"state\.sqlite: `prepare` of notes made no data/todo\.db"):
        world.templates()


def test_tasks_may_stand_beside_an_empty_section(written: Path) -> None:
    folder = changed(written, lambda site: None)
    content = yaml.safe_load((folder / "site.yaml").read_text())
    (folder / "tasks.yaml").write_text(yaml.safe_dump(content["tasks"]))
    (folder / "site.yaml").write_text(yaml.safe_dump(content | {"tasks": None}))
    assert read_site(folder).tasks.keys() == content["tasks"].keys()


def test_equal_values_of_a_parameter_are_one_task(written: Path, tmp_path: Path) -> None:
    titles = {"title": ["One", "Two", "One", "Three", "Two"]}
    folder = changed(written, lambda site: site["tasks"]["add_item"].update(parameters=titles))
    site = read_site(folder)
    templates = Templates(site, copy_of(ensure(site, folder, tmp_path / "cache") / "todo.db"))
    found = templates.instances("add_item", 1, 9)
    assert sorted(instance.facts["title"] for instance in found) == ["One", "Three", "Two"]


def test_numbers_of_the_instruction_may_be_repeated(written: Path, tmp_path: Path) -> None:
    task = {"intent": "How many items of the {place} are open since 2024?"}
    folder = changed(written, lambda site: site["tasks"]["count_open"].update(task))
    site = read_site(folder)
    templates = Templates(site, copy_of(ensure(site, folder, tmp_path / "cache") / "todo.db"))
    (instance,) = templates.instances("count_open", 1, 1)
    right = instance.answer["number"]
    assert instance.expected.accepts(f"{right} items are open since 2024.")
    assert not instance.expected.accepts("2024")


def test_the_first_data_do_not_depend_on_compiled_files(written: Path) -> None:
    folder = written / "waymark_notes"
    before = digest(read_site(folder), folder)
    (folder / "inner/__pycache__").mkdir(parents=True)
    (folder / "inner/__pycache__/app.pyc").write_bytes(b"compiled")
    assert digest(read_site(folder), folder) == before
