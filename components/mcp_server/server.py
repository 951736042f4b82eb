"""The MCP server of one task, on standard input and output."""

from __future__ import annotations

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from components.mcp_server.session import TaskSession

INSTRUCTIONS = """A web browser with one task: {intent}

Call `observe` first: it shows the start page. Each tool's result has what the call did and the page after it. Call \
`done` when the task is complete or cannot be completed, with the answer if the task asks for one. Nothing else \
completes it."""


def create_server(session: TaskSession, version: str) -> Server[Any]:
    """The server of a task, without a transport."""

    async def on_list_tools(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=session.tools)

    async def on_call_tool(_: ServerRequestContext[Any], call: CallToolRequestParams) -> CallToolResult:
        return await session.call(call.name, call.arguments or {})

    return Server(
        "waymark",
        version=version,
        title="Waymark",
        instructions=INSTRUCTIONS.format(intent=session.task.intent),
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


async def serve(session: TaskSession, version: str) -> None:
    """Serve the task until the client closes standard input. What the process prints meanwhile goes to standard
    error."""
    server = create_server(session, version)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
