"""Oracles by recording: what a person does in a browser, written down as the steps of a task.

- `transcription`: events of the person as steps, named by `naming` as the element list names elements.
- `recorder`: hears the person in all tabs, and notices addresses that are typed, going back, tabs and dialogs.
- `parameters`: the values of a task's parameters become `{fields}`, so that the steps do the other tasks, too.
- `recording`: an episode of the person, the file, and the replay on a fresh copy.
"""

from __future__ import annotations

from components.worlds.own_site.recording.recording import record_oracle

__all__ = ["record_oracle"]
