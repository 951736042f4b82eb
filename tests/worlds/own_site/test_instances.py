"""The tasks of a site's templates: which instructions and rules they have."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from components.worlds.own_site import OwnSite, OwnSiteError, own_site, read_site
from components.worlds.own_site.image import ensure
from components.worlds.own_site.instances import Templates
from components.worlds.own_site.tables import copy_of
from tests.worlds.own_site.packages import Change, changed


def templates_of(package: Path, cache: Path, change: Change) -> Templates:
    """The templates of the package after a change of its `site.yaml`."""
    folder = changed(package, change)
    site = read_site(folder)
    return Templates(site, copy_of(ensure(site, folder, cache) / "todo.db"))


def with_note(site: dict) -> None:
    """A parameter that only the oracle of `finish_item` uses."""
    task = site["tasks"]["finish_item"]
    task["parameters"]["note"] = ["first", "second", "third"]
    task["oracle"] = [{"fill": {"field": "Note", "text": "{note}"}}]


def with_a_second_item(site: dict) -> None:
    """Two open items with one title, which no instruction can tell apart."""
    sql = "SELECT id, title FROM item WHERE done = 0 UNION ALL SELECT 99, 'Cut the hedge'"
    site["tasks"]["finish_item"]["parameters"] = {"item": {"sql": sql}}


def test_combinations_with_one_instruction_and_rule_are_one_task(written: Path, tmp_path: Path) -> None:
    templates = templates_of(written, tmp_path / "cache", with_note)
    with pytest.warns(UserWarning, match=r"tasks\.finish_item: 30 combinations of its parameters are 10 tasks"):
        assert templates.count("finish_item") == 10
    instances = templates.instances("finish_item", 1, 30)
    assert [instance.number for instance in instances] == [*range(1, 11)]
    assert len({instance.facts["item"]["id"] for instance in instances}) == 10


def test_tasks_of_distinct_instructions_keep_their_order(written: Path, tmp_path: Path) -> None:
    """The order of 0.1.0, which the names of the site and of the template decide."""
    templates = templates_of(written, tmp_path / "cache", lambda site: None)
    numbers = [instance.facts["item"]["id"] for instance in templates.instances("finish_item", 1, 4)]
    assert numbers == [12, 5, 9, 11]


def test_an_instruction_that_asks_for_two_things_is_refused(written: Path, tmp_path: Path) -> None:
    templates = templates_of(written, tmp_path / "cache", with_a_second_item)
    message = (
        r"tasks\.finish_item: the instruction '.*Cut the hedge.*' asks for one thing with item\[id\] = (1|99) and for "
        r"another with item\[id\] = (1|99): name \{item\[id\]\} in `intent`, or leave one of the two out"
    )
    with pytest.raises(OwnSiteError, match=message):
        templates.instances("finish_item", 1, 1)


def test_answers_tell_what_equal_instructions_ask_for(written: Path, tmp_path: Path) -> None:
    templates = templates_of(
        written,
        tmp_path / "cache",
        lambda site: site["tasks"]["count_open"].update(intent="How many things are to be done?"),
    )
    with pytest.raises(OwnSiteError, match=r"with place = 'office' .*|another with place = 'office'"):
        templates.count("count_open")


def test_an_instruction_of_training_is_no_instruction_of_evaluation(written: Path, world: OwnSite) -> None:
    def copied(site: dict) -> None:
        site["tasks"]["write_item"] = {**site["tasks"]["add_item"], "login": ""}

    folder = changed(written, copied)
    kind = own_site(str(folder / "__init__.py"))
    message = r"notes/\w+/\d+ is for training, notes/\w+/\d+ for evaluation, and both have .* one start page"
    with pytest.raises(OwnSiteError, match=message):
        asyncio.run(kind(kind.Params()).tasks(0, (800, 600)))


def with_another_word(site: dict) -> None:
    """`verb` is in the instruction alone, `note` in the oracle alone."""
    task = site["tasks"]["finish_item"]
    task["intent"] = '{verb} "{item[title]}".'
    task["parameters"] |= {"verb": ["Tick off", "Finish"], "note": ["first", "second"]}
    task["oracle"] = [{"fill": {"field": "Note", "text": "{note}"}}, {"click": "button Done with {item[title]}"}]


def test_a_variant_differs_in_what_the_oracle_does(written: Path, tmp_path: Path) -> None:
    templates = templates_of(written, tmp_path / "cache", with_another_word)
    with pytest.warns(UserWarning, match="40 combinations of its parameters are 20 tasks"):
        (instance,) = templates.instances("finish_item", 1, 1)
    (variant,) = templates.variants(instance).values()
    assert variant.facts == {**instance.facts, "item": variant.facts["item"]} != instance.facts


def test_a_variant_of_a_question_has_another_answer(written: Path, tmp_path: Path) -> None:
    """The garden and the kitchen have three open items each, the office four."""
    templates = templates_of(written, tmp_path / "cache", lambda site: None)
    instances = {instance.facts["place"]: instance for instance in templates.instances("count_open", 1, 3)}
    places = {place: templates.variants(instance)["place"].facts["place"] for place, instance in instances.items()}
    assert places == {"garden": "office", "kitchen": "office", "office": "garden"}


def test_a_plan_counts_merged_tasks_once(written: Path, world: OwnSite) -> None:
    kind = own_site(str(changed(written, with_note) / "__init__.py"))
    merged = kind(kind.Params.model_validate({"train": ["finish_item"]}))
    with pytest.warns(UserWarning, match="are 10 tasks"):
        rows, planned = asyncio.run(merged.tasks(0, (800, 600))), merged.planned_tasks(0, 0)
    assert Counter(row["split"] for row in rows) == planned == Counter(train=8, eval=2)


def test_the_start_page_tells_equal_instructions_apart(written: Path, tmp_path: Path) -> None:
    def on_its_page(site: dict) -> None:
        site["tasks"]["finish_item"] |= {"intent": "Finish this.", "start": "/item/{item[id]}"}

    templates = templates_of(written, tmp_path / "cache", on_its_page)
    instances = templates.instances("finish_item", 1, 30)
    assert len(instances) == len({instance.start_url for instance in instances}) == 10
