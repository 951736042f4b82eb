"""The MCP server of one task, on standard input and output."""

from __future__ import annotations

import contextlib
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from components.mcp_server.session import TaskSession

TASK = """A web browser with one task: {intent}

Call `observe` first: it shows the start page. Each tool's result has what the call did and the page after it. Do what \
the task asks and nothing else. When it is complete, or cannot be completed, call `done` at once, with the answer if \
the task asks for one: nothing else completes it, and no call is possible after it. You have {steps} calls."""
PAGE = """A web browser for what your user asks, which begins at {url}.

Call `observe` first: it shows the start page. Each tool's result has what the call did and the page after it. `done` \
closes the browser: call it when your user needs it no longer. You have {steps} calls."""
ELEMENTS = """ Each line of the list of elements ends with two numbers, the x and y of the element's centre."""


def create_server(session: TaskSession, version: str, instructions: str) -> Server[Any]:
    """The server of a task, without a transport.

    Args:
        instructions: what clients tell their model of the server, such as `TASK`.
    """

    async def on_list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=session.tools)

    async def on_call_tool(_: ServerRequestContext[Any], call: CallToolRequestParams) -> CallToolResult:
        return await session.call(call.name, call.arguments or {})

    return Server(
        "waymark",
        version=version,
        title="Waymark",
        instructions=instructions,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


async def serve(session: TaskSession, version: str, instructions: str) -> None:
    """Serve the task until the client closes standard input. What the process prints meanwhile goes to standard
    error."""
    server = create_server(session, version, instructions)
    with contextlib.suppress(BrokenPipeError):  # the client has gone while an answer was written
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
