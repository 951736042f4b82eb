"""One episode in front of a person: `waymark run`.

- `run`: runs the episode and writes what it did, also after Ctrl-C. `options` has its settings, `endings` the exit
  status of each termination.
- `page`: the recipe, the site and the hosts of a task on any page.
- `models`: opens the model that the person names.
- `hosts`: which hosts the run may open. `leaving` asks the person before a page of another host is opened.
- `session`: the episode's browser, which asks before it leaves and records the video (`screencast`).
- `transcript`: prints each turn as it happens. `console` reads the person's lines.
- `person`: the policy of `--teacher human`. `typed_calls` reads a typed line as tool calls.

The package prints, because a person watches it; other packages leave printing to the command line.
"""

import importlib
from typing import TYPE_CHECKING, Any

from components.interactive.endings import exit_status
from components.interactive.options import RunError, RunOptions, dialogs_of
from components.interactive.page import PageTask, page_task

if TYPE_CHECKING:
    from components.interactive.run import RunRecord, run_task

__all__ = ["PageTask", "RunError", "RunOptions", "RunRecord", "dialogs_of", "exit_status", "page_task", "run_task"]


def __getattr__(name: str) -> Any:
    """PEP 562: import the run, and with it PyTorch, at its first use."""
    if name not in ("RunRecord", "run_task"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("components.interactive.run"), name)
