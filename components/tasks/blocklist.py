"""Hosts that do not let us in or break, learned from rollouts (WebGym, section 4 and appendix B.2).

`data/blocklist.json` holds them, each with its evidence and the day on which it may be tried again. It is an input of
`filter_tasks` that no stage writes, since a run that changed its own input would never be up to date: `waymark
blocklist --learn` reads the trajectories there are and writes it, and with `--ask` has a model look at the last pages
of those that failed for no reason that the browser knows.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from components.records import AGENT_TERMINATIONS, Record, Termination, Trajectory

PATH = Path("data/blocklist.json")
REFUSALS = frozenset({Termination.BLOCKED, Termination.ENV_INIT_ERROR})
UNRECOGNISED = frozenset({*AGENT_TERMINATIONS, Termination.TASK_TIMEOUT})
"""Endings in which the browser saw neither a refusal nor a break."""
MOST_EVIDENCE = 5


class BlockedHost(Record):
    """A host, how many of its episodes it refused, what it said, and the first day on which it is asked again.

    An unstable host lets us in, but browser operations fail there after their retries; these count as refused, too.
    """

    host: str
    refused: int
    tried: int
    evidence: list[str]
    since: dt.date
    until: dt.date
    why: Literal["refuses", "unstable"] = "refuses"


def learn(
    trajectories: Iterable[Trajectory],
    known: Collection[BlockedHost],
    today: dt.date,
    least_refused: int = 3,
    least_share: float = 0.5,
    days: int = 14,
    seen: Mapping[str, str] | None = None,
) -> list[BlockedHost]:
    """The list after what the trajectories tell, by host.

    A host is listed if it refused at least `least_refused` episodes and `least_share` of those tried there, and as
    unstable if only refusals and broken episodes together are so many. An entry
    stays until its day has come, or until rollouts show that the host answers again. Hosts of this machine or network
    are never listed: those are ours to mend.

    Args:
        seen: what a model said of last pages that kept the agent out, by trajectory; these refused it too.
    """
    seen = seen or {}
    refusals, breaks = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    tried = defaultdict[str, int](int)
    for one in trajectories:
        host = host_of(one.task.start_url)
        if host is None:
            continue
        tried[host] += 1
        said = f"{one.trajectory_id}: {one.termination}: {one.diagnostics.get('error', '')}"[:300]
        if one.termination in REFUSALS:
            refusals[host].append(said)
        elif one.trajectory_id in seen:
            words = " ".join(seen[one.trajectory_id].split())
            refusals[host].append(f"{one.trajectory_id}: {one.termination}: a model saw: {words}"[:300])
        elif one.termination is Termination.ENV_ERROR:
            breaks[host].append(said)
    listed = {one.host: one for one in known if one.until > today and one.host not in tried}
    before = {one.host: one for one in known}
    for host, number in tried.items():
        verdicts = (("refuses", refusals[host]), ("unstable", refusals[host] + breaks[host]))
        for why, said in verdicts:
            if host not in listed and len(said) >= least_refused and len(said) >= least_share * number:
                since = before[host].since if host in before else today
                until = today + dt.timedelta(days=days)
                listed[host] = BlockedHost(
                    host=host, refused=len(said), tried=number, evidence=said[:MOST_EVIDENCE], since=since, until=until,
                    why=why,
                )  # fmt: skip
    return [listed[host] for host in sorted(listed)]


def is_doubtful(trajectory: Trajectory) -> bool:
    """Whether an episode that failed may have been kept out by the host that it began on, unseen by the browser: its
    last page is still on that host, with or without `www.`."""
    began = host_of(trajectory.task.start_url)
    if began is None or not trajectory.turns or trajectory.termination not in UNRECOGNISED:
        return False
    ended = host_of(trajectory.turns[-1].observation.url)
    return ended is not None and ended.removeprefix("www.") == began.removeprefix("www.")


def host_of(url: str) -> str | None:
    """The host of an address on the internet; None for names without a dot and for addresses of no public network."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return host if ipaddress.ip_address(host).is_global else None
    except ValueError:
        return host if "." in host and not host.endswith((".localhost", ".local", ".internal")) else None


def active(blocklist: Collection[BlockedHost], today: dt.date) -> dict[str, str]:
    """The hosts to leave out today, and why each."""
    return {one.host: one.why for one in blocklist if one.until > today}


def read(path: Path = PATH) -> list[BlockedHost]:
    """The list; empty if there is none.

    Raises:
        ValueError: it is not such a list; the message names the entry.
    """
    if not path.exists():
        return []
    try:
        rows = json.loads(path.read_text())
        return [BlockedHost.model_validate(row) for row in rows]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is no list of blocked hosts ({error}); mend it, or write [] into it") from error


def write(blocklist: Collection[BlockedHost], path: Path = PATH) -> None:
    """Write the list, one readable entry after the other."""
    path.write_text(json.dumps([one.model_dump(mode="json") for one in blocklist], indent=1) + "\n")
