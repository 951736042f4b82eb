"""How an episode begins: with the task's cookies, and its other tabs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from components.browser import BrowserPool, EnvInitError
from components.records import Observation
from tests.browser.conftest import PARAMS, task

COOKIES = (
    "<p id=who></p><script>who.textContent = document.cookie; document.title = document.cookie || 'nobody'</script>"
)


def begin(url: str, logins: Path | None, **evaluator: object) -> Observation:
    """The first observation of a task with an evaluator."""

    async def main() -> Observation:
        params = PARAMS.model_copy(update={"logins": str(logins) if logins else None, "concurrency": 1})
        async with BrowserPool(params) as pool, pool.session() as session:
            return await session.start(task(url).model_copy(update={"evaluator": evaluator}))

    return asyncio.run(main())


@pytest.fixture
def logins(tmp_path) -> Path:
    cookie = {"name": "session", "value": "emma", "domain": "127.0.0.1", "path": "/"}
    (tmp_path / "shop_state.json").write_text(json.dumps({"cookies": [cookie], "origins": []}))
    return tmp_path


def test_the_cookies_that_a_task_names_are_set(pages, logins):
    url = pages.add("/account", COOKIES)
    assert begin(url, logins, storage_state="./.auth/shop_state.json").tabs[0].title == "session=emma"
    assert begin(url, logins, storage_state=None).tabs[0].title != "session=emma"


@pytest.mark.parametrize("name", ["missing.json", "broken.json"])
def test_a_missing_login_file_stops_the_episode(pages, logins, name):
    (logins / "broken.json").write_text("[]")
    with pytest.raises(EnvInitError, match=name):
        begin(pages.add("/account", COOKIES), logins, storage_state=f"../{name}")


def test_without_a_folder_the_error_names_the_parameter(pages):
    with pytest.raises(EnvInitError, match=r"browser\.logins"):
        begin(pages.add("/account", COOKIES), None, storage_state="./.auth/shop_state.json")


def test_a_task_may_begin_with_several_tabs_of_which_the_first_is_active(pages):
    first, second = pages.add("/a", "first", title="A"), pages.add("/b", "second", title="B")
    observation = begin(f"{first} |AND| {second}", None)
    assert observation.url == first
    assert [(tab.title, tab.active) for tab in observation.tabs] == [("A", True), ("B", False)]


def test_all_of_its_tabs_must_open(pages):
    with pytest.raises(EnvInitError, match=r"127\.0\.0\.1:9"):
        begin(f"{pages.add('/a', 'first')} |AND| http://127.0.0.1:9/", None)
