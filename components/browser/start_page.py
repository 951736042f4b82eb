"""Opens an episode's start page, with the task's login and with further tabs.

A WebArena task names the file of cookies with which its agent is logged in (`storage_state`, made by the benchmark's
own `auto_login.py`); `browser.logins` is the folder of those files. Only cookies are taken from them, because the
benchmark's sites keep logins nowhere else. A task may have several start pages (`A |AND| B`); the first is the active
tab.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Literal

from playwright.async_api import BrowserContext, Response
from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError, EnvInitError, SandboxError
from components.browser.playwright_errors import translate
from components.browser.tabs import PageSession
from components.records import Task, start_tabs

WaitUntil = Literal["load", "domcontentloaded"]
_CERTIFICATE_ADVICE = "; set browser.context.ignore_https_errors to open pages whose certificate is not valid"


async def log_in(context: BrowserContext, task: Task, folder: str | None) -> None:
    """Set the cookies that the task's evaluator names, if it names any.

    Args:
        folder: `browser.logins`.

    Raises:
        EnvInitError: the file of cookies is missing or cannot be read.
    """
    named = task.evaluator.get("storage_state")
    if not isinstance(named, str):
        return
    if folder is None:
        raise EnvInitError(
            f"{task.task_id} needs a login: put the benchmark's {Path(named).name} into a folder, and set "
            "browser.logins to that folder"
        )
    path = Path(folder) / Path(named).name
    try:
        cookies = json.loads(path.read_text(encoding="utf-8"))["cookies"]
        await context.add_cookies(cookies)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EnvInitError(f"{task.task_id} needs the cookies of {path}, which cannot be read: {error!r}") from error


async def open_start(session: PageSession, start_url: str, wait_until: WaitUntil) -> Response | None:
    """Open the start pages, each with up to `navigation_retries` retries. Returns the response of the first.

    Raises:
        EnvInitError: a page could not be opened, or one after the first was answered with an error; of the first, the
            session judges the response.
        SandboxError: the browser died.
    """
    first, *others = start_tabs(start_url)
    response = await _open(session, 0, first, wait_until)
    for address in others:
        other = await _open(session, await session.tabs.open(), address, wait_until)
        if other is not None and other.status >= 400:
            raise EnvInitError(f"{address} was answered with status {other.status}")
    if others:
        await session.tabs.activate(0)
    return response


async def _open(session: PageSession, index: int, url: str, wait_until: WaitUntil) -> Response | None:
    attempts = session.params.navigation_retries + 1
    timeout_ms = session.params.start_timeout_s * 1000 / attempts * 0.9
    reason: EnvError | str | None = None
    for attempt in range(attempts):
        try:
            response = await session.tabs[index].page.goto(url, wait_until=wait_until, timeout=timeout_ms)
            if response is None or not (reason := session.refusal(response)):
                return response
        except PlaywrightError as error:
            reason = translate(error)
            if isinstance(reason, SandboxError):
                raise reason from error
        if attempt + 1 == attempts:
            advice = _CERTIFICATE_ADVICE if "net::ERR_CERT_" in str(reason) else ""
            raise EnvInitError(f"{url} could not be opened in {attempts} attempts: {reason}{advice}")
        await asyncio.sleep(min(0.5, timeout_ms / 10_000) * attempt)
    raise AssertionError("unreachable")
