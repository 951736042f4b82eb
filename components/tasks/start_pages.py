"""Checks that start pages answer: one request per address, before its tasks cost anything.

A host whose first two addresses do not answer is down, and its other addresses are rejected without a request.

Requests to different hosts run at the same time, requests to one host one after another. What a host answered goes into
a journal, so that a check that was interrupted goes on with the other hosts. Once a check is complete, a later one with
the same journal asks again where no page came, since the cause may be gone. Accepted trade-off: what fails while this
machine has no network counts as unreachable until then.

The requests use no browser: a site that answers them with 403 or 429 is reachable, and rollouts show whether it blocks
browsers. Of a task with several tabs, the first is checked. Not covered: pages of local sites, whose host names exist
only in the browser, and placeholders of sites without an address.
"""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from http.client import HTTPException
from pathlib import Path

from components.journal import Journal, mark_final
from components.params.harness import ascii_address
from components.records import Record, Rejection, Task, start_tabs
from components.tasks.site_addresses import site_of
from components.tasks.sources import Origin, raw_of

WORKERS = 64
"""Hosts that are asked at the same time. A worker mostly waits: for WebGym's 127,645 hosts with 1 s each it takes 33
minutes, and with 8 workers four and a half hours."""
_NO_ANSWER = "no answer"
_GONE = frozenset({404, 410})
_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"


class NoStartPageAnswersError(RuntimeError):
    """Not one start page answered, so the cause is this machine or its network. The message says what to do."""


class HostAnswer(Record):
    """The problem of each asked address of a host, None if the address answered."""

    host: str
    problems: dict[str, str | None]


def check_start_pages(
    tasks: Sequence[Task],
    origins: Mapping[str, Origin],
    answers: Path,
    progress: Callable[[int, int], None] = lambda done, hosts: None,
    timeout_s: float = 10.0,
) -> tuple[list[Task], list[Rejection]]:
    """The tasks whose start page answers, and a rejection for each other task, both in order.

    Args:
        tasks: tasks with http(s) start pages.
        origins: file and row of each task id, for the rejections.
        answers: the journal with what hosts answered; new answers are appended to it.
        progress: is called with the number of hosts that were asked, and of all hosts.
        timeout_s: longest wait for one answer, in seconds.
    """
    first = {task.task_id: start_tabs(task.start_url)[0] for task in tasks}
    addresses = dict.fromkeys(url for url in first.values() if site_of(url) is None)
    problems = _all_problems(addresses, answers, progress, timeout_s)
    reachable = [task for task in tasks if problems.get(first[task.task_id]) is None]
    rejections = [
        Rejection(
            **origins[task.task_id]._asdict(),
            field="start_url",
            reason=f"start page of {task.website} is unreachable: {problem}",
            raw=raw_of(task.model_dump(mode="json")),
        )
        for task in tasks
        if (problem := problems.get(first[task.task_id])) is not None
    ]
    return reachable, rejections


def require_an_answer(tasks: int, answered: int, where: Path) -> None:
    """Refuse start pages of which none answered.

    Raises:
        NoStartPageAnswersError: the message names the file with the reasons.
    """
    if tasks and not answered:
        raise NoStartPageAnswersError(
            f"none of the start pages of {tasks} tasks answered ({where} has the reasons): check the network of this "
            "machine and the addresses, and run the stage again, or set tasks.check_start_pages to false"
        )


def _all_problems(
    urls: Iterable[str], answers: Path, progress: Callable[[int, int], None], timeout_s: float
) -> dict[str, str | None]:
    """The problem of each address, None if it answers; of the journal where that has it, else of the host."""
    with Journal(answers, HostAnswer) as journal:
        problems = _known(journal)
        by_host: dict[str, list[str]] = {}
        for url in urls:
            by_host.setdefault(urllib.parse.urlsplit(url).netloc, []).append(url)
        open_urls = {host: [url for url in of_host if url not in problems] for host, of_host in by_host.items()}
        with ThreadPoolExecutor(WORKERS) as pool:
            futures = {
                pool.submit(_problems, of_host, timeout_s): host for host, of_host in open_urls.items() if of_host
            }
            try:
                for done, future in enumerate(as_completed(futures), start=len(by_host) - len(futures) + 1):
                    answer = HostAnswer(host=futures[future], problems=future.result())
                    journal.append(answer)
                    problems |= answer.problems
                    progress(done, len(by_host))
            finally:
                pool.shutdown(cancel_futures=True)
    mark_final(answers)
    return problems


def _known(journal: Journal[HostAnswer]) -> dict[str, str | None]:
    """What is not asked again: all answers of an interrupted check, and the pages that came in a complete one."""
    return {
        url: problem
        for number, answer in enumerate(journal.records)
        for url, problem in answer.problems.items()
        if number >= journal.final or problem is None
    }


def _problems(urls: Sequence[str], timeout_s: float) -> dict[str, str | None]:
    """The problem of each address of one host, None if it answers."""
    first = {url: _problem(url, timeout_s) for url in urls[:2]}
    if len(first) == 2 and all(problem and problem.startswith(_NO_ANSWER) for problem in first.values()):
        return dict.fromkeys(urls, first[urls[0]]) | first
    return first | {url: _problem(url, timeout_s) for url in urls[2:]}


def _problem(url: str, timeout_s: float) -> str | None:
    """None if the page answers. A HEAD that is refused or cut off is repeated as GET, which more sites support."""
    status = _status(url, "HEAD", timeout_s)
    if isinstance(status, int) and status >= 400:
        status = _status(url, "GET", timeout_s)
    if isinstance(status, str):
        return status
    return f"HTTP {status} at {url}" if status in _GONE or status >= 500 else None


def _status(url: str, method: str, timeout_s: float) -> int | str:
    """The HTTP status after redirects, or the reason why there is none."""
    try:
        request = urllib.request.Request(_encoded(url), method=method, headers={"User-Agent": _AGENT})
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return response.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except (OSError, ValueError, HTTPException) as error:
        if method == "HEAD" and isinstance(error, ConnectionResetError):  # `http.client.RemoteDisconnected` is one
            return _status(url, "GET", timeout_s)
        return f"{_NO_ANSWER} at {url}: {type(error).__name__}: {error}"


def _encoded(url: str) -> str:
    """An address as browsers send it: letters beyond ASCII and spaces are escaped, the host's by IDNA."""
    parts = urllib.parse.urlsplit(ascii_address(url))
    escaped = (urllib.parse.quote(part, safe="%/:=&?~#+!$,;'@()*[]|") for part in (parts.path, parts.query))
    path, query = escaped
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, query, ""))
