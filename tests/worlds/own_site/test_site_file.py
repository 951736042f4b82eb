"""What `site.yaml` may say, and what is wrong in one is named."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.worlds.own_site import OwnSiteError, read_site
from components.worlds.own_site.image import digest, ensure
from components.worlds.own_site.instances import Templates
from components.worlds.own_site.tables import copy_of
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
        (lambda site: site["tasks"]["add_item"].update(login="ola"), "no login 'ola' in logins, which has kim"),
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
        (lambda site: site.update(ready="login"), "ready: String should match pattern"),
        (lambda site: site["state"].update(files=["/etc/*.txt"]), "files.0: String should match pattern"),
        (lambda site: site.update(stray={"post": "/add", "as": "ola"}), "no login 'ola' in logins"),
        (lambda site: site.update(stray={"post": "add"}), "add must begin with /"),
        (lambda site: site["tasks"]["add_item"].update(start="add"), "start: String should match pattern"),
        (lambda site: site["tasks"]["add_item"].update(parameters={"title": ["a", True]}), "put it in quotes"),
        (lambda site: site["tasks"]["add_item"].update(intent="Add {title[name]}"), "which is no parameter"),
        (
            lambda site: site["tasks"]["add_item"].update(oracle=[{"scroll": {"direction": "down", "amount": [1]}}]),
            "the step .* float",
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
    task = {"intent": "How many items are open since 2024?"}
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
