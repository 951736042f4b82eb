"""The agent: prompt, tool grammar, context rules, and the episode loop."""

from components.agent.grammar import Parsed, format_call, format_response, parse_response
from components.agent.loop import EpisodeSettings, EpisodeSpec, run_episode, trajectory_of
from components.agent.policy import Completion, Policy, Request
from components.agent.rendering import Prompt, Renderer

__all__ = [
    "Completion",
    "EpisodeSettings",
    "EpisodeSpec",
    "Parsed",
    "Policy",
    "Prompt",
    "Renderer",
    "Request",
    "format_call",
    "format_response",
    "parse_response",
    "run_episode",
    "trajectory_of",
]
