"""The sections of the agent harness: observation, protocol, browsers, rollouts and sampling."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PositiveInt

from components import plugins
from components.params.dependence import NotWith, OnlyWith
from components.params.kind_name import KindName
from components.params.section import NoEffect, Section, Workers

TextKind = Literal["none", "elements", "elements_with_owners", "axtree", "html"]
"""`elements` lists the interactive elements with coordinates; `elements_with_owners` also says what a control belongs
to where others on the page have its role and name; `axtree` and `html` show the accessible page with ids."""
ELEMENT_LISTS: frozenset[TextKind] = frozenset({"elements", "elements_with_owners"})
ProtocolName = Annotated[str, KindName("protocols")]


class ObservationParams(Section):
    """What the policy sees besides the screenshot."""

    text: TextKind = "none"
    """The text of the page beside the screenshot, or none."""
    screenshots: int = Field(default=1, ge=1)
    """K: screenshots kept in the context (OpenWebRL, section 4.1)."""


OPENWEBRL_KEYS = {"repeat_task": False, "feedback": True, "reasoning_history": True}
"""Keys of `agent` that only the protocol `openwebrl` has, with their defaults."""


class AgentParams(Section):
    """The harness (OpenWebRL, sections 4.1 and A.3)."""

    protocol: ProtocolName = "openwebrl"
    """The form of prompts and responses (`components/agent/protocols`). `webagent_r1_bare` has no thinking."""
    prompt: Literal["full", "extended", "compact"] = "full"
    """`full` describes the tools with the paper's arguments; `extended` also those that Waymark adds, such as the
    modifiers of a click; `compact` is one sentence, for models that know the tools from training."""
    repeat_task: Annotated[bool, OnlyWith("protocol", "openwebrl")] = False
    """Of the protocol `openwebrl`: the task stands before each observation that is shown, and not in the first message
    alone. Small models lose a task that is behind a history. The other protocols have rules of their own."""
    feedback: Annotated[bool, OnlyWith("protocol", "openwebrl")] = True
    """Of the protocol `openwebrl`: prompts contain the feedback on earlier calls. False leaves it out, with the
    reminder after an unparsable response, to measure what it is worth (OpenWebRL, table 4)."""
    reasoning_history: Annotated[bool, OnlyWith("protocol", "openwebrl")] = True
    """Of the protocol `openwebrl`: prompts repeat earlier responses whole. False repeats only their calls, to measure
    what the earlier reasoning is worth (OpenWebRL, table 4)."""
    max_response_tokens: int = Field(gt=0)
    """Limit of one response in tokens, the reasoning included; a longer one is cut."""
    max_context_tokens: int = Field(gt=0)
    """Limit of a prompt and its response together, in tokens. An episode whose next prompt would not fit ends as
    `context_length`."""
    max_format_errors: int = Field(default=3, gt=0)
    """Consecutive unparsable turns that end the episode."""
    inference_timeout_s: float = Field(default=30, gt=0)
    """Limit of one response in seconds. The time in which no vLLM server is available does not count."""
    task_timeout_s: float = Field(default=600, gt=0)
    """Limit of one episode in seconds, without the same time."""

    @property
    def shows_screenshots(self) -> bool:
        """Whether prompts have screenshots: not if the protocol's calls name elements by id."""
        return not plugins.find_checked("protocols", self.protocol).element_ids


def host_pattern(text: str) -> str:
    """A host name or a shell pattern of one, possibly with a port, as it is compared with what browsers request: in
    small letters, those beyond ASCII in Punycode (RFC 3492), and an IPv6 address without brackets.

    Raises:
        ValueError: it is an address with a scheme or a path, or a pattern has a wildcard beside letters beyond ASCII.
    """
    if "/" in text:
        raise ValueError(f"{text} is no host name: write the host alone, such as {_host_of(text)}")
    name, colon, port = text.rpartition(":")
    if not port.isdigit():
        name, colon, port = text, "", ""
    if name.startswith("[") and name.endswith("]") and _is_ipv6(name[1:-1]):
        name = name[1:-1]
    return ".".join(map(_ascii_label, re.split("[.。．｡]", name))) + colon + port


def ascii_address(url: str) -> str:
    """An address with its host as browsers request it, such as `https://xn--bcher-kva.example/` for bücher.example.

    Raises:
        ValueError: it is no address, or its host has a wildcard beside letters beyond ASCII.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host.isascii():
        return url
    login, at, _ = parts.netloc.rpartition("@")
    port = "" if parts.port is None else f":{parts.port}"
    return parts._replace(netloc=f"{login}{at}{host_pattern(host)}{port}").geturl()


def _ascii_label(label: str) -> str:
    """A part of a host name in ASCII. Browsers keep letters such as ß (Unicode TS 46), which Python's codec `idna`
    replaces."""
    normal = unicodedata.normalize("NFKC", label).lower()
    if normal.isascii():
        return normal
    if re.search(r"[*?\[\]]", normal):
        raise ValueError(f"{label} has a wildcard beside letters beyond ASCII: write this part in full, or as * alone")
    return f"xn--{normal.encode('punycode').decode('ascii')}"


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _host_of(address: str) -> str:
    return address.partition("://")[2].partition("/")[0] or address.partition("/")[0] or "shop.example.org"


HostPattern = Annotated[str, AfterValidator(host_pattern)]


class EgressParams(Section):
    """The hosts that a browser may open. Host names are shell patterns, such as `*.example.org`."""

    guard: bool = True
    """All traffic goes through a proxy that enforces these rules. With false, the browser connects directly."""
    allowed_hosts: Annotated[list[HostPattern], OnlyWith("guard", True)] = Field(default_factory=lambda: ["*"])
    """Hosts, or host:port, that may be opened."""
    blocked_hosts: Annotated[list[HostPattern], OnlyWith("guard", True)] = Field(default_factory=list)
    """Hosts that may not, even if `allowed_hosts` has them."""
    private_hosts: list[HostPattern] = Field(default_factory=list)
    """Hosts, or host:port, that may have loopback or private addresses, such as the servers of a benchmark."""


class QueueParams(Section):
    """Limits of concurrent operations per kind in one pool of browsers; null sets no limit."""

    navigate: PositiveInt | None = None
    """Start pages that open at the same time."""
    act: PositiveInt | None = None
    """Calls of agents that run at the same time."""
    screenshot: PositiveInt | None = None
    """Screenshots that are taken at the same time."""


class GeolocationParams(Section):
    """A place on Earth that pages may read."""

    latitude: float = Field(ge=-90, le=90)
    """Degrees north."""
    longitude: float = Field(ge=-180, le=180)
    """Degrees east."""
    accuracy: float = Field(default=0, ge=0)
    """Metres."""


class HttpCredentialsParams(Section):
    """A name and password for HTTP authentication."""

    username: str
    """The user's name."""
    password_env: str
    """The environment variable that holds the password, so that no recipe does."""
    origin: str | None = None
    """The only origin, such as `https://desk.example`, to which they are sent; null: any that asks."""


class ContextParams(Section):
    """What pages learn of the browser and its user. A site of a world may have values of its own."""

    locale: str = "en-US"
    """Language and region, such as `de-DE`, which pages see and which formats dates and numbers."""
    timezone: str | None = None
    """An IANA name such as `Europe/Paris`; null: the machine's."""
    color_scheme: Literal["light", "dark", "no-preference"] = "light"
    """The colour scheme that pages are told the user prefers."""
    user_agent: str | None = None
    """What the browser calls itself to pages; null: Chromium's own."""
    geolocation: GeolocationParams | None = None
    """Null: pages may not ask for it."""
    http_credentials: HttpCredentialsParams | None = None
    ignore_https_errors: bool = False
    """Open pages whose certificate is not valid."""
    storage_state: str | None = None
    """A file with cookies and local storage, as Playwright's `storage_state` writes it, with which every episode
    begins. For pages on the web only: the storage of a world's own site is cleared between episodes."""


class BrowserParams(Section):
    """The limits of the environment, in seconds unless a field has another unit (OpenWebRL, table 7)."""

    viewport: tuple[PositiveInt, PositiveInt] = (1280, 720)
    """Width and height of the pages in CSS pixels."""
    scroll_bars: bool = True
    """Draw scroll bars, which take 15 pixels of a page that can be scrolled. False hides them, for models that were
    trained on screenshots without bars."""
    concurrency: Annotated[Workers, NoEffect] = Field(default=8, gt=0)
    """Concurrent episodes on this machine."""
    start_timeout_s: float = Field(default=60, gt=0)
    """Limit for opening the start page of an episode, all tries together, and for reading a page for a rule."""
    step_timeout_s: float = Field(default=45, gt=0)
    """Limit of the calls of one turn with the observation after them."""
    screenshot_timeout_s: float = Field(default=20, gt=0)
    """Limit of one screenshot."""
    navigation_retries: int = Field(default=2, ge=0)
    """Further tries to open a start page that fails."""
    settle_ms: int = Field(default=1500, ge=0)
    """Longest wait, in milliseconds, for a page to become quiet after a call."""
    quiet_ms: int = Field(default=250, ge=0)
    """Milliseconds without a change after which a page is quiet; 0 for pages that react at once."""
    logins: str | None = None
    """Folder of the cookie files that tasks name (WebArena's `storage_state`); null if no task needs a login."""
    dialogs: Literal["accept", "ask", "ask_or_dismiss"] = "accept"
    """`accept` confirms the dialogs of pages and says so; `ask` lets the agent's next call answer `confirm` and
    `prompt`, and confirms those without an answer; `ask_or_dismiss` dismisses these."""
    dialog_wait_s: Annotated[float, NotWith("dialogs", "accept")] = Field(default=120, gt=0)
    """With `ask` and `ask_or_dismiss`: seconds after which a dialog has no answer."""
    uploads: str | None = None
    """Folder of the files that an agent may give to pages; null: file choosers stay closed."""
    context: ContextParams = ContextParams()
    queues: QueueParams = QueueParams()
    egress: EgressParams = EgressParams()


class RolloutParams(Section):
    """The machines, the pace and the tolerance of rollouts. The keys change no result, so no stage depends on them."""

    executor: Literal["local", "ray"] = "local"
    """`local`: on this machine. `ray`: on the machines of a Ray cluster, `browser.concurrency` episodes on each."""
    ray_address: Annotated[str | None, OnlyWith("executor", "ray")] = None
    """With `ray`: the cluster to join, `auto` on one of its machines; null: the one in `RAY_ADDRESS`, or Ray is started
    on this machine only."""
    ray_workers: Annotated[PositiveInt | None, OnlyWith("executor", "ray")] = None
    """With `ray`: pools of browsers in the cluster; null: one per machine."""
    ray_cpus: Annotated[float, OnlyWith("executor", "ray")] = Field(default=1, gt=0)
    """With `ray`: CPU cores that Ray reserves for each pool."""
    per_host: PositiveInt | None = None
    """Concurrent episodes that begin on one host; null sets no limit. Benchmarks have their own limits."""
    host_delay_s: Annotated[float, NotWith("per_host", None)] = Field(default=0.0, ge=0)
    """Seconds between the starts of two episodes on one host, if `per_host` is set."""
    max_harness_errors: float = Field(default=0.2, ge=0, le=1)
    """Share of a rollout's episodes that bugs of the harness may end (`harness_error`); above it the stage fails."""


class SamplingParams(Section):
    """Decoding."""

    temperature: float = Field(default=1.0, ge=0)
    """0 is greedy."""
    top_p: Annotated[float, NotWith("temperature", 0)] = Field(default=1.0, gt=0, le=1)
    """Tokens are sampled from the likeliest ones alone, which have this probability together; 1: from all."""
    top_k: Annotated[int, NotWith("temperature", 0)] = Field(default=0, ge=0)
    """0 is off."""
