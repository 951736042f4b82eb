"""Kiwix serves the encyclopaedia on loopback, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import psutil
import pytest

from components.browser import BrowserPool
from components.params import BrowserParams
from components.records import Task, ToolCall
from components.worlds.encyclopaedia import zim
from components.worlds.encyclopaedia.facts import entities
from components.worlds.encyclopaedia.kiwix import INSTALL, KiwixError, KiwixServer
from components.worlds.encyclopaedia.site import EncyclopaediaSite

pytestmark = pytest.mark.skipif(shutil.which("kiwix-serve") is None, reason=f"no Kiwix; type `{INSTALL}`")
ROOT = Path(__file__).parents[3]
TASK = Task(task_id="t", intent="?", start_url="http://encyclopaedia/", website="encyclopaedia/x", source="test")


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    return zim.ensure(tmp_path_factory.mktemp("book"))


def get(server: KiwixServer, at: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{at}", timeout=10) as answer:
        return answer.read().decode()


@pytest.mark.slow
def test_kiwix_serves_pages_and_its_index_and_stops(book):
    server = KiwixServer(book, "<title>Mine</title>")
    try:
        assert "N&#x27;Djamena" in get(server, "/encyclopaedia/Chad")
        assert "<title>Mine</title>" in get(server, "/")
    finally:
        server.stop()
    assert not psutil.pid_exists(server.pid)


def test_the_search_finds_an_article_by_its_title_among_the_first_five(book):
    server = KiwixServer(book, "<p>")
    try:
        titles = [*entities()][::60]
        missed = []
        for title in titles:
            asked = urllib.parse.urlencode({"content": "encyclopaedia", "pageLength": 5, "pattern": title})
            found = urllib.parse.unquote(get(server, f"/search?{asked}"))
            if f'href="/encyclopaedia/{title.replace(" ", "_").replace("/", "-")}"' not in found.replace("&apos;", "'"):
                missed.append(title)
        assert len(missed) <= 0.03 * len(titles), missed
    finally:
        server.stop()


def test_kiwix_ends_with_its_parent(book):
    code = (
        "import sys, time; from pathlib import Path; from components.worlds.encyclopaedia.kiwix import KiwixServer\n"
        f"print(KiwixServer(Path({str(book)!r}), '<p>').pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    served = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    ends = time.monotonic() + 20
    while psutil.pid_exists(served) and psutil.Process(served).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < ends, "Kiwix outlived its parent"
        time.sleep(0.1)


def test_a_missing_file_and_one_that_is_no_zim_are_refused_with_the_reason(tmp_path):
    with pytest.raises(KiwixError, match=r"worlds\.encyclopaedia\.zim"):
        KiwixServer(tmp_path / "none.zim", "<p>")
    (tmp_path / "bad.zim").write_bytes(b"nothing of the kind")
    with pytest.raises(KiwixError, match="did not start"):
        KiwixServer(tmp_path / "bad.zim", "<p>")


def test_without_kiwix_the_error_names_the_command_to_type(book, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KiwixError, match="apt-get install"):
        KiwixServer(book, "<p>")


def test_an_agent_searches_opens_an_article_and_follows_a_link(monkeypatch, tmp_path):
    """And no page of the encyclopaedia is longer than a small model's context bears."""

    async def browse() -> list[str]:
        params = BrowserParams(viewport=(480, 640), concurrency=1, quiet_ms=0)
        async with BrowserPool(params, site=EncyclopaediaSite(), text="axtree") as pool, pool.session() as session:
            seen = [(await session.start(TASK)).text or ""]
            search = {"element": "2", "text": "Chad", "submit": True}
            for name, arguments in (
                ("write_element", search),
                ("click_element", {"element": "3"}),
                ("click_element", {"element": "7"}),
            ):
                result = await session.step([ToolCall(name=name, arguments=arguments)])
                seen.append(result.observation.text or "")
            assert await session.site_reward() is None
            return seen

    monkeypatch.chdir(tmp_path)
    start, results, chad, capital = asyncio.run(browse())
    assert '[2] textbox "Search"' in start
    assert '[3] link "Chad"' in results
    assert 'heading "Chad"' in chad
    assert '[7] link "N\'Djamena"' in chad
    assert 'heading "N\'Djamena"' in capital
    assert max(map(len, (start, results, chad, capital))) < 2500


def test_another_zim_is_served_with_the_search_field_of_kiwix(tmp_path):
    path = tmp_path / "Othér EN+.zim"
    zim.build(
        {"index": ("Other", "<html><head><title>Other</title></head><body><p>about otters</p></body></html>")}, path
    )

    async def look() -> tuple[str, str, str]:
        params = BrowserParams(viewport=(800, 600), concurrency=1)
        async with BrowserPool(params, site=EncyclopaediaSite(path), text="axtree") as pool, pool.session() as session:
            start = (await session.start(TASK)).text or ""
            search = ToolCall(name="write_element", arguments={"element": "2", "text": "otters", "submit": True})
            results = (await session.step([search])).observation.text or ""
            goto = ToolCall(name="goto_url", arguments={"url": "http://encyclopaedia/other_enplus/index"})
            return start, results, (await session.step([goto])).observation.text or ""

    start, results, page = asyncio.run(look())
    assert '[2] textbox "Search"' in start
    assert 'link "Other"' in results
    assert "otters" in page
    assert "textbox" in page or "searchbox" in page
