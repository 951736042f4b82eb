"""The environment: what an agent can do on a page, and what it sees of it (OpenWebRL, 4.1 and appendix A).

    async with BrowserPool(params) as pool, pool.session() as session:
        observation = await session.start(task)
        result = await session.step([ToolCall(name="click", arguments={"x": 500, "y": 500})])

The modules, from the outermost to the innermost:

- `environment`: the interfaces that other packages use.
- `pool`: one Chromium for `concurrency` episodes, each in a browser context of its own; a dead browser is replaced.
  `chromium` finds the program, `egress` and `egress_proxy` restrict its traffic, `queues` limits parallel operations,
  and `pool_context` holds what the sessions share.
- `session`: one episode. `start` opens a page; `step` runs a turn's calls in order and observes once. `tabs` keeps the
  episode's tabs, `step_state` the state of one step, and `observing` makes the observations. `operation_guard` and
  `deadline` limit and translate failures, `site_cleaning` empties a context that a pool's own site uses again, and
  `start_page` opens the first page. `open_web` checks pages that are not the pool's own: `start_site` notices that the
  first page's site is down, `unopened` tells the agent of other pages that cannot be opened, and `blocked` (with
  `block_marks`, `block_evidence.js` and `document_status`) recognises block pages. `page_ending` follows pages that end
  their task, and `reading` reads pages for rules.
- `tools`: the 13 tools of table 6, and those on element ids, with typed arguments; a malformed call becomes feedback.
- `actions`, `element_actions`: the implementation of each tool. `effects` compares the page before and after a call,
  and `feedback` writes one line per call (table 5).
- `tab`: a page and its DevTools session; `page_state` has the records that it reads from the page. It knows when the
  page is quiet: it has navigated (`navigation`), has loaded its requests (`network`), and has stopped changing.
  `devtools` sends commands with a limit, `isolated_world` runs our JavaScript in the page, `focused_frame` finds the
  frame that has the focus, and `frame_sessions` reaches frames with renderers of their own. `notices` handles dialogs,
  downloads and file choosers, and `window` the dialogs of a page that is no tab yet.
- `elements` (with its JavaScript files, and `foreign_frames` for frames of another origin), and `axtree` with
  `axtree_view` (of large pages only what is in view), `axtree_snapshot` and `axtree_rendering`: the page as text.
  `axtree_element` acts on what the tree numbered.

An operation that fails or exceeds its limit raises one of `errors`, which ends the episode with a termination. A tool
call that fails is only a line of feedback. Every await has a limit. `SandboxError` is never caused by the page; such
episodes run again. An unexpected exception becomes a `HarnessError` and ends its own episode only.

What drives a browser is imported when it is first used (`_DRIVING`), so that training and rendering of prompts need no
Playwright.

`python -m perf.rollouts`, `perf.faults` and `perf.egress` measure speed, survived faults, and the egress guard.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from components.browser.axtree import Placed
from components.browser.elements import Listed, element_list, parse_elements, written_name
from components.browser.environment import Environment, Environments, StepResult
from components.browser.errors import (
    BlockedError,
    ChromiumNotFoundError,
    EnvError,
    EnvInitError,
    HarnessError,
    SandboxError,
)
from components.browser.site import Site, SiteCookie, SiteEpisode
from components.browser.tools import ALL_TOOLS, TOOLS, acts, check_call

if TYPE_CHECKING:
    from components.browser.chromium import find_chromium
    from components.browser.pool import BrowserPool
    from components.browser.session import Session
    from components.browser.site_pools import SitePools, open_browsers

__all__ = [
    "ALL_TOOLS",
    "TOOLS",
    "BlockedError",
    "BrowserPool",
    "ChromiumNotFoundError",
    "EnvError",
    "EnvInitError",
    "Environment",
    "Environments",
    "HarnessError",
    "Listed",
    "Placed",
    "SandboxError",
    "Session",
    "Site",
    "SiteCookie",
    "SiteEpisode",
    "SitePools",
    "StepResult",
    "acts",
    "check_call",
    "element_list",
    "find_chromium",
    "open_browsers",
    "parse_elements",
    "written_name",
]

_DRIVING = {
    "BrowserPool": "pool",
    "Session": "session",
    "SitePools": "site_pools",
    "find_chromium": "chromium",
    "open_browsers": "site_pools",
}
"""Names that this package exports, with the modules that define them."""


def __getattr__(name: str) -> Any:
    """PEP 562: import a name of `_DRIVING` at its first use."""
    if name not in _DRIVING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_DRIVING[name]}"), name)
