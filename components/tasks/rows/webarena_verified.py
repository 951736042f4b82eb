"""webarena-verified (El hattami et al. 2025), a JSON list: WebArena's 812 tasks with corrected intents and checks.

`evaluator["row"]` is the published row, unchanged, because the package's own evaluator reads it; `addresses` has the
address of each of its sites. The package wants the answer as a JSON object and leaves it to the harness to say so, so
the form (`RESPONSE`) stands behind the intent. Of the logins, which the rows do not name, the cookies are those of
WebArena's own `auto_login.py` for the same sites.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from components.records import TABS, Record, Task
from components.tasks.fields import Id, NonEmpty
from components.tasks.site_addresses import PlacedAddress, website_of_start

RESPONSE = """When you are done, answer with one JSON object and nothing else:
{"task_type": "RETRIEVE" (the user wants to know something), "MUTATE" (something is created, changed or deleted) or \
"NAVIGATE" (the user wants to see a page),
"status": "SUCCESS", or if it cannot be done "NOT_FOUND_ERROR", "ACTION_NOT_ALLOWED_ERROR", "PERMISSION_DENIED_ERROR", \
"DATA_VALIDATION_ERROR" or "UNKNOWN_ERROR",
"retrieved_data": a list of the values that RETRIEVE asks for, all of one type and with numbers and true or false \
unquoted; otherwise null,
"error_details": null, or why it cannot be done}"""
_WITHOUT_LOGIN = ("map", "wikipedia")
_Number = Annotated[Id, Field(pattern=r"^[0-9]{1,9}$")]


class Check(Record):
    """One of a row's evaluators; the package validates its parts."""

    model_config = ConfigDict(extra="allow")

    evaluator: Literal["AgentResponseEvaluator", "NetworkEventEvaluator"]
    expected: dict[str, Any]


class WebArenaVerifiedRow(Record):
    """A task on one or two of WebArena's own sites."""

    sites: Annotated[list[NonEmpty], Field(min_length=1)]
    task_id: _Number
    intent_template_id: int
    start_urls: Annotated[list[PlacedAddress], Field(min_length=1)]
    intent: NonEmpty
    intent_template: str
    instantiation_dict: dict[str, Any]
    eval: Annotated[list[Check], Field(min_length=1)]
    revision: int

    def task(self, source: str) -> Task:
        """The task of this row."""
        row = self.model_dump(mode="json") | {"task_id": int(self.task_id)}
        logins = sorted(set(self.sites) - set(_WITHOUT_LOGIN))
        return Task(
            task_id=f"{source}/{self.task_id}",
            intent=f"{self.intent}\n\n{RESPONSE}",
            start_url=TABS.join(self.start_urls),
            website=website_of_start(self.start_urls[0]),
            source=source,
            split="eval",
            evaluator={
                "type": "webarena_verified",
                "row": row,
                "addresses": {placeholder: placeholder for placeholder in map(_placeholder, self.sites)},
                "har": any(check.evaluator == "NetworkEventEvaluator" for check in self.eval),
                "intent_template_id": self.intent_template_id,
                "storage_state": f"./.auth/{'.'.join(logins)}_state.json" if logins else None,
            },
        )


def _placeholder(site: str) -> str:
    return f"__{site.upper()}__"
