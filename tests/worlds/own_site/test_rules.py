"""Rules on JSON responses and on open pages, of a site whose state is only seen through its API."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from components.browser import BrowserPool
from components.params import BrowserParams
from components.records import RowChange, StateCheck, Task, ToolCall
from components.worlds.answers import Names
from components.worlds.own_site import OwnSite, OwnSiteError, image, read_site
from components.worlds.own_site.application import Application, at_place
from components.worlds.own_site.instances import Instance
from components.worlds.own_site.site import failure
from components.worlds.own_site.tables import differences
from components.worlds.own_site.task_file import RequestRule
from components.worlds.own_site.texts import address, is_at
from tests.worlds.own_site.packages import changed

API = """
    def do_GET(self) -> None:
        if self.path == "/api/items":
            import json
            rows = execute("SELECT id, title, person, done FROM item")
            rows = [{"id": i, "title": t, "by": {"name": p}, "done": d, "read": time.time()} for i, t, p, d in rows]
            answer = json.dumps({"data": {"items": rows}, "open": True})
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\n\\r\\n" + answer.encode())
            return
        self.show()

    def show(self) -> None:
"""
STATE = {"json": {"items": {"get": "/api/items", "rows": "data.items"}}, "noise": ["items.read"]}


def by_api(site: dict) -> None:
    """The state is what the API says, and the stray write is a request."""
    site["state"] = STATE
    site["stray"] = {"post": "/add", "form": {"title": "stray"}}
    site["tasks"] = {"add_item": {**site["tasks"]["add_item"], "parameters": {"title": ["Buy bread", "Buy tea"]}}}
    site["tasks"]["add_item"]["effects"] = [
        {"added": "items", "values": {"title": "{title}", "done": 0, "by": {"contains": "kim"}}}
    ]
    site.pop("reset")


@pytest.fixture
def folder(written: Path) -> Path:
    app = written / "waymark_notes/app.py"
    text = app.read_text().replace("    def do_GET(self) -> None:\n", API.lstrip("\n"), 1)
    app.write_text(text.replace("import sys\n", "import sys\nimport time\n", 1))
    return changed(written, by_api)


@pytest.fixture
def application(folder: Path, tmp_path: Path) -> Iterator[Application]:
    site = read_site(folder)
    with contextlib.closing(Application(site, folder, image.ensure(site, folder, tmp_path / "cache"))) as running:
        running.reset()
        yield running


def add(application: Application, title: str) -> None:
    application.client("kim")._send("POST", "/add", {}, data={"title": title})


def test_a_list_of_an_api_is_compared_like_a_table(application: Application, folder: Path) -> None:
    site = read_site(folder)
    before = application.snapshot()
    add(application, "Buy bread")
    changes = differences(before, application.snapshot(), site.state.noise, site.state.keys)
    assert [(change.table, change.before) for change in changes] == [("items", None)]
    row = changes[0].after
    assert row is not None
    assert {key: value for key, value in row.items() if key != "read"} == {
        "id": "14",
        "title": "Buy bread",
        "by": '{"name": "kim"}',
        "done": "0",
    }
    instance = Instance(site, "add_item", 1, {"title": "Buy bread"}, {})
    assert instance.check(changes, None).reward == 1
    add(application, "Buy tea")
    changes = differences(before, application.snapshot(), site.state.noise, site.state.keys)
    check = instance.check(changes, None)
    assert (check.reward, len(check.side_effects)) == (0, 1)
    assert "Buy tea" in check.side_effects[0]


def test_without_noise_what_an_api_computes_is_a_change(application: Application) -> None:
    before = application.snapshot()
    assert len(differences(before, application.snapshot())) == 13
    assert differences(before, application.snapshot(), ["items.read"]) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"get": "/api/items", "rows": "data.lists"}, r"state\.json\.items: /api/items \(status 200\) has no list"),
        ({"get": "/api/items", "rows": "data.items", "key": "uuid"}, "with 'uuid' at data.items"),
        ({"get": "/"}, r"/ \(status 200\) has no list of objects with 'id' at its top"),
        (
            {"get": "/api/items", "rows": "data.items", "key": "done"},
            "state.json.items: two items of /api/items have the done [01]: name a field that identifies an item",
        ),
    ],
)
def test_a_response_of_another_shape_is_named(written: Path, folder: Path, tmp_path: Path, rows, message) -> None:
    folder = changed(written, lambda site: site["state"]["json"].update(items=rows))
    site = read_site(folder)
    application = Application(site, folder, image.ensure(site, folder, tmp_path / "cache"))
    with contextlib.closing(application):
        application.reset()
        with pytest.raises(OwnSiteError, match=message):
            application.snapshot()


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ({"json": {"data.items.0.title": "{first}"}}, None),
        ({"json": {"data.items.0.by.name": "ada", "data.items.0.done": 0}}, None),
        ({"json": {"data.items.0.title": {"contains": "hedge"}}}, None),
        ({"json": {"data.items.0.done": 1}}, "/api/items has data.items.0.done = 0"),
        ({"json": {"open": "{flag}"}}, None),
        ({"json": {"open": True, "data.items.0.by": '{{"name": "ada"}}'}}, None),
        ({"json": {"open": "no"}}, "/api/items has open = true"),
        ({"json": {"data.items.99.title": "x"}}, "/api/items has no data.items.99.title"),
        ({"json": {"data.colour": "x"}}, "/api/items has no data.colour"),
        ({"lacks": "HEDGE"}, "/api/items contains 'HEDGE'"),
        ({"status": 404}, "/api/items has the status 200, not 404"),
    ],
)
def test_a_rule_on_a_response_says_what_is_wrong(application: Application, rule, sentence) -> None:
    parsed = RequestRule.model_validate({"get": "/api/items", "as": "kim", **rule})
    assert failure(parsed, application, {"first": "Cut the hedge", "flag": "true"}) == sentence


def test_a_place_in_json_goes_through_lists_and_mappings() -> None:
    content = {"a": [{"b": 1}, {"b": [2, 3]}]}
    assert at_place(content, "a.1.b.0") == 2
    assert at_place(content, "") == content
    with pytest.raises(IndexError):
        at_place(content, "a.2")


@pytest.mark.slow
@pytest.mark.timeout(100)
def test_a_rule_on_the_page_looks_at_every_open_tab(world: OwnSite, written: Path) -> None:
    def by_page(site: dict) -> None:
        site["tasks"]["add_item"].update(effects=[], page={"url": "*/list?of={title}", "contains": "TO DO, kim"})

    folder = changed(written, by_page)
    world = type("Changed", (type(world),), {"definition": read_site(folder)})(world.params)
    instances = world.templates().instances("add_item", 1, 12)
    (instance,) = [instance for instance in instances if instance.facts["title"] == "Buy bread"]
    task = Task.model_validate(instance.row("eval"))
    right, wrong = "http://notes.test/list?of=Buy bread", "http://notes.test/list?of=Buy"

    async def check(pool: BrowserPool, *addresses: str) -> StateCheck | None:
        async with pool.session(task) as session:
            await session.start(task)
            for at, address in enumerate(addresses):
                calls = [ToolCall(name="new_tab", arguments={})] if at else []
                await session.step([*calls, ToolCall(name="goto_url", arguments={"url": address})])
            return await session.check_state()

    async def checks() -> list[StateCheck | None]:
        async with BrowserPool(BrowserParams(concurrency=1, quiet_ms=60), world.site(), "elements") as pool:
            return [await check(pool, *addresses) for addresses in ((), (wrong,), (right,), (right, wrong))]

    results = asyncio.run(checks())
    assert [result and result.reward for result in results] == [0, 0, 1, 1]
    assert results[0] is not None
    assert results[0].missing == ["no open page has the address */list?of=Buy bread and the text 'TO DO, kim'"]


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("Milk", "/search/Milk?q=Milk"),
        ("Salt & pepper", "/search/Salt%20%26%20pepper?q=Salt%20%26%20pepper"),
        ("C# book", "/search/C%23%20book?q=C%23%20book"),
        ("50%26 off", "/search/50%2526%20off?q=50%2526%20off"),
        ("1+1", "/search/1%2B1?q=1%2B1"),
        ("a/b", "/search/a/b?q=a/b"),
        ("two\nlines", "/search/two%0Alines?q=two%0Alines"),
    ],
)
def test_a_parameter_of_a_path_stands_for_itself(written: Path, title: str, path: str) -> None:
    def change(site: dict) -> None:
        site["tasks"]["add_item"].update(
            start="/search/{title}?q={title}",
            requests=[{"get": "/search/{title}?q={title}"}],
            oracle=[{"goto": "/search/{title}?q={title}"}],
        )

    instance = Instance(read_site(changed(written, change)), "add_item", 0, {"title": title}, {})
    (step,) = instance.template.steps(instance.facts, "http://notes.test")
    assert [call.arguments for call in step.calls({})] == [{"url": f"http://notes.test{path}"}]
    assert instance.row("eval")["start_url"] == f"http://notes.test{path}"
    asked = Asked()
    assert failure(instance.template.requests[0], asked, instance.facts) is None
    assert asked.paths == [path]


class Asked:
    """An application that answers and notes the paths of the requests."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def client(self, user: str) -> Asked:
        """Itself."""
        return self

    def get(self, path: str) -> httpx.Response:
        """An empty page."""
        self.paths.append(path)
        return httpx.Response(200)


def test_a_parameter_at_the_beginning_of_a_path_is_one_with_its_query() -> None:
    facts = {"page": {"path": "/list?of=a%20b"}, "order": "up & down"}
    assert address("{page[path]}&order={order}", facts) == "/list?of=a%20b&order=up%20%26%20down"


@pytest.mark.parametrize(
    ("shown", "matches"),
    [
        ("http://notes.test/a%5B1%5D?x", True),
        ("http://notes.test/a[1]?x", True),
        ("http://notes.test/a1?x", False),
        ("http://notes.test/b%5B1%5D", False),
    ],
)
def test_a_parameter_in_an_address_stands_for_itself(shown, matches) -> None:
    assert is_at(shown, "*/{name}*", {"name": "a[1]"}) == matches


def test_rows_of_effects_and_of_may_are_tied_to_their_parent(written: Path) -> None:
    def tied(site: dict) -> None:
        site["tasks"]["add_item"]["effects"] = [
            {"name": "opened", "added": "list", "values": {"title": "{title}"}},
            {"added": "item", "values": {"list": {"key_of": "opened"}}},
        ]
        site["tasks"]["add_item"]["may"] = [
            {"table": "log", "values": {"list": {"key_of": "opened", "column": "uuid"}}}
        ]

    instance = Instance(read_site(changed(written, tied)), "add_item", 0, {"title": "Shopping"}, {})

    def added(table: str, key: str, **values: str) -> RowChange:
        return RowChange(table=table, key=key, before=None, after=values)

    opened = added("list", "7", title="Shopping", uuid="f00")
    item, log = added("item", "1", list="7"), added("log", "2", list="f00")
    assert instance.check([opened, item, log], "").reward == 1
    assert instance.check([opened, added("item", "1", list="8")], "").reward == 0, "an item of another list"
    assert instance.check([opened, item, added("log", "2", list="7")], "").reward == 0, "a log of another list"


@pytest.mark.parametrize(
    ("version", "stored", "is_equal"),
    [("1.10", "1.1", True), ({"text": "{title}"}, "1.10", True), ({"text": "{title}"}, "1.1", False)],
)
def test_a_text_that_looks_like_a_number_can_be_compared_as_text(
    written: Path, version: object, stored: str, is_equal: bool
) -> None:
    effects = [{"added": "item", "values": {"version": version}}]
    folder = changed(written, lambda site: site["tasks"]["add_item"].update(effects=effects))
    instance = Instance(read_site(folder), "add_item", 0, {"title": "1.10"}, {})
    change = RowChange(table="item", key="1", before=None, after={"version": stored})
    assert instance.check([change], "").reward == is_equal


def an_instance(folder: Path, title: str, answer: dict) -> Instance:
    return Instance(read_site(folder / "waymark_notes"), "add_item", 0, {"title": title}, answer)


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("It is sold out.", True),
        ("Sold out, so I did not order it.", True),
        ("I cannot order it: it is sold out.", True),
        ("It is sold out, so I ordered a mug instead.", False),
        ("It is not there.", False),
        ("It is sold out. 6", False),
        ("It is not sold out.", False),
        ("It isn't sold out, all is fine.", False),
    ],
)
def test_a_refusal_needs_its_reason_and_no_deed(written: Path, text: str, is_right: bool) -> None:
    expected = an_instance(written, "Mug", {"refusal": ["sold out"]}).expected
    assert expected is not None
    assert expected.accepts(text) is is_right


def test_the_world_knows_the_answer_of_a_task_without_its_application(world: OwnSite, written: Path) -> None:
    """`waymark judge attack` compares with it."""
    task = Task.model_validate(an_instance(written, "Mug", {"refusal": ["sold out"]}).row("eval"))
    answer = world.expected_answer(task)
    assert answer is not None
    assert (answer.accepts("It is sold out."), answer.accepts("It is not there.")) == (True, False)
    assert world.expected_answer(Task.model_validate(an_instance(written, "Mug", {}).row("eval"))) is None


@pytest.mark.parametrize(
    ("title", "text", "is_right"),
    [
        ("Cut the hedge", 'After "Cut the hedge" comes "Sow the beans".', True),
        ("Cut the hedge", "Sow the beans", True),
        ("Cut the hedge", 'After "Cut the hedge" comes "Sow the beans" or "Water the roses".', False),
        ("Cut the hedge", "Cut the hedge", False),
        ("Cut the hedge or Sow the beans", "Sow the beans, not Cut the hedge", True),
        ("Cut the hedge or Sow the beans", "Sow the beans, Cut the hedge", False),
    ],
)
def test_an_answer_may_repeat_a_name_that_the_task_names(written: Path, title: str, text: str, is_right: bool) -> None:
    titles = ["Cut the hedge", "Sow the beans", "Water the roses"]
    expected = an_instance(written, title, {"names": ["Sow the beans"], "among": titles}).expected
    assert expected is not None
    assert expected.accepts(text) is is_right


def test_all_names_of_a_choice_are_no_answer() -> None:
    chosen = Names(["Ann"], ["Ann", "Bob"], given=["Ann", "Bob"])
    assert chosen.accepts("Ann, not Bob")
    assert not chosen.accepts("Ann, Bob")
