from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.records import Rejection, Task
from components.tasks import (
    Origin,
    TooManyRejected,
    check_start_pages,
    require_an_answer,
    require_few_rejected,
    write_rejections_csv,
)
from components.tasks.start_pages import HostAnswer, NoStartPageAnswersError, _encoded
from tests.loopback import Handler, Loopback


class _Site(Handler):
    """/no-head and /cut-off know GET only; /gone and /broken do not answer; /wall blocks plain clients; others do."""

    asked: list[str]
    is_over: threading.Event

    def do_HEAD(self) -> None:
        self.asked.append(self.path)
        if self.path == "/cut-off":
            self.close_connection = True
            return
        if self.path.startswith("/slow"):
            self.is_over.wait()
        status = {"/no-head": 405, "/gone": 404, "/broken": 503, "/wall": 403}.get(self.path, 200)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        if self.path in ("/no-head", "/cut-off"):
            self.path = "/ok"
        self.do_HEAD()


@pytest.fixture
def site() -> Iterator[tuple[str, list[str]]]:
    _Site.asked, _Site.is_over = [], threading.Event()
    server = Loopback(_Site)
    yield server.origin, _Site.asked
    _Site.is_over.set()
    server.close()


class Check:
    """Checks start pages. All calls share one journal, whose check is complete after each."""

    def __init__(self, answers: Path) -> None:
        self.answers = answers

    def __call__(
        self,
        tasks: list[Task],
        timeout_s: float = 30.0,
        progress: Callable[[int, int], None] = lambda done, hosts: None,
    ) -> tuple[list[Task], list[Rejection]]:
        origins = {task.task_id: Origin("f.jsonl", row, row + 1) for row, task in enumerate(tasks)}
        return check_start_pages(tasks, origins, self.answers, progress, timeout_s)

    def recorded(self) -> list[str]:
        """The addresses that the journal has, in order."""
        lines = self.answers.read_text().splitlines()
        answers = [HostAnswer.model_validate_json(line) for line in lines if line != '{"final":true}']
        return [url for answer in answers for url in answer.problems]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    return Check(tmp_path / "state/answers.jsonl")


@pytest.mark.parametrize("page", ["/ok", "/no-head", "/cut-off", "/wall"])
def test_a_page_that_answers_is_kept(
    site: tuple[str, list[str]], check: Check, task: Callable[..., Task], page: str
) -> None:
    tasks = [task("t", start_url=site[0] + page)]
    assert check(tasks) == (tasks, [])


def test_letters_beyond_ascii_and_spaces_are_escaped(
    site: tuple[str, list[str]], check: Check, task: Callable[..., Task]
) -> None:
    addresses = ["/wiki/\u00c9t\u00e9", "/a b", "/wiki/%C3%89?q=x+y&r=\u00fc#top", "/(a)'!"]
    tasks = [task(f"t{number}", start_url=site[0] + address) for number, address in enumerate(addresses)]
    assert check(tasks) == (tasks, [])
    assert sorted(site[1]) == ["/(a)'!", "/a%20b", "/wiki/%C3%89?q=x+y&r=%C3%BC", "/wiki/%C3%89t%C3%A9"]


def test_a_host_beyond_ascii_is_asked_by_the_name_that_browsers_request() -> None:
    assert _encoded("https://straße.de:8443/größe?x=ä") == "https://xn--strae-oqa.de:8443/gr%C3%B6%C3%9Fe?x=%C3%A4"


@pytest.mark.parametrize("page, why", [("/gone", "HTTP 404"), ("/broken", "HTTP 503"), ("/slow", "TimeoutError")])
def test_a_page_that_does_not_answer_is_rejected_with_the_reason(
    site: tuple[str, list[str]], check: Check, task: Callable[..., Task], page: str, why: str
) -> None:
    kept, (rejection,) = check([task("t", start_url=site[0] + page)], 0.5 if page == "/slow" else 30.0)
    assert kept == []
    assert (rejection.file, rejection.row, rejection.line, rejection.field) == ("f.jsonl", 0, 1, "start_url")
    assert why in rejection.reason


def test_sites_without_an_address_are_not_asked_and_first_tabs_are(
    site: tuple[str, list[str]], check: Check, task: Callable[..., Task]
) -> None:
    tasks = [task("t", start_url="__MAP__/"), task("u", start_url=f"{site[0]}/ok |AND| {site[0]}/gone")]
    assert check(tasks) == (tasks, [])


def test_a_published_port_of_webarena_is_asked_like_any_other(check: Check, task: Callable[..., Task]) -> None:
    check([task("t", start_url="http://localhost:9003/map")])
    assert check.recorded() == ["http://localhost:9003/map"]


def test_a_port_without_a_server_is_unreachable(check: Check, task: Callable[..., Task]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _, (rejection,) = check([task("t", start_url=f"http://127.0.0.1:{port}/")])
    assert "refused" in rejection.reason


def test_an_answer_that_is_no_http_is_rejected(check: Check, task: Callable[..., Task]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_answer_nonsense, args=(server,), daemon=True).start()
        kept, (rejection,) = check([task("t", start_url=f"http://127.0.0.1:{server.getsockname()[1]}/")])
    assert kept == []
    assert "BadStatusLine" in rejection.reason


def _answer_nonsense(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.recv(1000)
            connection.sendall(b"nonsense\r\n\r\n")


def test_an_address_is_asked_once_and_a_dead_one_drops_no_other(
    site: tuple[str, list[str]], check: Check, task: Callable[..., Task]
) -> None:
    tasks = [
        task("a1", website="a", start_url=site[0] + "/gone"),
        task("a2", website="a", start_url=site[0] + "/ok"),
        task("a3", website="a", start_url=site[0] + "/gone"),
        task("b1", website="b", start_url=site[0] + "/ok"),
    ]
    kept, rejections = check(tasks)
    assert [t.task_id for t in kept] == ["a2", "b1"]
    assert [rejection.row for rejection in rejections] == [0, 2]
    assert site[1].count("/ok") == 1


def test_a_host_that_is_down_is_not_asked_for_each_of_its_pages(
    site: tuple[str, list[str]], check: Check, task: Callable[..., Task]
) -> None:
    tasks = [task(f"t{page}", start_url=f"{site[0]}/slow?{page}") for page in range(5)]
    kept, rejections = check(tasks, 1.0)
    assert kept == []
    assert len(rejections) == 5
    assert len(set(site[1])) == 2


@pytest.fixture
def hosts() -> Iterator[list[Loopback]]:
    """More servers than eight workers ask at the same time."""
    _Meeting.barrier = threading.Barrier(9)
    servers = [Loopback(_Meeting) for _ in range(9)]
    yield servers
    for server in servers:
        server.close()


class _Meeting(Handler):
    """Answers once all hosts have been asked."""

    barrier: threading.Barrier

    def do_HEAD(self) -> None:
        try:
            self.barrier.wait(20)
            self.send_body(b"", "text/html")
        except threading.BrokenBarrierError:
            self.send_body(b"", "text/html", 503)

    do_GET = do_HEAD


def test_many_hosts_are_asked_at_the_same_time(hosts: list[Loopback], check: Check, task: Callable[..., Task]) -> None:
    tasks = [task(f"t{number}", start_url=f"{server.origin}/") for number, server in enumerate(hosts)]
    assert check(tasks) == (tasks, [])


@pytest.fixture
def two_hosts(site: tuple[str, list[str]], task: Callable[..., Task]) -> list[Task]:
    """Two tasks on two hosts, both of which are the site."""
    other = site[0].replace("127.0.0.1", "localhost")
    return [task("a", start_url=f"{site[0]}/gone"), task("b", start_url=f"{other}/ok")]


def test_an_interrupted_check_goes_on_with_the_hosts_that_are_left(
    site: tuple[str, list[str]], check: Check, two_hosts: list[Task]
) -> None:
    def interrupt(done: int, hosts: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(two_hosts, progress=interrupt)
    (recorded,) = check.recorded()
    site[1].clear()
    reported: list[tuple[int, int]] = []
    kept, rejections = check(two_hosts, progress=lambda done, hosts: reported.append((done, hosts)))
    assert ([one.task_id for one in kept], len(rejections)) == (["b"], 1)
    (left,) = {"/gone", "/ok"} - {recorded[recorded.rindex("/") :]}
    assert set(site[1]) == {left}
    assert reported == [(2, 2)]


def test_a_complete_check_is_repeated_only_where_no_page_came(
    site: tuple[str, list[str]], check: Check, two_hosts: list[Task]
) -> None:
    check(two_hosts)
    site[1].clear()
    check(two_hosts)
    assert set(site[1]) == {"/gone"}
    site[1].clear()
    check([two_hosts[1], two_hosts[1].model_copy(update={"task_id": "c", "start_url": f"{site[0]}/new"})])
    assert site[1] == ["/new"], "a page that was added to the task files"


def test_start_pages_of_which_none_answers_are_refused(tmp_path: Path) -> None:
    require_an_answer(tasks=0, answered=0, where=tmp_path / "rejected.csv")
    require_an_answer(tasks=9, answered=1, where=tmp_path / "rejected.csv")
    with pytest.raises(NoStartPageAnswersError, match=r"none of the start pages of 9 tasks .*rejected\.csv.* network"):
        require_an_answer(tasks=9, answered=0, where=tmp_path / "rejected.csv")


def test_too_many_rejections_stop_with_the_reasons_and_the_file(tmp_path: Path) -> None:
    bad = [Rejection(file="f", row=row, field="id", reason="duplicate id", raw="{}") for row in range(3)]
    require_few_rejected(bad, rows=60, allowed=0.05, where=tmp_path / "rejected.csv")
    with pytest.raises(
        TooManyRejected, match=r"3 of 59 .* quality.max_rejected = 0.05(.|\n)*rejected.csv(.|\n)*3 x f: duplicate id"
    ):
        require_few_rejected(bad, rows=59, allowed=0.05, where=tmp_path / "rejected.csv")


def test_rejections_of_an_earlier_run_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "rejected.csv"
    write_rejections_csv(path, [Rejection(file="f", row=0, field="id", reason='a, "b"', raw="{}")])
    assert path.read_text().splitlines()[1] == 'f,0,,id,"a, ""b""",{}'
    write_rejections_csv(path, [])
    assert path.read_text().splitlines() == ["file,row,line,field,reason,raw"]
