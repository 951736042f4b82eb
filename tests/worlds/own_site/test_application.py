"""The process of a user's own site: how it starts, how its data are reset, and how it ends."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from components.worlds.own_site import OwnSiteError, read_site
from components.worlds.own_site.application import Application
from components.worlds.own_site.http_client import Client
from components.worlds.own_site.image import ensure
from components.worlds.own_site.instances import Instance
from components.worlds.own_site.site import failure
from components.worlds.own_site.site_file import Request
from components.worlds.own_site.tables import differences
from tests.loopback import Handler, Loopback
from tests.worlds.own_site.packages import changed

HOLDERS = {"verify": "application", "prepare": "image"}
"""The module with the time limit of each command."""


class Greeting(Handler):
    """Greets, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_body(b"Hello", "text/plain")


def opened(folder: Path, cache: Path) -> Application:
    site = read_site(folder)
    return Application(site, folder, ensure(site, folder, cache))


@pytest.mark.parametrize(
    "reset",
    [
        {},
        {"sqlite": ["todo.db"]},
        {"dump": {"todo.db": "first.sql"}},
        {"command": 'cp "$SITE/first.db" todo.db'},
    ],
)
def test_each_kind_of_reset_gives_the_first_data_back(written: Path, tmp_path: Path, reset: dict) -> None:
    folder = changed(written, lambda site: site.update(reset=reset))
    database = ensure(read_site(folder), folder, tmp_path / "cache") / "todo.db"
    (folder / "first.db").write_bytes(database.read_bytes())
    with contextlib.closing(sqlite3.connect(database)) as opened_database:
        (folder / "first.sql").write_text("\n".join(opened_database.iterdump()))
    application = opened(folder, tmp_path / "cache")
    try:
        application.reset()
        before = application.snapshot()
        application.stray()
        assert len(differences(before, application.snapshot())) == 1
        application.reset()
        assert differences(before, application.snapshot(), ["visit"]) == []
    finally:
        application.close()


def test_a_stray_write_that_finds_no_row_is_refused(written: Path, tmp_path: Path) -> None:
    sql = "UPDATE item SET title = 'x' WHERE id = 99"
    application = opened(changed(written, lambda site: site.update(stray=sql)), tmp_path / "cache")
    try:
        application.reset()
        with pytest.raises(OwnSiteError, match=r"stray: .*id = 99.* changes no row: correct its WHERE"):
            application.stray()
    finally:
        application.close()


def test_a_reset_that_leaves_changes_behind_is_refused(written: Path, tmp_path: Path) -> None:
    folder = changed(written, lambda site: site.update(reset={"command": "true"}))
    application = opened(folder, tmp_path / "cache")
    try:
        application.reset()
        application.stray()
        with pytest.raises(OwnSiteError, match=r"does not give its first data back: changed row 1 of item"):
            application.reset()
    finally:
        application.close()


def test_a_start_that_fails_shows_the_output_of_the_command(written: Path, tmp_path: Path) -> None:
    folder = changed(written, lambda site: site.update(start="echo no such database; exit 3"))
    application = opened(folder, tmp_path / "cache")
    with pytest.raises(OwnSiteError, match=r"ended with status 3 after `start`.*\nno such database"):
        application.reset()
    application.close()


@pytest.mark.parametrize(
    ("reset", "message"),
    [
        ({"sqlite": ["data/todo.db"]}, r"reset\.sqlite: data/todo\.db: unable to open database file; correct the path"),
        ({"dump": {"todo.db": "first.sql"}}, r"reset\.dump: first\.sql for todo\.db: .* correct the path beside"),
    ],
)
def test_a_reset_from_a_file_that_is_not_there_names_it(
    written: Path, tmp_path: Path, reset: dict, message: str
) -> None:
    application = opened(changed(written, lambda site: site.update(reset=reset)), tmp_path / "cache")
    with contextlib.closing(application), pytest.raises(OwnSiteError, match=message):
        application.reset()


def test_a_process_of_another_session_ends_with_the_application(written: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    daemon = f"(setsid sh -c 'echo $$ >> {pids}; sleep 600 & echo $! >> {pids}; wait' &)"
    folder = changed(written, lambda site: site.update(start=f"{daemon}\n{site['start']}"))
    application = opened(folder, tmp_path / "cache")
    with contextlib.closing(application):
        application.reset()
        processes = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
        assert len(processes) == 2
    assert psutil.wait_procs(processes, timeout=10)[1] == []


KILLED = """
import os, signal, sys
from pathlib import Path
from components.worlds.own_site import read_site
from components.worlds.own_site.application import Application
application = Application(read_site(Path(sys.argv[1])), Path(sys.argv[1]), Path(sys.argv[2]))
application.reset()
print(application.data.parent, application._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_waymark_that_is_killed_leaves_no_data_and_no_process(written: Path, tmp_path: Path) -> None:
    folder = written / "waymark_notes"
    image = ensure(read_site(folder), folder, tmp_path / "cache")
    killed = subprocess.run([sys.executable, "-c", KILLED, folder, image], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    data, supervisor = killed.stdout.split()
    ends = time.monotonic() + 20
    while psutil.pid_exists(int(supervisor)) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not Path(data).exists()


SILENT = """
import os, socket, time
server = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
time.sleep(600)
"""


def test_an_application_that_does_not_answer_has_its_time_and_no_more(written: Path, tmp_path: Path) -> None:
    (written / "waymark_notes/silent.py").write_text(SILENT)
    start = {"start": 'exec "$PYTHON" "$SITE/silent.py"', "start_timeout_s": 1.5}
    application = opened(changed(written, lambda site: site.update(start)), tmp_path / "cache")
    began = time.monotonic()
    with contextlib.closing(application), pytest.raises(OwnSiteError, match=r"is not ready .*ReadTimeout"):
        application.reset()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("start", ["exec sleep 60", "exit 3"])
def test_a_server_that_has_the_port_already_is_not_taken_for_the_site(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    folder = changed(written, lambda site: site.update(start=start))
    application = opened(folder, tmp_path / "cache")
    another = Loopback(Greeting)
    monkeypatch.setattr("components.worlds.own_site.application.free_port", lambda: another.port)
    message = f"port {another.port}, which notes got.* process {os.getpid()} .*: run again"
    with pytest.raises(OwnSiteError, match=f"{message}|status 3 after `start` with port {another.port};"):
        application.reset()
    assert not application.is_running
    application.close()
    another.close()


@pytest.mark.parametrize("key", ["verify", "prepare"])
def test_a_command_that_takes_too_long_leaves_no_process(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(f"components.worlds.own_site.{HOLDERS[key]}.{key.upper()}_TIMEOUT_S", 2.0)
    pids = tmp_path / "pids"
    command = f"sleep 600 & echo $! > {pids}; sleep 600"
    folder = (
        changed(written, lambda site: site.update(prepare=command)) if key == "prepare" else written / "waymark_notes"
    )

    def run_command() -> None:
        application = opened(folder, tmp_path / "cache")
        application.data.mkdir(parents=True)
        application.verify(command)

    with pytest.raises(OwnSiteError, match=f"{key} did not end within 2 s"):
        run_command()
    left = psutil.Process(int(pids.read_text())) if psutil.pid_exists(int(pids.read_text())) else None
    assert left is None or psutil.wait_procs([left], timeout=10)[1] == []


def test_a_process_in_the_background_does_not_keep_a_command(written: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    background = f"echo begun; sleep 600 & echo $! > {pids}; exit "
    folder = changed(written, lambda site: site.update(prepare=f"{site['prepare']}; {background}0"))
    application = opened(folder, tmp_path / "cache")
    processes = [psutil.Process(int(pids.read_text()))]
    application.data.mkdir(parents=True)
    try:
        assert application.verify(f"{background}1") == "begun"
        processes.append(psutil.Process(int(pids.read_text())))
        assert [process.is_running() for process in processes] == [True, True]
    finally:
        for process in processes:
            process.kill()
        application.close()


SOCKET = """
$PYTHON -c 'import socket; socket.socket(socket.AF_UNIX).bind("app.sock")'
mkdir run
mkfifo run/pipe
echo text > run/note
"""


def test_sockets_and_pipes_of_the_first_data_are_left_out(written: Path, tmp_path: Path) -> None:
    folder = changed(written, lambda site: site.update(prepare=site["prepare"] + SOCKET))
    application = opened(folder, tmp_path / "cache")
    try:
        application.reset()
        assert (application.data / "run/note").read_text() == "text\n"
        assert not (application.data / "run/pipe").exists()
        assert not (application.data / "app.sock").exists()
    finally:
        application.close()


def test_first_data_that_are_gone_are_named(written: Path, tmp_path: Path) -> None:
    folder = written / "waymark_notes"
    application = opened(folder, tmp_path / "cache")
    image = ensure(read_site(folder), folder, tmp_path / "cache")
    shutil.rmtree(image)
    with pytest.raises(OwnSiteError, match=f"what `prepare` of notes made cannot be copied .*{image}"):
        application.reset()
    application.close()


def test_a_file_of_the_first_data_that_cannot_be_read_is_named(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root reads every file, so the copy of one fails here as it does for another user."""
    copy, folder = shutil.copytree, written / "waymark_notes"

    def refuse(source: str, target: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", source)

    monkeypatch.setattr(shutil, "copytree", functools.partial(copy, copy_function=refuse))
    application = opened(folder, tmp_path / "cache")
    with pytest.raises(OwnSiteError, match=r"what `prepare` of notes made .* Permission denied: '.*/todo\.db'\. Let"):
        application.reset()
    application.close()


def test_rules_by_request_and_page_decide_with_the_others(written: Path, tmp_path: Path) -> None:
    """A task without effects: the response of the list must have the item, and no page of the agent's is needed."""
    rule = {"get": "/", "as": "kim", "contains": "{title}"}
    folder = changed(written, lambda site: site["tasks"]["add_item"].update(requests=[rule], effects=[]))
    site = read_site(folder)
    application = opened(folder, tmp_path / "cache")
    try:
        application.reset()
        instance = Instance(site, "add_item", 1, {"title": "Buy bread"}, {})
        rule = instance.template.requests[0]
        assert failure(rule, application, instance.facts) == "/ does not contain 'Buy bread'"
        client = application.client("kim")
        client._send("POST", "/add", {}, data={"title": "Buy bread"})
        assert failure(rule, application, instance.facts) is None
    finally:
        application.close()


class LogIn(Handler):
    """An application that sets a session's cookie for its domain, one that scripts read, and one that it ends again."""

    def do_GET(self) -> None:
        self.send_response(200)
        for cookie in (
            "sid=a=b; Domain=app.test; Path=/; HttpOnly",
            "token=t; Path=/; SameSite=Lax",
            "old=; Max-Age=0",
            "past=; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "dashed=; Path=/; expires=Wed, 21-Oct-2015 07:28:00 GMT",
            "negative=x; Max-Age=-1",
            "kept=k; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "malformed=m; Expires=0; Max-Age=soon",
        ):
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_a_browser_gets_cookies_as_the_log_in_sets_them() -> None:
    server = Loopback(LogIn)
    try:
        client = Client("http://app.test", server.port, dict.fromkeys(("old", "past", "dashed", "negative"), "1"))
        client.send(Request(get="/"))
    finally:
        server.close()
    cookies = [(cookie.origin, cookie.name, cookie.value, cookie.http_only) for cookie in client.browser_cookies]
    assert cookies == [
        ("http://app.test", name, value, is_hidden)
        for name, value, is_hidden in (
            ("sid", "a=b", True),
            ("token", "t", False),
            ("kept", "k", False),
            ("malformed", "m", False),
        )
    ]
