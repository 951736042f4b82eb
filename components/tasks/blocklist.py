"""Hosts that refuse the agent or fail, learned from rollouts (WebGym, section 4 and appendix B.2).

`data/blocklist.json` lists them, each with its evidence and the day on which it may be tried again. It is an input of
`filter_tasks` that no stage writes, since a run that changes its own input is never up to date. `waymark blocklist
--learn` reads the stages' trajectories and writes it; with `--ask` a model judges the last pages of episodes that
failed without an error in the browser.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from components.params.harness import ascii_address
from components.records import AGENT_TERMINATIONS, Record, Task, Termination, Trajectory, start_tabs
from components.store import read_json

PATH = Path("data/blocklist.json")
REFUSALS = frozenset({Termination.BLOCKED, Termination.ENV_INIT_ERROR})
UNRECOGNISED = frozenset({*AGENT_TERMINATIONS, Termination.TASK_TIMEOUT})
"""Endings in which the browser recognised neither a refusal nor an error."""
NO_EVIDENCE = frozenset(
    {
        Termination.SANDBOX_ERROR,
        Termination.HARNESS_ERROR,
        Termination.INFERENCE_TIMEOUT,
        Termination.REQUEST_REFUSED,
        Termination.ABORTED,
    }
)
"""Endings that come from this machine or from the model, and say nothing about the host."""
MAX_EVIDENCE = 5
SEEN = ": a model saw: "
"""Stands in evidence before a judge's rationale. Such lines come first in an entry, which is known by them as one that
a judge made."""

Why = Literal["refuses", "unstable"]


class BlockedHost(Record):
    """A host, its number of refused episodes, the evidence, and the first day on which it is tried again.

    On an unstable host pages open, but browser operations fail after their retries; `refused` counts these too.
    """

    host: str
    refused: int
    tried: int
    evidence: list[str]
    since: dt.date
    until: dt.date
    why: Why = "refuses"


class Rollouts(NamedTuple):
    """The trajectories of one table, and the day on which they ended."""

    day: dt.date
    trajectories: Iterable[Trajectory]


def learn(
    tables: Iterable[Rollouts],
    known: Collection[BlockedHost],
    today: dt.date,
    least_refused: int = 3,
    least_share: float = 0.5,
    days: int = 14,
    blocked_pages: Mapping[str, str] | None = None,
) -> list[BlockedHost]:
    """The list after these trajectories, sorted by host.

    A host is listed if it refused at least `least_refused` episodes and at least `least_share` of its episodes. It is
    listed as unstable if only refusals and failed episodes together are that many. Its day is `days` after the last
    episode that says so, and trajectories that are so old say nothing any more: reading the same tables again prolongs
    no entry. An entry stays until its day, or until an episode on the host is neither refused nor, if the host is
    unstable, failed. Episodes that ended for a reason of this machine or of the model do not count. Hosts of this
    machine or network are never listed.

    Args:
        blocked_pages: a judge's rationale for each last page that keeps the agent out, by trajectory id; these
            episodes count as refused. None: no judge was asked, and entries that one made stay until their day, because
            without it their episodes look as if the host had answered.
    """
    is_asked = blocked_pages is not None
    blocked_pages = blocked_pages or {}
    refusals, failures = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    tried, lifetime = defaultdict[str, int](int), dt.timedelta(days=days)
    refused_on, failed_on = (defaultdict[str, dt.date](lambda: dt.date.min) for _ in range(2))
    recent = ((day, trajectory) for day, rolled in tables if day + lifetime > today for trajectory in rolled)
    for day, trajectory in recent:
        host = start_host_of(trajectory.task)
        if host is None or trajectory.termination in NO_EVIDENCE:
            continue
        tried[host] += 1
        ending = f"{trajectory.trajectory_id}: {trajectory.termination}"
        evidence = f"{ending}: {trajectory.diagnostics.get('error', '')}"[:300]
        if trajectory.termination in REFUSALS:
            refusals[host].append(evidence)
        elif trajectory.trajectory_id in blocked_pages:
            rationale = " ".join(blocked_pages[trajectory.trajectory_id].split())
            refusals[host].append(f"{ending}{SEEN}{rationale}"[:300])
        elif trajectory.termination is Termination.ENV_ERROR:
            failures[host].append(evidence)
            failed_on[host] = max(day, failed_on[host])
            continue
        else:
            continue
        refused_on[host] = max(day, refused_on[host])
    listed = {
        entry.host: entry
        for entry in known
        if entry.until > today
        and (
            _confirming(entry, refusals, failures) == tried.get(entry.host, 0)
            or (not is_asked and any(SEEN in line for line in entry.evidence))
        )
    }
    before = {entry.host: entry for entry in known}
    for host, number in tried.items():
        reasons: tuple[tuple[Why, list[str], dt.date], ...] = (
            ("refuses", refusals[host], refused_on[host]),
            ("unstable", refusals[host] + failures[host], max(refused_on[host], failed_on[host])),
        )
        for reason, lines, last in reasons:
            is_new = host not in listed or listed[host] is before.get(host)
            if is_new and len(lines) >= least_refused and len(lines) >= least_share * number:
                since = before[host].since if host in before else today
                until = max(last + lifetime, listed[host].until if host in listed else dt.date.min)
                listed[host] = BlockedHost(
                    host=host,
                    refused=len(lines),
                    tried=number,
                    evidence=sorted(lines, key=lambda line: SEEN not in line)[:MAX_EVIDENCE],
                    since=since,
                    until=until,
                    why=reason,
                )
    return [listed[host] for host in sorted(listed)]


def day_of(folder: Path) -> dt.date:
    """The day on which the episodes of a stage's folder ended: that of its result, else that of its table."""
    name = folder.name
    stage = f"evaluate@{name}" if folder.parent.name == "evaluation" else f"{name}_rollouts"
    try:
        ended = float(read_json(Path(f"reports/stages/{stage}.json"))["spans"][-1][1])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        ended = (folder / "trajectories.parquet").stat().st_mtime
    return dt.date.fromtimestamp(ended)


def _confirming(entry: BlockedHost, refusals: Mapping[str, list[str]], failures: Mapping[str, list[str]]) -> int:
    """The number of episodes on an entry's host that were as its reason says."""
    refused, failed = len(refusals.get(entry.host, ())), len(failures.get(entry.host, ()))
    return refused + failed if entry.why == "unstable" else refused


def is_doubtful(trajectory: Trajectory) -> bool:
    """Whether the start host may have refused a failed episode in a way that the browser did not recognise.

    This is so if its last page is still on that host, with or without `www.`.
    """
    if not trajectory.turns or trajectory.termination not in UNRECOGNISED:
        return False
    urls = start_tabs(trajectory.task.start_url)[0], trajectory.turns[-1].observation.url
    start_host, last_host = (host_of(ascii_address(url)) for url in urls)
    if start_host is None or last_host is None:
        return False
    return last_host.removeprefix("www.") == start_host.removeprefix("www.")


def start_host_of(task: Task) -> str | None:
    """The host of a task's first start page, as `host_of` gives it."""
    return host_of(start_tabs(task.start_url)[0])


def host_of(url: str) -> str | None:
    """The host of a public address; None for names without a dot and addresses that are not global."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return host if ipaddress.ip_address(host).is_global else None
    except ValueError:
        return host if "." in host and not host.endswith((".localhost", ".local", ".internal")) else None


def active(blocklist: Collection[BlockedHost], today: dt.date) -> dict[str, str]:
    """The hosts to leave out today, each with its reason."""
    return {entry.host: entry.why for entry in blocklist if entry.until > today}


def read(path: Path = PATH) -> list[BlockedHost]:
    """The list; empty if the file does not exist.

    Raises:
        ValueError: the file cannot be read, or is no such list; the message names the entry.
    """
    if not path.exists():
        return []
    try:
        rows = json.loads(path.read_text())
        return [BlockedHost.model_validate(row) for row in rows]
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); make it a file, with [] in it") from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is no list of blocked hosts ({error}); correct it, or write [] into it") from error


def write(blocklist: Collection[BlockedHost], path: Path = PATH) -> None:
    """Write the list as indented JSON."""
    path.write_text(json.dumps([entry.model_dump(mode="json") for entry in blocklist], indent=1) + "\n")
