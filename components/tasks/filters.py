"""Drops unsuitable training tasks before they cost anything (OpenWebRL, section 4.2).

The steps in order: overlap with evaluation tasks (equal, equal words, nearly equal meaning), subtasks decomposed from a
parent, tasks behind a login, blocked websites, hosts that refuse the agent, unstable hosts, the long tail. The order
matters: a website is in the long tail by its tasks that are left after the earlier steps. `dedup` then drops near
duplicates.

Accepted trade-off: where the source does not say whether a task needs a login, its wording decides, so a question
about a login page is dropped, too. A cart does not count: most shops keep that of a guest.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

import numpy as np

from components.params import FilterParams
from components.params.harness import host_pattern
from components.records import Task, start_tabs
from components.tasks.blocklist import start_host_of
from components.tasks.funnel import Funnel

_NO_WORD = re.compile(r"[\W_]+")
_LOGIN = re.compile(
    r"\b(log|sign)(ged|ging|ned|ning)[ -]?(in|into|on|up)\b"
    r"|\b(log|sign)(-?(in|on)|[ -]?(into|up))\b"
    # with a space a verb alone, because of "a neon sign on Etsy" and "the change log in the wiki"
    r"|(^|[.,:;!?(\"'“”‘’]\s*|\b(to|and|or|then|please|must|should|can|you|I|click|press|select|tap)\s+)"
    r"(log|sign) (in|on)\b"
    r"|\b(my|your) (account|profile|orders?|purchases|subscriptions?|inbox|wish ?list|watch ?list)\b"
    r"|\b(create|register|open|delete) an? (new )?account\b",
    re.IGNORECASE | re.MULTILINE,
)
_NO_LOGIN = re.compile(r"\bwithout (\w+ ){0,3}?(log|sign)(ging|ning)?[ -]?(in|on|up)\b", re.IGNORECASE)
_WORDING = re.compile(r"(~\d+)+$")
"""The end of the ids that `paraphrase.paraphrased` makes."""
_ROWS = 4096
"""Training tasks whose embeddings are compared at once."""

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts to unit embeddings, (N, E)."""
DropReason = Callable[[Task], str | None]
"""Returns the reason to drop a task, which may be empty; None keeps the task."""


def filter_tasks(
    train: Sequence[Task],
    evaluation: Sequence[Task],
    params: FilterParams,
    blocked_hosts: Mapping[str, str] | None = None,
    embed: Embed | None = None,
) -> tuple[list[Task], Funnel]:
    """The training tasks that are kept, in order, and the funnel with the tasks that each step dropped.

    A task whose page is generated from a seed overlaps with an evaluation task of the same website and seed (such pages
    share their wording, so words are not compared). Any other task overlaps with an evaluation task that has the same
    id (of another wording, or of the whole of which both are parts, too) or intent; the same intent up to case and
    spaces, on any website; the same words on the same website, by its name or by the host of the start page; or an
    embedding with a cosine above `params.overlap_threshold`. Intents are those of `Task.own_intent`. Words are compared
    unless both tasks begin on different pages of one host, none of them its root: of WebArena-Lite's 165 and 647 tasks,
    which WebAgent-R1 evaluates and trains on, some say "Add this product to my wishlist" on different products.

    Args:
        blocked_hosts: hosts that refuse the agent or are unstable, each with `refuses` or `unstable`.
        embed: needed if `overlap_threshold` is set.

    Raises:
        ValueError: there is a threshold and no embedder.
    """
    blocked = blocked_hosts or {}
    seedless = [task for task in evaluation if task.seed is None]
    kept, funnel = _drop(list(train), Funnel(total=len(train)), "evaluation overlap", _same_as(evaluation))
    kept, funnel = _drop(kept, funnel, "evaluation overlap in words", _same_words_as(seedless))
    if params.overlap_threshold is not None:
        if embed is None:
            raise ValueError("filters.overlap_threshold needs an embedder: pass embed, or set the threshold to null")
        near = _near_to(kept, seedless, params.overlap_threshold, embed)
        kept, funnel = _drop(kept, funnel, "evaluation overlap in meaning", near)
    steps: list[tuple[str, DropReason]] = []
    if params.drop_decomposed:
        steps.append(("decomposed subtasks", lambda task: task.decomposed_from))
    if params.drop_login:
        steps.append(("login required", _login))
    steps.append(("blocked websites", lambda task: "" if is_blocked(task, params.blocked_websites) else None))
    steps.append(("blocked hosts", lambda task: "" if blocked.get(start_host_of(task) or "") == "refuses" else None))
    steps.append(("unstable hosts", lambda task: "" if start_host_of(task) in blocked else None))
    for name, reason in steps:
        kept, funnel = _drop(kept, funnel, name, reason)
    sizes = Counter(task.website for task in kept)
    return _drop(
        kept, funnel, "long tail", lambda task: "" if sizes[task.website] < params.min_tasks_per_website else None
    )


def normalise(intent: str) -> str:
    """An intent with normalised Unicode form, case and spaces, without final punctuation."""
    return " ".join(unicodedata.normalize("NFKC", intent).casefold().split()).rstrip(".!? ")


def words(intent: str) -> str:
    """Only the words and numbers of an intent, in order."""
    return _NO_WORD.sub(" ", normalise(intent)).strip()


def is_blocked(task: Task, blocked: Sequence[str]) -> bool:
    """True if a task's website, or a domain that it belongs to, is blocked.

    Args:
        blocked: host names, with or without `www.` or a port, or shell patterns of them (`host_pattern`).
    """
    names = [pattern.removeprefix("www.") for pattern in blocked]
    return any(
        fnmatchcase(website, name) or fnmatchcase(website, f"*.{name}") for website in _websites(task) for name in names
    )


def _websites(task: Task) -> set[str]:
    """A task's website in small letters and without `www.`, and likewise the host of its first start page, alone and
    with its port: the rows of a user's file may name a website in any way, such as `Amazon`. Hosts are written as
    browsers request them. A placeholder of a site has no host."""
    start = urlsplit(start_tabs(task.start_url)[0])
    names = [task.website]
    if start.hostname:
        names.append(start.hostname)
        with contextlib.suppress(ValueError):  # a port that no address can have
            names.append(f"{start.hostname}:{start.port or (443 if start.scheme == 'https' else 80)}")
    return {_as_requested(name).removeprefix("www.") for name in names if name}


def _as_requested(name: str) -> str:
    """The name of a website as `host_pattern` writes it; what cannot be a host is only in small letters."""
    try:
        return host_pattern(name)
    except ValueError:
        return name.lower()


def _same_as(evaluation: Sequence[Task]) -> DropReason:
    relatives = {name: task.task_id for task in evaluation for name in _family(task)}
    seeds = {(task.website, task.seed): task.task_id for task in evaluation if task.seed is not None}
    intents = _by_name((task.own_intent, task) for task in evaluation if task.seed is None)

    def overlap(task: Task) -> str | None:
        relative = next((relatives[name] for name in _family(task) if name in relatives), None)
        if relative is not None:
            return relative
        if task.seed is not None:
            return seeds.get((task.website, task.seed))
        return _first_on_the_page(task, intents.get(task.own_intent, []))

    return overlap


def _by_name(named: Iterable[tuple[Hashable, Task]]) -> dict[Hashable, list[Task]]:
    tasks = defaultdict[Hashable, list[Task]](list)
    for name, task in named:
        tasks[name].append(task)
    return tasks


def _first_on_the_page(task: Task, others: Iterable[Task]) -> str | None:
    """The id of the first of the tasks that does not begin on another page of one host than `task`."""
    return next((other.task_id for other in others if not _on_other_pages(task, other)), None)


def _on_other_pages(task: Task, other: Task) -> bool:
    """Whether both tasks begin on pages of one host, none of them its root, and these differ."""
    hosts, pages = zip(*(_start_pages(start_tabs(url)) for url in (task.start_url, other.start_url)), strict=True)
    return hosts[0] == hosts[1] and pages[0] != pages[1] and all(page[0] != ("", "") for page in pages)


def _start_pages(tabs: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """The host of the first tab without `www.`, or the placeholder of its site, and the path and query of each tab."""
    urls = [urlsplit(tab) for tab in tabs]
    host = urls[0].netloc.lower().removeprefix("www.") or urls[0].path.partition("/")[0]
    paths = (url.path if url.netloc else url.path.partition("/")[2] for url in urls)
    return host, [(path.strip("/"), url.query) for path, url in zip(paths, urls, strict=True)]


def wording_of(task_id: str) -> str | None:
    """The id of the task of which an id names another wording; None if it names none."""
    original = _WORDING.sub("", task_id)
    return original if original != task_id else None


def _family(task: Task) -> list[str]:
    """The id of a task, and of the task that it is a part of (`decomposed_from`); of other wordings of a task, its id,
    too."""
    names = [name for name in (task.task_id, task.decomposed_from) if name]
    return [*names, *(original for name in names if (original := wording_of(name)))]


def _same_words_as(evaluation: Sequence[Task]) -> DropReason:
    intents = _by_name((normalise(task.own_intent), task) for task in evaluation)
    on_website = _by_name(
        ((website, words(task.own_intent)), task) for task in evaluation for website in _websites(task)
    )

    def overlap(task: Task) -> str | None:
        if task.seed is not None:
            return None
        same_words = words(task.own_intent)
        known = [other for website in sorted(_websites(task)) for other in on_website.get((website, same_words), [])]
        return _first_on_the_page(task, [*intents.get(normalise(task.own_intent), []), *known])

    return overlap


def _near_to(train: Sequence[Task], evaluation: Sequence[Task], threshold: float, embed: Embed) -> DropReason:
    tasks = [task for task in train if task.seed is None]
    nearest: dict[str, str] = {}
    if tasks and evaluation:
        evaluation_ME = embed([task.own_intent for task in evaluation])
        train_NE = embed([task.own_intent for task in tasks])
        for start in range(0, len(tasks), _ROWS):
            cosines_RM = train_NE[start : start + _ROWS] @ evaluation_ME.T
            best_R = cosines_RM.argmax(axis=1)
            for row in np.flatnonzero(cosines_RM.max(axis=1) > threshold):
                other = evaluation[best_R[row]]
                nearest[tasks[start + row].task_id] = f"{cosines_RM[row, best_R[row]]:.2f} to {other.task_id}"
    return lambda task: nearest.get(task.task_id)


def _login(task: Task) -> str | None:
    """Whether a task needs a login. Pages with a seed are on local sites, where a login is part of the task."""
    if task.seed is not None:
        return None
    needed = task.evaluator.get("require_login")
    if isinstance(needed, bool):
        return "its source says so" if needed else None
    phrase = _LOGIN.search(_NO_LOGIN.sub("", task.intent))
    return phrase and phrase[0].strip()


def _drop(tasks: list[Task], funnel: Funnel, step: str, reason_of: DropReason) -> tuple[list[Task], Funnel]:
    kept: list[Task] = []
    dropped: list[str] = []
    for task in tasks:
        reason = reason_of(task)
        if reason is None:
            kept.append(task)
        else:
            dropped.append(f"{task.task_id}: {task.intent[:120]}" + (f" ({reason})" if reason else ""))
    return kept, funnel.then(step, dropped)
