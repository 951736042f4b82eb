"""Training tasks that must go before anything is spent on them (OpenWebRL, section 4.2).

In order: overlap with evaluation tasks, subtasks decomposed from a parent, blocked websites, hosts that refuse us, the
long tail. The order matters: a website is the long tail by what the earlier steps left of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from components.params import FilterParams
from components.records import Task
from components.tasks.blocklist import host_of
from components.tasks.funnel import Funnel

_NO_WORD = re.compile(r"[\W_]+")


def filter_tasks(
    train: Sequence[Task], evaluation: Sequence[Task], params: FilterParams, blocked_hosts: Collection[str] = ()
) -> tuple[list[Task], Funnel]:
    """The training tasks that stay, in order, and the funnel with what each step dropped.

    Overlap is, for a task whose page is generated from a seed, the same website and seed as an evaluation task (such
    pages share their wording, so the words say nothing). For any other task it is an evaluation task's id, its intent
    up to case and spaces on any website, or its words on the same website.
    """
    steps: list[tuple[str, Callable[[Task], bool]]] = [("evaluation overlap", _overlap_with(evaluation))]
    if params.drop_decomposed:
        steps.append(("decomposed subtasks", lambda task: task.decomposed_from is not None))
    steps.append(("blocked websites", lambda task: is_blocked(task.website, params.blocked_websites)))
    steps.append(("blocked hosts", lambda task: host_of(task.start_url) in blocked_hosts))

    kept, funnel = list(train), Funnel(total=len(train))
    for name, goes in steps:
        kept, funnel = _drop(kept, funnel, name, goes)
    sizes = Counter(task.website for task in kept)
    return _drop(kept, funnel, "long tail", lambda task: sizes[task.website] < params.min_tasks_per_website)


def normalise(intent: str) -> str:
    """An intent up to Unicode form, case, spaces and the final punctuation."""
    return " ".join(unicodedata.normalize("NFKC", intent).casefold().split()).rstrip(".!? ")


def words(intent: str) -> str:
    """An intent's words and numbers alone, in order."""
    return _NO_WORD.sub(" ", normalise(intent)).strip()


def is_blocked(website: str, blocked: Sequence[str]) -> bool:
    """True if a website, or a domain that it belongs to, is blocked."""
    return any(website == domain or website.endswith(f".{domain}") for domain in blocked)


def _overlap_with(evaluation: Sequence[Task]) -> Callable[[Task], bool]:
    ids = {task.task_id for task in evaluation}
    seeds = {(task.website, task.seed) for task in evaluation if task.seed is not None}
    intents = {normalise(task.intent) for task in evaluation if task.seed is None}
    on_website = {(task.website, words(task.intent)) for task in evaluation if task.seed is None}

    def overlaps(task: Task) -> bool:
        if task.task_id in ids:
            return True
        if task.seed is not None:
            return (task.website, task.seed) in seeds
        return normalise(task.intent) in intents or (task.website, words(task.intent)) in on_website

    return overlaps


def _drop(tasks: list[Task], funnel: Funnel, name: str, goes: Callable[[Task], bool]) -> tuple[list[Task], Funnel]:
    kept: list[Task] = []
    dropped: list[str] = []
    for task in tasks:
        if goes(task):
            dropped.append(f"{task.task_id}: {task.intent[:120]}")
        else:
            kept.append(task)
    return kept, funnel.then(name, dropped)
