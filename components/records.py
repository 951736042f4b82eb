"""The records that all packages exchange: tasks, observations, tool calls, turns, trajectories, verdicts, rewards.

This module imports no other module of the project. Packages pass data to each other only as these records, which
pydantic validates when they are made, and which are immutable afterwards.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Base of all records: immutable, and an unknown field is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants"
    )


def _encodable(value: Any) -> Any:
    """Replace lone surrogates by question marks: pages and JSON escapes can contain them, but UTF-8 cannot."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list) else value


Text = Annotated[str, AfterValidator(_encodable)]
"""Text from a page, a task file or a model."""
JsonObject = Annotated[dict[str, Any], AfterValidator(_encodable)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
"""A whole number that a column of a table can hold."""


class Termination(StrEnum):
    """Why an episode ended. A closed set (OpenWebRL, appendix A.1)."""

    DONE = "done"
    """The agent called `done`."""
    MAX_STEPS = "max_steps"
    """The step budget ran out."""
    RESPONSE_LENGTH = "response_length"
    """A response hit its token limit and could not be used."""
    CONTEXT_LENGTH = "context_length"
    """The next prompt would not fit the context window."""
    FORMAT_ERROR = "format_error"
    """Three unparsable turns in a row."""
    ENV_ERROR = "env_error"
    """A browser operation failed after its retries."""
    ENV_INIT_ERROR = "env_init_error"
    """The start page could not be opened."""
    BLOCKED = "blocked"
    """The site answered with a block page or a CAPTCHA."""
    SANDBOX_ERROR = "sandbox_error"
    """The browser or its machine died."""
    HARNESS_ERROR = "harness_error"
    """A bug of the harness: an unexpected exception, whose traceback is in the diagnostics."""
    TASK_TIMEOUT = "task_timeout"
    """The episode's wall-clock limit ran out."""
    INFERENCE_TIMEOUT = "inference_timeout"
    """The policy did not answer in time."""
    REQUEST_REFUSED = "request_refused"
    """The policy's endpoint refused the request, for example for its content, or its content filter cut the answer."""
    ABORTED = "aborted"
    """The run was stopped."""

    @property
    def is_agents_doing(self) -> bool:
        """Whether the agent caused the ending. All other endings are failures of the environment."""
        return self in AGENT_TERMINATIONS


_BY_AGENT = ("done", "max_steps", "response_length", "context_length", "format_error")
AGENT_TERMINATIONS = frozenset(Termination(name) for name in _BY_AGENT)
"""The endings that the agent caused."""


class FactGroup(Record):
    """One group of a WebGym rubric: facts that the answer must establish together (WebGym, section 3)."""

    id: str
    description: Text
    facts: list[Text] = Field(default_factory=list)


TABS = " |AND| "
"""Separates the start pages of a task that begins with several tabs, as in WebArena."""


def start_tabs(start_url: str) -> list[str]:
    """The start pages of a task's `start_url`, one per tab. The first one is the active tab."""
    return start_url.split(TABS)


Split = Literal["train", "rl", "eval", "heldout", "validation", "heldout_validation"]
"""What a task is for. `rl` tasks are trained on by RL alone: the teacher does not try them, and SFT has no
demonstration of them. `heldout` tasks are of families never trained on. RL is watched on the validation splits
(`rl.validation`), which are neither trained on nor reported."""

TRAINED_ON: frozenset[Split] = frozenset({"train", "rl"})
"""The splits that are trained on."""


class Task(Record):
    """One task on the web.

    `evaluator` is the specification of a rule-based evaluator; an empty one means none. `difficulty` is the number of
    facts (WebGym). `horizon` is the step budget; None means the recipe's.
    """

    task_id: str = Field(min_length=1)
    intent: Text
    start_url: Text
    website: str
    source: str
    split: Split = "train"
    domain: Text | None = None
    subdomain: Text | None = None
    difficulty: Int64 | None = Field(default=None, ge=0)
    rubric: list[FactGroup] = Field(default_factory=list)
    reference_answer: Text | None = None
    evaluator: JsonObject = Field(default_factory=dict)
    decomposed_from: str | None = None
    horizon: Int64 | None = Field(default=None, gt=0)
    seed: Int64 | None = None

    @property
    def own_intent(self) -> str:
        """The words that tasks are compared by: the published row's intent if the evaluator has the row
        (webarena-verified), because other text stands behind it in `intent`; else `intent`."""
        row = self.evaluator.get("row")
        intent = row.get("intent") if isinstance(row, dict) else None
        return intent if isinstance(intent, str) else self.intent

    @property
    def family(self) -> str:
        """The group that the task is reported under: its website, without the name of the world that it is from."""
        return self.website.removeprefix(f"{self.source}/")


class Rejection(Record):
    """A row of a task file that did not become a task: its place, the wrong field, the reason, and the row itself.

    `row` counts from 0. `line` counts from 1: the line of a text file on which the row begins, None for other files.
    `field` is empty if the whole row is wrong. `raw` is the row's JSON, cut to a few kilobytes.
    """

    file: str
    row: int
    line: int | None = None
    field: str
    reason: str
    raw: str


_MEDIA_TYPES = ((b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", "image/webp"))
"""First bytes of images that are no PNG. Ours are PNG; other people's may be any of these."""


class Image(Record):
    """Encoded image bytes (PNG, or in trajectories of others JPEG, GIF or WebP) and their SHA-256."""

    data: bytes
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> Image:
        """Wrap encoded bytes."""
        return cls(data=data, sha256=hashlib.sha256(data).hexdigest())

    @property
    def media_type(self) -> str:
        """The MIME type by the first bytes."""
        return next((kind for start, kind in _MEDIA_TYPES if self.data.startswith(start)), "image/png")


NO_SCREENSHOT = Image.of(b"")
"""Stands in for the screenshot of a step that has none, in trajectories of others. Judges are not shown it."""


class Tab(Record):
    """One browser tab."""

    index: int
    title: Text
    url: Text
    active: bool


class Observation(Record):
    """The environment's state at one turn. `text` is the element list, accessibility tree or HTML, if any."""

    url: Text
    tabs: list[Tab]
    viewport: tuple[int, int]
    screenshot: Image
    text: Text | None = None


class ToolCall(Record):
    """One parsed call; `error` is set if the call could not be parsed or its arguments are wrong."""

    name: Text
    arguments: JsonObject = Field(default_factory=dict)
    error: Text | None = None


class Turn(Record):
    """One response of the policy and its result.

    `token_ids` are the sampled ids, including the end token if it was sampled. `logprobs` are of the sampled
    distribution (after temperature), in nats, one per id. `prompt_sha256` is the hash of the prompt's segments, images
    by content. `timings` are seconds per operation.
    """

    index: int
    observation: Observation
    prompt_sha256: str
    prompt_tokens: int
    response: Text
    token_ids: list[int]
    logprobs: list[float]
    finish_reason: Literal["stop", "length"]
    tool_calls: list[ToolCall]
    feedback: list[Text]
    parse_error: Text | None = None
    timings: dict[str, float] = Field(default_factory=dict)


HAR = "network.har"
"""The `url` of a reading whose text is the HAR of the episode, with cookies and what the agent typed into forms."""


class Probe(Record):
    """A value that a task's rule needs from a page after `done`; the episode's browser reads it.

    `url` and `locator` are copied from the rule, which finds the reading by them. The other fields say how to read:
    open `address` in a new tab (None: the page that the agent left), go on to the address that `resolve` gives, run
    the statements of `prepare`, and take the value of `script` (if empty, the page's HTML). All of these are
    JavaScript expressions; promises are awaited. If `script` throws, the reading is empty, but if the page
    `must_answer`, the reading is an error. A probe that `reads_images` takes the images of the page in place of a
    text: those that the CSS selector `locator` finds, or all if it is empty, and the images at the addresses of
    `copies`. A probe that `reads_har` takes the requests of the episode, which its browser recorded if the task's
    evaluator has `har`.
    """

    url: Text
    locator: Text
    address: Text | None = None
    resolve: Text | None = None
    prepare: list[Text] = Field(default_factory=list)
    script: Text = ""
    must_answer: bool = False
    reads_images: bool = False
    reads_har: bool = False
    copies: list[Text] = Field(default_factory=list)


class Reading(Record):
    """The result of a probe. `text` is None if the page could not be read; no verdict may then depend on it."""

    url: Text
    locator: Text
    address: Text
    """The page that was read, after redirects."""
    text: Text | None
    """The text; of a probe that reads images, their addresses, one per line."""
    error: Text | None = None
    images: list[Image] = Field(default_factory=list)
    """The images of the page, each once, in order."""
    copies: list[Image] = Field(default_factory=list)
    """The images at the addresses of `Probe.copies`, in order."""


class Ending(Record):
    """The state at the end of an episode: the active tab's address, and the readings for the task's rule."""

    url: Text
    readings: list[Reading] = Field(default_factory=list)


class RowChange(Record):
    """One row that differs between two states of a world. Values are the text forms of SQL or JSON values."""

    table: str
    key: str
    before: dict[str, Text | None] | None
    """None: the row was added."""
    after: dict[str, Text | None] | None
    """None: the row was removed."""


class StateCheck(Record):
    """What an episode changed in the data of its world, compared with what its task asks for."""

    reward: float
    """1 if the expected effects are there, the answer is right, and nothing else changed; otherwise 0."""
    credit: float
    """Share of the expected effects and the answer that is there, from 0 to 1. It is reported and not rewarded."""
    missing: list[Text] = Field(default_factory=list)
    """Expected effects that are not there, in words."""
    side_effects: list[Text] = Field(default_factory=list)
    """Changes that the task does not ask for, in words."""
    answer_ok: bool | None = None
    """Whether the answer is right; None if the task asks for none."""
    changes: list[RowChange] = Field(default_factory=list)
    """All changes, without those that the world declares as noise."""


class BranchPoint(Record):
    """Where a branch leaves the episode whose first turns it has: before turn `turn` of the trajectory `parent`. If the
    page is not as the parent's record has it, the branch did not begin, and `difference` says what is different."""

    parent: str
    turn: int = Field(ge=1)
    difference: Text | None = None


class Trajectory(Record):
    """One episode. `trajectory_id` is a hash of task, attempt, policy version and seed."""

    trajectory_id: str
    task: Task
    attempt: int
    policy: str
    protocol: str
    seed: int
    turns: list[Turn]
    termination: Termination
    answer: Text | None = None
    site_reward: float | None = None
    """The site's own raw reward; None for sites without one."""
    late_actions: int | None = Field(default=None, ge=0)
    """Actions on a page after it had ended the task by itself; None where no page does, and in older records."""
    final_screenshot: Image | None = None
    """The page after the last turn's calls. The agent did not see it; a judge may."""
    ending: Ending | None = None
    """The state after `done`; None for other endings and in older records."""
    state_check: StateCheck | None = None
    """What the episode changed; None if its world has no state or the environment ended the episode."""
    branch_of: BranchPoint | None = None
    """Where the episode left another one, if it began as that."""
    diagnostics: JsonObject = Field(default_factory=dict)

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return self.task.task_id

    @property
    def response_tokens(self) -> int:
        """Number of sampled tokens over all turns, or those that an endpoint billed; 0 if neither is known."""
        billed = self.diagnostics.get("response_tokens")
        sampled = sum(len(turn.token_ids) for turn in self.turns)
        return sampled or (int(billed) if isinstance(billed, int | float) else 0)

    @property
    def response_characters(self) -> int:
        """Number of characters of all responses."""
        return sum(len(turn.response) for turn in self.turns)

    @property
    def format_ok(self) -> bool:
        """Whether the last turn parsed and the episode did not end by format errors (OpenWebRL, appendix A.4)."""
        return (
            bool(self.turns) and self.turns[-1].parse_error is None and self.termination is not Termination.FORMAT_ERROR
        )


def trajectory_id(task_id: str, attempt: int, policy: str, seed: int) -> str:
    """The id of an episode: 20 hexadecimal digits of a hash of the arguments."""
    return hashlib.sha256(f"{task_id}\x00{attempt}\x00{policy}\x00{seed}".encode()).hexdigest()[:20]


class Outcome(StrEnum):
    """The result of judging. An outage (`error`) and an unreadable answer (`unparsed`) are no failures of the agent."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNPARSED = "unparsed"
    ERROR = "error"


class ErrorCause(StrEnum):
    """Why a judge gave no verdict (`Outcome.ERROR`)."""

    ENVIRONMENT = "environment"
    """The environment ended the episode, not the agent."""
    NO_RULE = "no_rule"
    """The rules cannot decide: the task has none, a page was not read, no model is named that could be asked, or the
    rule's evaluator is not installed."""
    ENDPOINT = "endpoint"
    """A model's endpoint refused the request or did not answer; it may answer when it is asked again."""


class ProcessReport(Record):
    """How an agent worked, apart from what came of it (after arXiv 2604.06240)."""

    score: float = Field(ge=0, le=1)
    """Mean over the criteria: met, or failed for a reason outside of the agent's control, 1; partly met 0.5; else 0."""
    failure: Literal["none", "controllable", "uncontrollable"]
    """Why criteria are not met: in part at least by the agent; only for reasons outside of its control; all are met."""
    side_effects: list[Text] = Field(default_factory=list)
    """Changes that the task does not ask for, in words."""
    critical_points: list[Text] = Field(default_factory=list)
    """Acts that commit the user or cannot be taken back, done without the task's leave, in words."""


class Verdict(Record):
    """A judge's verdict on one trajectory."""

    trajectory_id: str
    outcome: Outcome
    error_cause: ErrorCause | None = None
    """None unless the outcome is an error that a judge gave; verdicts of earlier versions have none."""
    rationale: Text
    process: ProcessReport | None = None
    """None for judges of the outcome alone."""
    judge: str
    judge_version: str
    tokens: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0


class Reward(Record):
    """A trajectory's reward. A `masked` one counts neither in the optimisation nor in the statistics of its group."""

    trajectory_id: str
    value: float
    masked: bool
    format_ok: bool
    outcome: Outcome | None = None
