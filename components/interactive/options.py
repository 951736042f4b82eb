"""The settings of one run, and the recipe that results from them."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from components.params import DEFAULT_PATH, BrowserParams, EndpointParams, Params
from components.params.harness import ascii_address
from components.records import Task

PERSON_STEPS = 200
PERSON_DIALOG_S = 86400.0
"""Seconds that a dialog waits for a person's answer."""
SOURCE = "run"
"""`source` of the tasks of `waymark run`."""


Dialogs = Literal["ask", "accept"]
"""Whether the agent answers `confirm()` and `prompt()` of pages, or they are confirmed at once."""


class RunError(ValueError):
    """The run cannot begin. The message says what to change."""


@dataclass(frozen=True)
class RunOptions:
    """What a person chose. None leaves a limit as the recipe has it."""

    intent: str
    url: str
    model: str = "champion"
    """A directory, a Hugging Face name, `champion`, or `models:/NAME/NUMBER`."""
    endpoint: EndpointParams | None = None
    """An endpoint that answers in place of `model`."""
    by_person: bool = False
    """A person acts in place of a model."""
    max_steps: int | None = None
    """None: the recipe's `evaluation.max_steps`, or `PERSON_STEPS` for a person."""
    minutes: float | None = None
    allow: tuple[str, ...] = ()
    """Further hosts, as shell patterns, or as host:port."""
    headed: bool = False
    record: bool = False
    out: Path | None = None
    """The folder of the results; None makes one in `data/runs`."""
    seed: int | None = None
    dialogs: Dialogs | None = None
    """None: `ask`. `dialogs_of` has what a recipe chooses."""


def start_address(url: str) -> str:
    """The first page's address with its scheme (http for this machine and for IP addresses, else https) and its host in
    ASCII.

    Raises:
        RunError: it is no address of a web page.
    """
    url = url.strip()
    try:
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
            host = urlsplit(f"//{url}").hostname or ""
            url = f"{'http' if host == 'localhost' or is_ip(host) else 'https'}://{url}"
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        valid = valid and not re.search(r"\s", parts.netloc)
        url = ascii_address(url)
    except ValueError:
        valid = False
    if not valid:
        raise RunError(f"--url {url} is no address of a web page: give one such as https://shop.example/")
    return url


def task_of(intent: str, url: str) -> Task:
    """The task of a run. Equal intents on equal pages have equal ids."""
    if not intent.strip():
        raise RunError(
            'the task is empty: say what to do, such as `waymark run "add a red tent to the basket" --url …`'
        )
    digest = hashlib.sha256(f"{intent}\x00{url}".encode()).hexdigest()[:12]
    return Task(
        task_id=f"{SOURCE}-{digest}",
        intent=intent.strip(),
        start_url=url,
        website=urlsplit(url).hostname or "",
        source=SOURCE,
    )


def recipe_of_run(params: Params, options: RunOptions) -> Params:
    """The recipe with the settings of one run on any page.

    A recipe for generated pages waits 0 ms for a quiet page (`browser.quiet_ms`); pages of the web get the default. The
    agent answers the dialogs of pages, and those without an answer are dismissed, unless `options.dialogs` is `accept`.
    """
    quiet_ms = params.browser.quiet_ms or BrowserParams().quiet_ms
    browser = params.browser.model_copy(update={"concurrency": 1, "quiet_ms": quiet_ms})
    dialogs = "accept" if options.dialogs == "accept" else "ask_or_dismiss"
    wait_s = PERSON_DIALOG_S if options.by_person else browser.dialog_wait_s
    browser = browser.model_copy(update={"dialogs": dialogs, "dialog_wait_s": wait_s})
    agent = params.agent
    if options.minutes is not None:
        agent = agent.model_copy(update={"task_timeout_s": options.minutes * 60})
    return params.model_copy(update={"browser": browser, "agent": agent})


def dialogs_of(recipe: Path, params: Params) -> Dialogs | None:
    """`accept` if a recipe's file, or one that it extends, sets `browser.dialogs: accept`; else None.

    `waymark use` writes all keys to params.yaml, so that its `accept` need not be a choice.
    """
    chooses = recipe.name != DEFAULT_PATH.name and "dialogs" in params.browser.model_fields_set
    return "accept" if chooses and params.browser.dialogs == "accept" else None


def is_ip(host: str) -> bool:
    """Whether a host is an IP address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
