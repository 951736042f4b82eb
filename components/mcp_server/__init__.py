"""A contained browser with one task for agents that are not Waymark's, by the Model Context Protocol: `waymark mcp`.

- `session`: one task at the other end of a connection, as an episode of `components.openenv`.
- `tools`: the recipe's tools as an MCP client sees them, and their results.
- `server`: the server on standard input and output.

The episode is the harness's own: the tools, feedback, limits, rules and records of Waymark's rollouts.
"""

from components.mcp_server.server import serve
from components.mcp_server.session import EpisodeResult, TaskSession

__all__ = ["EpisodeResult", "TaskSession", "serve"]
