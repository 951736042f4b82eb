"""The columns of an exported dataset: one row per episode in `episodes`, one row per turn in `turns`.

The schema's metadata holds the features by which the library `datasets` reads a file, so that screenshots are decoded
as images (`datasets.Image`: a struct of `bytes` and `path`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from components.formats.public_changes import public_check
from components.records import Image, ToolCall, Trajectory, Turn, Verdict
from components.redaction import cleaned, cleaned_json
from components.success import success

Kind = Literal["string", "int64", "float64", "bool", "strings", "integers", "image"]
_ARROW: dict[Kind, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "strings": pa.list_(pa.string()),
    "integers": pa.list_(pa.int64()),
    "image": pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
}
_ITEMS: dict[Kind, str] = {"strings": "string", "integers": "int64"}


@dataclass(frozen=True)
class Column:
    """A column with the sentence that the dataset card has for it."""

    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True)
class Episode:
    """A trajectory with its verdict, if it was judged, and the name of the table that it comes from."""

    trajectory: Trajectory
    verdict: Verdict | None
    origin: str

    @property
    def success(self) -> bool | None:
        """As the evaluation counts it; None if the environment ended the episode, or a verdict is missing."""
        return success(self.trajectory, self.verdict)


SUCCESS = (
    "By the verdict if the agent ended the episode with an answer, else false; null if the environment ended the "
    "episode, or if its verdict is missing or cannot be read."
)
EPISODES = (
    Column("trajectory_id", "string", "Hash of task, attempt, policy and seed; joins the two tables."),
    Column("origin", "string", "The table of the episode: its folder's name, such as `teacher`, or its path."),
    Column("task_id", "string", "Id of the task."),
    Column("intent", "string", "The task in words."),
    Column("start_url", "string", "The page on which the episode starts."),
    Column("website", "string", "World and family of the task, or its site."),
    Column("source", "string", "The world or file of the task."),
    Column("domain", "string", "Group of the task, if its source has groups."),
    Column("difficulty", "int64", "Number of facts that must be established."),
    Column("evaluator", "string", "Specification of the task's rule, as JSON."),
    Column("attempt", "int64", "Number of the attempt at the task, from 0."),
    Column("policy", "string", "Version of the policy that acted."),
    Column("protocol", "string", "Format of the responses."),
    Column("seed", "int64", "Seed of the episode's sampling."),
    Column("turns", "int64", "Number of turns."),
    Column("termination", "string", "Why the episode ended."),
    Column("answer", "string", "Argument of `done`."),
    Column("success", "bool", SUCCESS),
    Column("judge", "string", "Who gave the verdict."),
    Column("rationale", "string", "The verdict's reason."),
    Column("site_reward", "float64", "The site's own reward, if it has one."),
    Column("state_credit", "float64", "Share of the expected effects that was there, from 0 to 1."),
    Column("missing", "strings", "Expected effects that were not there."),
    Column("side_effects", "strings", "Changes that the task does not ask for."),
    Column(
        "changes",
        "string",
        "The rows that the episode changed, as JSON, each with the columns that changed; null if the world has no "
        "state.",
    ),
    Column("final_screenshot", "image", "The page after the last turn."),
)
TURNS = (
    Column("trajectory_id", "string", "Joins `episodes`."),
    Column("turn", "int64", "Number of the turn, from 0."),
    Column("task_id", "string", "Id of the task."),
    Column("intent", "string", "The task in words."),
    Column("policy", "string", "Version of the policy that acted."),
    Column("success", "bool", "Of the whole episode, as in `episodes`."),
    Column("url", "string", "Address of the page."),
    Column("viewport", "integers", "Width and height of the page's view, in CSS pixels."),
    Column("screenshot", "image", "The page that the policy saw."),
    Column("page_text", "string", "The page as text, in the form that the policy saw; null if it saw none."),
    Column("response", "string", "The policy's whole response."),
    Column(
        "tool_calls",
        "string",
        "The parsed calls, as a JSON list of `name`, `arguments` and `error`; numbers that are not finite are texts.",
    ),
    Column("feedback", "strings", "What each call did."),
    Column("parse_error", "string", "Why the response could not be parsed; null if it could."),
    Column("finish_reason", "string", "`stop` or `length`."),
)


def schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The Arrow schema, with the features of `datasets` in its metadata."""
    features = {column.name: _feature(column.kind) for column in columns}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    return pa.schema([(column.name, _ARROW[column.kind]) for column in columns], metadata)


def _feature(kind: Kind) -> Any:
    if kind == "image":
        return {"_type": "Image"}
    if kind in _ITEMS:
        return [{"dtype": _ITEMS[kind], "_type": "Value"}]  # the spelling that all versions of `datasets` read
    return {"dtype": kind, "_type": "Value"}


def episode_row(episode: Episode, clean: Callable[[str], str]) -> dict[str, Any]:
    """The row of an episode, without secrets."""
    trajectory, verdict, task = episode.trajectory, episode.verdict, episode.trajectory.task
    check = None if trajectory.state_check is None else public_check(trajectory.state_check)
    row = {
        "trajectory_id": trajectory.trajectory_id,
        "origin": episode.origin,
        "task_id": task.task_id,
        "intent": task.intent,
        "start_url": task.start_url,
        "website": task.website,
        "source": task.source,
        "domain": task.domain,
        "difficulty": task.difficulty,
        "attempt": trajectory.attempt,
        "policy": trajectory.policy,
        "protocol": trajectory.protocol,
        "seed": trajectory.seed,
        "turns": len(trajectory.turns),
        "termination": trajectory.termination.value,
        "answer": trajectory.answer,
        "success": episode.success,
        "judge": None if verdict is None else verdict.judge,
        "rationale": None if verdict is None else verdict.rationale,
        "site_reward": trajectory.site_reward,
        "state_credit": None if check is None else check.credit,
        "missing": None if check is None else check.missing,
        "side_effects": None if check is None else check.side_effects,
    }
    changes = None if check is None else [cleaned(change.model_dump(), clean) for change in check.changes]
    return cleaned(row, clean) | {
        "evaluator": _json(cleaned_json(task.evaluator, clean)),
        "changes": None if changes is None else _json(changes),
        "final_screenshot": _image(trajectory.final_screenshot),
    }


def turn_row(episode: Episode, turn: Turn, clean: Callable[[str], str]) -> dict[str, Any]:
    """The row of a turn, without secrets."""
    trajectory, seen = episode.trajectory, turn.observation
    row = {
        "trajectory_id": trajectory.trajectory_id,
        "turn": turn.index,
        "task_id": trajectory.task_id,
        "intent": trajectory.task.intent,
        "policy": trajectory.policy,
        "success": episode.success,
        "url": seen.url,
        "viewport": [*seen.viewport],
        "page_text": seen.text,
        "response": turn.response,
        "feedback": turn.feedback,
        "parse_error": turn.parse_error,
        "finish_reason": turn.finish_reason,
    }
    return cleaned(row, clean) | {
        "tool_calls": _json([_call(call, clean) for call in turn.tool_calls]),
        "screenshot": _image(seen.screenshot),
    }


def _call(call: ToolCall, clean: Callable[[str], str]) -> dict[str, Any]:
    values = cleaned({"name": call.name, "arguments": {}, "error": call.error}, clean)
    return values | {"arguments": cleaned_json(call.arguments, clean)}


def _image(image: Image | None) -> dict[str, Any] | None:
    return None if image is None else {"bytes": image.data, "path": f"{image.sha256[:16]}.png"}


def _json(value: Any) -> str:
    """A value as JSON. Numbers that JSON cannot hold are the texts `Infinity`, `-Infinity` and `NaN`."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """The value with texts in place of numbers that are not finite, at any depth."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
