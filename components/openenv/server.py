"""The routes of an OpenEnv server (openenv 0.10): `/ws` for episodes, and what is known without one.

An episode is a browser, so it needs a connection: `/reset`, `/step` and `/state` over HTTP, which OpenEnv's own server
answers with a new environment for each request, are refused here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import uvicorn
from fastapi import FastAPI, HTTPException, WebSocket, WebSocketDisconnect
from pydantic import BaseModel, ValidationError
from typing_extensions import override

from components.openenv.episode import ActionError, ClientEpisode, EpisodeMaker
from components.openenv.messages import ResetRequest, WebAction, WebObservation, WebState
from components.openenv.splits import TaskSplits

SHUTDOWN_S = 30
"""For actions that run when the server ends."""


TRY_AGAIN_LATER = 1013
"""Close code of a connection that is refused (RFC 6455's registry)."""


class ErrorCode(StrEnum):
    """OpenEnv's codes of errors on a WebSocket."""

    INVALID_JSON = "INVALID_JSON"
    UNKNOWN_TYPE = "UNKNOWN_TYPE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    CAPACITY_REACHED = "CAPACITY_REACHED"


@dataclass(frozen=True)
class Description:
    """What a server says of itself."""

    name: str
    """The environment's name in routes: the recipe's."""
    version: str
    guide: str
    """The tools and the format of responses, in words."""


class Incoming(BaseModel):
    """A message of a client."""

    type: str
    data: dict[str, Any] = {}


class TasksRequest(BaseModel):
    """Names a split, and for some routes a task or a slice of its tasks."""

    split: str
    index: int | None = None
    start: int | None = None
    stop: int | None = None


class EpisodeServer(uvicorn.Server):
    """Runs an application until `handle_exit` is called.

    Uvicorn raises the signal that ended it once more, which would kill this process before its browsers are closed. So
    the caller handles signals.
    """

    def __init__(self, app: FastAPI) -> None:
        super().__init__(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=SHUTDOWN_S))

    @contextmanager
    @override
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the caller."""
        yield


def create_app(description: Description, splits: TaskSplits, episodes: EpisodeMaker, sessions: int) -> FastAPI:
    """The server of an environment, whose browsers are open.

    Args:
        sessions: largest number of connections at once. A further one is refused with `CAPACITY_REACHED`.
    """
    name = description.name
    app = FastAPI(title=f"Waymark: {name}", version=description.version)
    connections: set[WebSocket] = set()

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "healthy"}

    @app.get("/metadata")
    def metadata() -> dict[str, str]:
        return {
            "name": name,
            "description": f"Web tasks of the recipe {name} in a real browser, one episode per connection to /ws",
            "version": description.version,
            "readme_content": description.guide,
        }

    @app.get("/schema")
    def schema() -> dict[str, Any]:
        kinds: dict[str, type[BaseModel]] = {"action": WebAction, "observation": WebObservation, "state": WebState}
        return {field: kind.model_json_schema() for field, kind in kinds.items()}

    @app.api_route("/reset", methods=["POST"])
    @app.api_route("/step", methods=["POST"])
    @app.api_route("/state", methods=["GET"])
    def without_connection() -> None:
        raise HTTPException(409, "an episode is a connection: open the WebSocket /ws, as the clients of openenv do")

    _add_task_api(app, name, splits)

    @app.websocket("/ws")
    async def session(socket: WebSocket) -> None:
        await socket.accept()
        if len(connections) >= sessions:
            message = f"all {sessions} sessions are in use: close one, or start the server with more --sessions"
            await socket.send_json(_error(ErrorCode.CAPACITY_REACHED, message))
            await socket.close(TRY_AGAIN_LATER, message)
            return
        connections.add(socket)
        connection = _Session(splits, episodes)
        try:
            while (text := await _received(socket)) is not None:
                answer = await connection.answer(text)
                if answer is None:
                    break
                await socket.send_json(answer)
        except WebSocketDisconnect:  # while the answer was made
            pass
        finally:
            await connection.close()
            connections.discard(socket)
            with suppress(RuntimeError, WebSocketDisconnect):  # the client may have closed it
                await socket.close()

    return app


async def _received(socket: WebSocket) -> str | None:
    """The next message; None if the client has closed the connection."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        return None
    text: str | None = message.get("text")
    return text if text is not None else message.get("bytes", b"").decode(errors="replace")


class _Session:
    """One connection: its episode and the answers to its messages."""

    def __init__(self, splits: TaskSplits, episodes: EpisodeMaker) -> None:
        self._splits = splits
        self._episodes = episodes
        self._episode: ClientEpisode | None = None

    async def answer(self, text: str) -> dict[str, Any] | None:
        """The answer to a message; None after the message that ends the connection."""
        try:
            message = Incoming.model_validate(json.loads(text))
            match message.type:
                case "reset":
                    return _observation(await self._reset(ResetRequest.model_validate(message.data)))
                case "step":
                    action = WebAction.model_validate(message.data)
                    if self._episode is None:
                        raise ActionError("no episode has begun: send a reset first")
                    return _observation(await self._episode.act(action))
                case "state":
                    state = self._episode.state if self._episode is not None else WebState()
                    return {"type": "state", "data": state.model_dump(mode="json")}
                case "close":
                    return None
                case unknown:
                    return _error(ErrorCode.UNKNOWN_TYPE, f"Unknown message type: {unknown}")
        except json.JSONDecodeError as error:
            return _error(ErrorCode.INVALID_JSON, f"Invalid JSON: {error}")
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False, include_input=False)
            places = [f"{'.'.join(map(str, detail['loc']))}: " if detail["loc"] else "" for detail in details]
            reasons = [detail["msg"].removeprefix("Value error, ") for detail in details]
            problems = "; ".join(place + reason for place, reason in zip(places, reasons, strict=True))
            return _error(ErrorCode.VALIDATION_ERROR, problems, errors=details)
        except (ActionError, LookupError) as error:
            return _error(ErrorCode.VALIDATION_ERROR, str(error.args[0]))
        except Exception as error:
            return _error(ErrorCode.EXECUTION_ERROR, f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        """End the episode."""
        if self._episode is not None:
            await self._episode.close()

    async def _reset(self, request: ResetRequest) -> WebObservation:
        task = self._splits.chosen(request)
        await self.close()
        self._episode = self._episodes.begin(task, request)
        return await self._episode.first()


def _observation(observation: WebObservation) -> dict[str, Any]:
    """An observation as OpenEnv sends it: reward, end and metadata stand beside the other fields."""
    fields = observation.model_dump(mode="json", exclude={"reward", "done"})
    beside = {"reward": observation.reward, "done": observation.done, "metadata": observation.metadata}
    return {"type": "observation", "data": {"observation": fields, **beside}}


def _error(code: ErrorCode, message: str, **details: Any) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code, **details}}


def _add_task_api(app: FastAPI, name: str, splits: TaskSplits) -> None:
    """OpenEnv's task API: which tasks there are, without their references and rules."""

    def of_environment(given: str) -> None:
        if given.lower() != name.lower():
            raise HTTPException(404, f"unknown environment {given!r}: this one is {name!r}")

    def specs(request: TasksRequest, kind: Literal["all", "one", "slice"]) -> list[dict[str, Any]]:
        try:
            if kind == "one":
                index = request.index if request.index is not None else 0
                splits.task(request.split, index)
                return splits.specs(request.split, index, index + 1)
            bounds = (request.start, request.stop) if kind == "slice" else (None, None)
            return splits.specs(request.split, *bounds)
        except LookupError as error:
            raise HTTPException(400, str(error.args[0])) from error

    @app.get("/list_environments")
    def list_environments() -> list[str]:
        return [name]

    @app.get("/{environment}/splits")
    def list_splits(environment: str) -> list[dict[str, str]]:
        of_environment(environment)
        return splits.descriptors()

    @app.post("/{environment}/tasks")
    def list_tasks(environment: str, request: TasksRequest) -> dict[str, Any]:
        of_environment(environment)
        return {"tasks": specs(request, "all"), "env_name": name}

    @app.post("/{environment}/num_tasks")
    def num_tasks(environment: str, request: TasksRequest) -> dict[str, int]:
        of_environment(environment)
        return {"num_tasks": len(specs(request, "all"))}

    @app.post("/{environment}/task")
    def get_task(environment: str, request: TasksRequest) -> dict[str, Any]:
        of_environment(environment)
        return {"task": specs(request, "one")[0]}

    @app.post("/{environment}/task_range")
    def get_task_range(environment: str, request: TasksRequest) -> dict[str, Any]:
        of_environment(environment)
        return {"tasks": specs(request, "slice")}
