"""The sections of what an agent lives in: what it sees, how it is spoken to, its browsers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from components.params.section import Section

TextKind = Literal["none", "elements", "axtree", "html"]
"""`elements`: what can be acted on, with its coordinates; `axtree`, `html`: the accessible page, with element ids."""
ProtocolName = Literal["openwebrl", "webgym", "webagent_r1", "webagent_r1_bare", "browseragent"]
ELEMENT_PROTOCOLS = frozenset({"webagent_r1", "webagent_r1_bare", "browseragent"})
"""Protocols whose actions name elements by id, which `axtree` and `html` show."""


class ObservationParams(Section):
    """What the policy sees besides the screenshot."""

    text: TextKind = "none"
    screenshots: int = Field(default=1, ge=1)
    """K: screenshots kept in the context (OpenWebRL, section 4.1)."""


class AgentParams(Section):
    """The harness (OpenWebRL, sections 4.1 and A.3)."""

    protocol: ProtocolName = "openwebrl"
    """How the agent is spoken to and answers (`components/agent/protocols`); `webagent_r1_bare` is without thinking."""
    prompt: Literal["full", "compact"] = "full"
    """`full` describes the tools; `compact` is one sentence, for models that know the tools from training."""
    max_response_tokens: int = Field(gt=0)
    max_context_tokens: int = Field(gt=0)
    max_format_errors: int = Field(default=3, gt=0)
    """Consecutive unparsable turns that end the episode."""
    inference_timeout_s: float = Field(default=30, gt=0)
    """Limit of one response, in seconds, in which somebody could give it: waiting for a vLLM server is not counted."""
    task_timeout_s: float = Field(default=600, gt=0)
    """Limit of one episode, in seconds, counted likewise."""


class EgressParams(Section):
    """Where a browser may go. Host names are shell patterns, such as `*.example.org`."""

    guard: bool = True
    """All traffic goes through a proxy that holds to these rules; false: the browser asks anybody itself."""
    allowed_hosts: list[str] = Field(default_factory=lambda: ["*"])
    blocked_hosts: list[str] = Field(default_factory=list)
    private_hosts: list[str] = Field(default_factory=list)
    """Hosts, or host:port, that may lie on loopback or private addresses: a benchmark's own servers, say."""


class QueueParams(Section):
    """How many operations of a kind one pool of browsers does at once; null: as many as there are."""

    navigate: PositiveInt | None = None
    act: PositiveInt | None = None
    screenshot: PositiveInt | None = None


class BrowserParams(Section):
    """The environment's limits, in seconds unless said otherwise (OpenWebRL, table 7)."""

    viewport: tuple[PositiveInt, PositiveInt] = (1280, 720)
    concurrency: int = Field(default=8, gt=0)
    """Episodes at once on this machine."""
    start_timeout_s: float = Field(default=60, gt=0)
    step_timeout_s: float = Field(default=45, gt=0)
    screenshot_timeout_s: float = Field(default=20, gt=0)
    navigation_retries: int = Field(default=2, ge=0)
    settle_ms: int = Field(default=1500, ge=0)
    """Longest wait for a page to become quiet after a call, in milliseconds."""
    quiet_ms: int = Field(default=250, ge=0)
    """How long a page must not have changed to count as quiet, in milliseconds; 0 for pages that answer at once."""
    logins: str | None = None
    """Folder of the files of cookies that tasks name (WebArena's `storage_state`); null: no task needs a login."""
    queues: QueueParams = QueueParams()
    egress: EgressParams = EgressParams()


class RolloutParams(Section):
    """Where the browsers of rollouts run, and how fast they go. It changes no result, so no stage depends on it."""

    executor: Literal["local", "ray"] = "local"
    """`local`: on this machine. `ray`: on the machines of a Ray cluster, `browser.concurrency` episodes on each."""
    ray_address: str | None = None
    """The cluster to join: `auto` on one of its machines; null starts Ray on this machine alone."""
    ray_workers: PositiveInt | None = None
    """Pools of browsers in the cluster; null: one per machine."""
    ray_cpus: float = Field(default=1, gt=0)
    """Cores that Ray reserves for each."""
    per_host: PositiveInt | None = None
    """Episodes at once that begin on one host; null: no limit. Benchmarks name their own."""
    host_delay_s: float = Field(default=0.0, ge=0)
    """Seconds between the starts of two episodes on one host, where `per_host` is set."""


class SamplingParams(Section):
    """Decoding."""

    temperature: float = Field(default=1.0, ge=0)
    """0 is greedy."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)
    """0 is off."""
