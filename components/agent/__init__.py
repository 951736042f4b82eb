"""The agent: how prompts are rendered, how responses are parsed, and the loop that runs an episode.

- `loop`: runs one episode (`run_episode`) and records it.
- `branching`: brings a browser to a turn of an earlier episode, from which another one continues.
- `policy`: the interface of a policy.
- `rendering`: makes the prompt of a turn. `protocols`: system prompt, context rule and parser per protocol.
- `grammar`: the `<think>…</think><tool_call>…</tool_call>` format.
"""

from components.agent.branching import Branch
from components.agent.grammar import Parsed, format_call, format_response, parse_response
from components.agent.loop import EpisodeSettings, EpisodeSpec, run_episode, trajectory_of
from components.agent.policy import Completion, Policy, Request, RequestRefusedError
from components.agent.rendering import Prompt, Renderer

__all__ = [
    "Branch",
    "Completion",
    "EpisodeSettings",
    "EpisodeSpec",
    "Parsed",
    "Policy",
    "Prompt",
    "Renderer",
    "Request",
    "RequestRefusedError",
    "format_call",
    "format_response",
    "parse_response",
    "run_episode",
    "trajectory_of",
]
