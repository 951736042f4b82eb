"""Rules that name a table or a column that the application does not have are refused before a browser starts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from components.params import BrowserParams
from components.worlds.own_site import OwnSite, OwnSiteError, read_site
from components.worlds.own_site.schema import require_names
from components.worlds.own_site.tables import Snapshot, columns_of
from tests.worlds.own_site.packages import Change, changed

STATE = {
    "item": ["id", "title", "place", "person", "done"],
    "visit": ["path"],
    "audit": ["id", "at"],
    "issues": None,
}


def effect(site: dict, **values: object) -> None:
    site["tasks"]["add_item"]["effects"] = [values]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda site: effect(site, added="items"), "effects.0: the state has no table 'items'; near it: item"),
        (
            lambda site: effect(site, added="order"),
            "effects.0: the state has no table 'order'; it has item, visit, audit, issues",
        ),
        (
            lambda site: effect(site, added="item", values={"tittle": "{title}"}),
            "effects.0: the table item has no column 'tittle'; it has id, title, place, person, done",
        ),
        (lambda site: effect(site, changed="item", where={"nr": 1}), "effects.0: the table item has no column 'nr'"),
        (lambda site: effect(site, changed="item", also=["do", "t*"]), "effects.0: the table item has no column 'do'"),
        (
            lambda site: site["tasks"]["add_item"].update(may=[{"table": "audits"}]),
            "may.0: the state has no table 'audits'; near it: audit",
        ),
        (
            lambda site: site["tasks"]["add_item"].update(
                effects=[{"name": "new", "added": "item"}],
                may=[{"table": "audit", "values": {"id": {"key_of": "new", "column": "uuid"}}}],
            ),
            "may.0: the table item has no column 'uuid'",
        ),
    ],
)
def test_a_name_that_the_state_lacks_is_refused(written: Path, change: Change, problem: str) -> None:
    with pytest.raises(OwnSiteError) as caught:
        require_names(read_site(changed(written, change)), ["add_item"], STATE)
    assert f"\ntasks.add_item.{problem}" in str(caught.value)


@pytest.mark.parametrize(
    ("noise", "problem"),
    [
        (["visit", "audits"], "state.noise.1: the state has no table 'audits'; near it: audit"),
        (["item.person_"], "state.noise.0: the table item has no column 'person_'"),
        (["item.d*", "vis*", "*.at", "cache", "issues.seen"], None),
    ],
)
def test_noise_may_name_what_comes_later_but_misspells_nothing(
    written: Path, noise: list[str], problem: str | None
) -> None:
    site = read_site(changed(written, lambda site: site["state"].update(noise=noise)))
    if problem is None:
        require_names(site, [*site.tasks], STATE)
        return
    with pytest.raises(OwnSiteError, match=problem):
        require_names(site, [], STATE)


def test_rules_of_other_templates_patterns_and_later_tables_pass(written: Path) -> None:
    def change(site: dict) -> None:
        effect(site, added="no_table")
        site["tasks"]["finish_item"]["effects"] = [{"changed": "it*", "to": {"done": 1}}]
        site["tasks"]["finish_item"]["may"] = [{"table": "log"}, {"table": "issues", "values": {"any": 1}}]

    require_names(read_site(changed(written, change)), ["finish_item"], STATE)


def test_the_columns_of_a_state_are_those_of_its_databases_and_files(world: OwnSite) -> None:
    async def columns() -> dict[str, list[str] | None]:
        pages = world.site()
        try:
            return await pages.columns()
        finally:
            await pages.stop()

    found = asyncio.run(columns())
    assert found == {"item": STATE["item"], "visit": STATE["visit"]}
    assert columns_of(Snapshot({}, {"files": {}, "issues": {}})) == {"files": ["path", "text"], "issues": None}


def test_a_check_refuses_a_misspelled_table_without_a_browser(world: OwnSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.worlds.own_site.checking.BrowserPool", None)
    world.definition.tasks["add_item"].effects[0].__dict__["added"] = "items"

    async def check() -> list:
        return [task async for task in world.check(["add_item"], BrowserParams(), 1, 1)]

    with pytest.raises(OwnSiteError, match="near it: item"):
        asyncio.run(check())
