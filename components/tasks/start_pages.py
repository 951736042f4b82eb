"""Checks that start pages answer: one request per address, before its tasks cost anything.

A host whose first two addresses do not answer is down, and its other addresses are rejected without a request.

The requests use no browser: a site that answers them with 403 or 429 is reachable, and rollouts show whether it blocks
browsers. Of a task with several tabs, the first is checked. Not covered: pages of local sites, whose host names exist
only in the browser, and placeholders of sites without an address.
"""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

from components.records import Rejection, Task, start_tabs
from components.tasks.site_addresses import site_of
from components.tasks.sources import Origin, raw_of

_NO_ANSWER = "no answer"
_GONE = frozenset({404, 410})
_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"


def check_start_pages(
    tasks: Sequence[Task], origins: Mapping[str, Origin], timeout_s: float = 10.0, workers: int = 8
) -> tuple[list[Task], list[Rejection]]:
    """The tasks whose start page answers, and a rejection for each other task, both in order.

    Args:
        tasks: tasks with http(s) start pages.
        origins: file and row of each task id, for the rejections.
        timeout_s: longest wait for one answer, in seconds.
        workers: concurrent requests.
    """
    by_host: dict[str, list[str]] = {}
    first = {task.task_id: start_tabs(task.start_url)[0] for task in tasks}
    for url in dict.fromkeys(url for url in first.values() if site_of(url) is None):
        by_host.setdefault(urllib.parse.urlsplit(url).netloc, []).append(url)
    with ThreadPoolExecutor(workers) as pool:
        answers = pool.map(lambda urls: _problems(urls, timeout_s), by_host.values())
        problems = {url: problem for host in answers for url, problem in host.items()}
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
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    escaped = (urllib.parse.quote(part, safe="%/:=&?~#+!$,;'@()*[]|") for part in (parts.path, parts.query))
    path, query = escaped
    return urllib.parse.urlunsplit((parts.scheme, host, path, query, ""))
