"""The context options of a recipe and of a site reach the pages, and bad ones are refused before work starts."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from components.browser import BrowserPool
from components.browser.context_options import context_options
from components.params import BrowserParams, ContextParams
from tests.loopback import Handler, Loopback

from .conftest import PARAMS, task
from .test_isolation import OurSite

SHOW = """({language: navigator.language, zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  agent: navigator.userAgent, dark: matchMedia('(prefers-color-scheme: dark)').matches,
  stored: localStorage.seen ?? null, cookie: document.cookie})"""
PLACE = """new Promise((resolve) => {
  navigator.geolocation.getCurrentPosition(({coords}) => resolve(coords.latitude), () => resolve(null));
})"""


def visit(context: ContextParams, url: str, *expressions: str, site=None):
    """What expressions give on a page that is opened with these options."""

    async def episode():
        params = PARAMS.model_copy(update={"context": context})
        async with BrowserPool(params, site=site) as pool, pool.session() as session:
            await session.start(task(url))
            return [await session.page.evaluate(expression) for expression in expressions]

    return asyncio.run(episode())


def test_the_options_of_a_recipe_reach_the_pages(pages, tmp_path):
    state = tmp_path / "state.json"
    cookie = {"name": "user", "value": "ada", "domain": "127.0.0.1", "path": "/", "expires": -1,
              "httpOnly": False, "secure": False, "sameSite": "Lax"}  # fmt: skip
    storage = [{"origin": pages.origin, "localStorage": [{"name": "seen", "value": "yes"}]}]
    state.write_text(json.dumps({"cookies": [cookie], "origins": storage}))
    context = ContextParams.model_validate(
        {
            "locale": "de-DE",
            "timezone": "Asia/Tokyo",
            "color_scheme": "dark",
            "user_agent": "Waymark/1",
            "geolocation": {"latitude": 48.5, "longitude": 2.25},
            "storage_state": str(state),
        }
    )
    shown, latitude = visit(context, pages.add("/options", "hello"), SHOW, PLACE)
    assert shown == {
        "language": "de-DE", "zone": "Asia/Tokyo", "agent": "Waymark/1", "dark": True, "stored": "yes",
        "cookie": "user=ada",
    }  # fmt: skip
    assert latitude == 48.5


def test_the_defaults_show_an_american_english_browser_without_a_place(pages):
    shown, latitude = visit(ContextParams(), pages.add("/options", "hello"), SHOW, PLACE)
    assert (shown["language"], shown["dark"], shown["stored"], latitude) == ("en-US", False, None, None)


def test_a_site_has_options_of_its_own(pages):
    site = OurSite(pages.port)
    site.context = ContextParams(locale="fr-FR")
    pages.add("/options", "bonjour")
    (shown,) = visit(ContextParams(locale="de-DE"), "http://ours/options", SHOW, site=site)
    assert shown["language"] == "fr-FR"


class _Desk(Loopback):
    """A server that wants a name and a password."""

    def __init__(self) -> None:
        class Serving(Handler):
            def do_GET(self) -> None:
                known = "Basic " + base64.b64encode(b"ada:lace").decode()
                if self.headers.get("Authorization") == known:
                    self.send_body(b"<title>desk</title>welcome", "text/html")
                else:
                    self.send_body(b"no", "text/html", 401, {"WWW-Authenticate": 'Basic realm="desk"'})

        super().__init__(Serving)


def test_http_credentials_are_sent_with_the_password_of_the_environment(monkeypatch):
    desk = _Desk()
    monkeypatch.setenv("DESK_PASSWORD", "lace")
    context = ContextParams.model_validate({"http_credentials": {"username": "ada", "password_env": "DESK_PASSWORD"}})
    assert visit(context, desk.origin, "document.title") == ["desk"]
    desk.close()


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        ({"http_credentials": {"username": "ada", "password_env": "NO_SUCH_VARIABLE"}}, "variable NO_SUCH_VARIABLE"),
        ({"storage_state": "no/such.json"}, "no/such.json is no file"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(context, reason):
    with pytest.raises(ValueError, match=reason):
        BrowserPool(BrowserParams.model_validate({"context": context}))


def test_certificate_errors_are_ignored_only_if_the_recipe_says_so():
    assert not context_options(ContextParams(), (800, 600))["ignore_https_errors"]
    assert context_options(ContextParams(ignore_https_errors=True), (800, 600))["ignore_https_errors"]
