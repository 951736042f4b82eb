"""A recipe's environment for the trainers of others: a server that speaks OpenEnv 0.10 (`waymark openenv`).

TRL and verifiers have clients for it. The episode is the same as in a rollout of Waymark: `run_episode` runs it with
the recipe's browser, protocol, limits and rules, and a policy (`ClientPolicy`) whose responses the client sends. So a
wrong action gets the same feedback, and the reward is that of Waymark's RL.

One WebSocket connection is one session with one episode at a time, as in OpenEnv's own server.
"""

from components.openenv.episode import ActionError, ClientEpisode, EpisodeMaker
from components.openenv.messages import Call, ResetRequest, WebAction, WebObservation, WebState
from components.openenv.recording import recording
from components.openenv.server import Description, EpisodeServer, create_app
from components.openenv.splits import TaskSplits, tasks_of

__all__ = [
    "ActionError",
    "Call",
    "ClientEpisode",
    "Description",
    "EpisodeMaker",
    "EpisodeServer",
    "ResetRequest",
    "TaskSplits",
    "WebAction",
    "WebObservation",
    "WebState",
    "create_app",
    "recording",
    "tasks_of",
]
