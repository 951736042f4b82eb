"""The town's web site and its editor, wagtail."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

from components.browser.chromium import find_chromium, launch_flags
from tests.worlds.city.visitor import PASSWORD, Server, Visitor

CMS = "cms.test"
GULLS = "/news/gulls/"


class Form(HTMLParser):
    """The fields of a page's form with the values that a browser would send."""

    def __init__(self, page: str, identifier: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._identifier, self._inside, self._open = identifier, False, ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = values.get("id") == self._identifier
        if not self._inside:
            return
        name = values.get("name", "")
        if tag == "option" and "selected" in values:
            self.fields[self._open] = values["value"]
        if not name:
            return
        if tag in ("textarea", "select"):
            self._open = name
            self.fields[name] = ""
        if tag == "input" and (values.get("type") not in ("submit", "checkbox", "radio", "file") or "checked" in attrs):
            self.fields[name] = values.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._inside and self._open and self.lasttag == "textarea":
            self.fields[self._open] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("textarea", "select"):
            self._open = ""
        if tag == "form":
            self._inside = False


class Editor(Visitor):
    """A visitor who has logged in to the editor with a password."""

    def __init__(self, server: Server, key: str, username: str = "dana") -> None:
        super().__init__(server, key)
        page = "/admin/login/"
        assert self.post(CMS, page, page, username=username, password=PASSWORD, next="/admin/") == 302

    def number(self, slug: str) -> int:
        return self.server.query(self.key, f"SELECT id FROM wagtailcore_page WHERE slug = '{slug}'")[0]["id"]

    def save(self, path: str, action: str = "action-publish", **changes: str) -> None:
        """Send the form of an editor's page with changed fields. The button `action-publish` shows it to visitors."""
        form = Form(self.get(CMS, path), "page-edit-form")
        assert form.fields
        status, body, _ = self.request(CMS, path, {**form.fields, **changes, **({action: action} if action else {})})
        assert status == 302, body

    def edit(self, slug: str, action: str = "action-publish", **changes: str) -> None:
        self.save(f"/admin/pages/{self.number(slug)}/edit/", action, **changes)


@pytest.fixture
def key(server) -> str:
    return server.reset()


@pytest.fixture
def before(server, key) -> str:
    return server.control("snapshot", key=key)[1]["key"]


def changed(row: dict) -> dict[str, tuple[str, str]]:
    """The columns of a row that have another value after than before."""
    return {name: (value, row["after"][name]) for name, value in row["before"].items() if value != row["after"][name]}


def crawl(visitor: Visitor) -> dict[str, str]:
    """All public pages that links lead to, by path."""
    pages: dict[str, str] = {}
    pending = ["/"]
    while pending:
        path = pending.pop()
        if path not in pages and not path.startswith("/admin/"):
            pages[path] = visitor.get(CMS, path)
            pending += re.findall(r'href="(/(?!/|static|media)[^"#]*)"', pages[path])
    return pages


def test_pages_show_what_they_are_seeded_with(server, key):
    visitor = Visitor(server, key)
    assert "Second film night in the sail loft" in visitor.get(CMS, "/")
    assert "They can open bags" in visitor.get(CMS, GULLS)
    assert "Saturday, 28 March 2026" in visitor.get(CMS, "/events/clean-up/")
    assert "by Piet Vermeer" in visitor.get(CMS, GULLS)
    assert "555-0191" in visitor.get(CMS, "/staff/piet-vermeer/")
    assert re.search(r"<td>Saturday</td>\s*<td>09:00 to 12:00</td>", visitor.get(CMS, "/harbour/hours/"))
    assert ">Film night in the sail loft<" in visitor.get(CMS, "/events/").partition("Past events")[2]
    assert len(crawl(visitor)) >= 36


def test_facts_agree_with_those_of_the_desk_and_the_forum(server):
    key = server.reset(0)
    visitor = Visitor(server, key)
    prices, crane = visitor.get(CMS, "/harbour/prices/"), visitor.get(CMS, "/harbour/crane/")
    subject = "Spring prices for berths"
    (topic,) = server.query(key, f"SELECT content FROM forum_conversation_post WHERE subject = '{subject}'")
    price = re.search(r"\$2\.\d\d", topic["content"])
    assert price is not None
    assert price[0] in prices
    (article,) = server.query(key, "SELECT answer FROM helpdesk_kbitem WHERE question = 'When is the crane free?'")
    assert (
        "weekdays from eight to four, in half-hour slots. book two days ahead, three in may"
        in article["answer"].lower()
    )
    assert "weekdays from eight to four, in half-hour slots. book two days ahead, three in may" in crane.lower()
    films = server.query(
        key, "SELECT start FROM schedule_event WHERE title LIKE '%film night in the sail loft' ORDER BY 1"
    )
    notices = server.query(key, "SELECT begins FROM cms_eventpage WHERE organiser = 'Chiara Lindqvist' ORDER BY 1")
    assert [row["start"] for row in films] == [row["begins"] for row in notices]
    assert server.query(key, "SELECT 1 FROM helpdesk_followup WHERE comment = '$5, at the office.'")
    assert re.search(r"Lost key of the showers</td>\s*<td[^>]*>\$5\.00", prices)


def test_a_published_edit_shows_and_changes_these_rows(server, key, before):
    editor = Editor(server, key)
    number = editor.number("gulls")
    editor.edit("gulls", title="Gulls: keep your lunch shut", intro="They have learned to open doors.")
    page = Visitor(server, key).get(CMS, GULLS)
    assert "<h1>Gulls: keep your lunch shut</h1>" in page
    assert "They have learned to open doors." in page
    rows = server.diff(before, key)
    assert {table: len(found) for table, found in rows.items()} == {
        "cms_newspage": 1,
        "wagtailcore_page": 1,
        "wagtailcore_revision": 1,
    }
    assert changed(rows["cms_newspage"][0]) == {
        "intro": (
            "They can open bags, boxes and, since Tuesday, the door of the fishmarket.",
            "They have learned to open doors.",
        )
    }
    title = ("Please do not feed the gulls", "Gulls: keep your lunch shut")
    columns = changed(rows["wagtailcore_page"][0])
    assert (columns["title"], columns["draft_title"]) == (title, title)
    assert columns.keys() == {"title", "draft_title", "latest_revision_id", "live_revision_id"}
    assert rows["wagtailcore_revision"][0]["after"]["object_id"] == str(number)


def test_a_draft_is_not_shown_to_visitors(server, key, before):
    editor = Editor(server, key, "piet")
    editor.edit("gulls", action="", title="Gulls, revised")
    assert "Gulls, revised" not in Visitor(server, key).get(CMS, GULLS)
    rows = server.diff(before, key)
    assert rows.keys() == {"wagtailcore_page", "wagtailcore_revision"}
    columns = changed(rows["wagtailcore_page"][0])
    assert columns.keys() == {"draft_title", "has_unpublished_changes", "latest_revision_id"}


def test_new_opening_hours_are_one_changed_row_of_the_table(server, key, before):
    editor = Editor(server, key)
    editor.edit("hours", **{"hours-1-closes": "13:00"})
    assert "09:00 to 13:00" in Visitor(server, key).get(CMS, "/harbour/hours/")
    rows = server.diff(before, key)
    (hours,) = rows.pop("cms_openinghours")
    assert (hours["before"]["days"], changed(hours)) == ("Saturday", {"closes": ("12:00:00", "13:00:00")})
    assert rows.keys() == {"wagtailcore_page", "wagtailcore_revision"}


def test_a_new_page_is_found_by_search_in_its_copy_alone(server, key, before):
    editor, other = Editor(server, key), Visitor(server, server.reset())
    body = {"blocks": [{"key": "a", "text": "A porpoise in the outer harbour.", "type": "unstyled", "depth": 0}]}
    block = {"inlineStyleRanges": [], "entityRanges": []}
    body["blocks"][0] |= block
    editor.save(
        f"/admin/pages/add/cms/newspage/{editor.number('news')}/",
        title="A guest", slug="a-guest", date="2026-03-16", intro="It has no boat.",
        body=json.dumps({**body, "entityMap": {}}),
    )  # fmt: skip
    assert "A porpoise" in Visitor(server, key).get(CMS, "/news/a-guest/")
    assert "/news/a-guest/" in Visitor(server, key).get(CMS, "/search/?q=porpoise")
    assert "a-guest" not in other.get(CMS, "/search/?q=porpoise") + other.get(CMS, "/news/")
    assert other.request(CMS, "/news/a-guest/")[0] == 404
    rows = server.diff(before, key)
    (news,) = server.query(before, "SELECT count(*) AS number FROM cms_newspage")
    (page,) = (row["after"] for row in rows["wagtailcore_page"] if row["before"] is None)
    (parent,) = (changed(row) for row in rows["wagtailcore_page"] if row["before"] is not None)
    assert (page["slug"], parent) == ("a-guest", {"numchild": (f"{news['number']}", f"{news['number'] + 1}")})
    assert {table: len(found) for table, found in rows.items()} == {
        "cms_newspage": 1,
        "wagtailcore_page": 2,
        "wagtailcore_revision": 1,
    }


def test_a_sent_form_is_one_row_that_staff_can_read(server, key, before):
    visitor, page = Visitor(server, key), "/clean-up-registration/"
    fields = {"name": "Esther Tanaka", "persons": "3", "vegetarian_soup": "on"}
    assert visitor.post(CMS, page, page, **fields) == 200
    rows = server.diff(before, key)
    assert {table: len(found) for table, found in rows.items()} == {"wagtailforms_formsubmission": 1}
    (submission,) = rows["wagtailforms_formsubmission"]
    assert json.loads(submission["after"]["form_data"])["name"] == "Esther Tanaka"
    editor = Editor(server, key)
    assert "Esther Tanaka" in editor.get(CMS, f"/admin/forms/submissions/{editor.number('clean-up-registration')}/")


def test_a_form_without_a_required_field_adds_no_row(server, key, before):
    page = "/contact/"
    Visitor(server, key).post(CMS, page, page, name="Hugo", email="no address", subject="Berths", message="")
    assert server.diff(before, key) == {}


def test_looking_at_pages_and_at_the_editor_changes_nothing(server, key, before):
    crawl(Visitor(server, key))
    editor = Editor(server, key)
    number = editor.number("gulls")
    for path in (
        "/admin/",
        "/admin/pages/",
        f"/admin/pages/{number}/",
        f"/admin/pages/{number}/edit/",
        f"/admin/pages/{number}/history/",
        f"/admin/pages/add/cms/newspage/{editor.number('news')}/",
        "/admin/images/",
        "/admin/images/1/",
        "/admin/images/chooser/",
        "/admin/forms/",
        "/admin/reports/site-history/",
        "/admin/account/",
        GULLS,
    ):
        editor.get(CMS, path)
    assert server.diff(before, key) == {}


def test_only_staff_may_open_the_editor(server, key):
    visitor = Visitor(server, key)
    page = "/admin/login/"
    status, body, _ = visitor.request(CMS, "/admin/pages/")
    assert status == 302
    visitor.post(CMS, page, page, username="alice", password=PASSWORD, next="/admin/")
    status, body, headers = visitor.request(CMS, "/admin/pages/")
    assert "/admin/login/" in headers.get("Location", ""), body
    assert "Users" not in Editor(server, key).get(CMS, "/admin/")
    assert "/admin/users/" in Editor(server, key, "admin").get(CMS, "/admin/")


def test_pictures_are_part_of_the_image(server, key):
    visitor = Visitor(server, key)
    sources = {source for page in crawl(visitor).values() for source in re.findall(r'src="(/media/[^"]+)"', page)}
    assert len(sources) >= 15
    assert {visitor.request(CMS, source)[2]["Content-Type"] for source in sources} == {"image/jpeg"}
    noise = server.control("diff", before=server.reset(), after=key, noise=True)[1]
    assert [row for row in noise if row["table"] == "wagtailimages_rendition"] == []


def test_a_picture_that_is_uploaded_is_in_its_own_copy_alone(server, image, key):
    def content(visitor: Visitor) -> tuple[int, str]:
        return visitor.request(CMS, "/media/original_images/buoy.png")[:2]

    def upload(visitor: Visitor, colour: str) -> None:
        picture = io.BytesIO()
        Image.new("RGB", (8, 8), colour).save(picture, "PNG")
        form = Form(visitor.get(CMS, "/admin/images/add/"), "w-editor-form").fields | {"title": f"A {colour} buoy"}
        file = {"file": ("buoy.png", picture.getvalue())}
        assert visitor.request(CMS, "/admin/images/add/", form, file)[0] == 302

    files = {path for path in image.rglob("*") if path.is_file()}
    red, other = Editor(server, key), Editor(server, server.reset())
    upload(red, "red")
    fork = Visitor(server, server.control("fork", key=key)[1]["key"])
    assert "A red buoy" in red.get(CMS, "/admin/images/")
    assert "A red buoy" not in other.get(CMS, "/admin/images/")
    first = content(red)
    assert first[0] == 200
    assert content(other)[0] == 404
    assert content(fork) == first, "a fork begins with the files of its copy"
    upload(other, "green")  # under the same name
    assert content(other)[0] == 200
    assert content(other) != first
    assert content(red) == content(fork) == first
    assert content(Visitor(server, server.reset()))[0] == 404
    assert {path for path in image.rglob("*") if path.is_file()} == files, "nothing was written into the image"


def test_the_same_seed_twice_gives_equal_bytes(server):
    def episode(seed: int) -> tuple[list[str], str]:
        key = server.reset(seed)
        editor = Editor(server, key)
        editor.edit("gulls", title="Gulls")
        pages = ["/", GULLS, "/harbour/prices/", "/contact/", f"/admin/pages/{editor.number('gulls')}/history/"]
        return [editor.get(CMS, page) for page in pages], server.control("database", key=key)[1]["database"]

    assert episode(5) == episode(5)
    assert episode(5) != episode(6), "tokens depend on the seed"


def test_no_page_links_to_a_host_outside_of_the_city(server, key):
    editor = Editor(server, key)
    number = editor.number("gulls")
    paths = (
        "/admin/",
        "/admin/login/",
        f"/admin/pages/{number}/edit/",
        "/admin/pages/",
        "/admin/images/",
        "/admin/account/",
    )
    pages = {**crawl(editor), **{path: editor.get(CMS, path) for path in paths}}
    hosts = {
        host
        for page in pages.values()
        for address in re.findall(
            r'(?:href|src|action)="([^"]+)"', re.sub(r"<noscript.*?</noscript>", "", page, flags=re.S)
        )
        if (host := urlsplit(address).hostname)
    }
    assert {host for host in hosts if not host.endswith(".test")} == set()
    assert "guide.wagtail.org" not in "".join(pages.values())


def test_an_editor_publishes_with_a_real_browser(server, key, before):
    hosts, sent = set(), []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(find_chromium()), args=launch_flags({CMS: server.port}))
        page = browser.new_page()
        page.context.add_cookies([{"name": "city", "value": key, "domain": CMS, "path": "/"}])
        page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
        page.on("response", lambda response: sent.append((response.status, response.url)))
        page.goto(f"http://{CMS}/admin/")
        page.fill("[name=username]", "dana")
        page.fill("[name=password]", PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="Pages", exact=False).first.wait_for()
        number = server.query(key, "SELECT id FROM wagtailcore_page WHERE slug = 'gulls'")[0]["id"]
        page.goto(f"http://{CMS}/admin/pages/{number}/edit/")
        text = page.locator(".public-DraftEditor-content")
        text.click()
        text.press("Control+End")
        page.keyboard.type(" A hat helps.")
        page.wait_for_function(
            "document.querySelector('[name=body]').value.includes('A hat helps.')"
        )  # saved after 250 ms
        page.locator("footer .w-dropdown__toggle").click()
        page.get_by_role("button", name="Publish", exact=True).click()
        page.get_by_text("has been published").wait_for()
        page.goto(f"http://{CMS}{GULLS}")
        assert "eat with your back to a wall. A hat helps." in page.inner_text("article")
        browser.close()
    assert hosts == {CMS}
    assert [answer for answer in sent if answer[0] >= 400] == []
    rows = server.diff(before, key)
    assert {table: len(found) for table, found in rows.items()} == {
        "cms_newspage": 1,
        "wagtailcore_page": 1,
        "wagtailcore_revision": 1,
    }
    (body,) = changed(rows["cms_newspage"][0]).values()
    assert body[1] == body[0].replace("a wall.", "a wall. A hat helps.")


def test_an_edit_works_on_another_day_too(server):
    key = server.reset(3, modifiers=["theme", "layout", "labels", "language", "cookie_banner", "popup"])
    before = server.control("snapshot", key=key)[1]["key"]
    editor = Editor(server, key)
    editor.edit("gulls", title="Gulls: keep your lunch shut")
    page = Visitor(server, key).get(CMS, GULLS)
    assert "<h1>Gulls: keep your lunch shut</h1>" in page
    assert page.count("<style>") >= 1
    assert server.diff(before, key).keys() == {"wagtailcore_page", "wagtailcore_revision"}
