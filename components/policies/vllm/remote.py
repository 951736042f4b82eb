"""A server by URL, which `waymark serve` started. It is checked before use, and gets weights over the network.

A stage whose weights change has the server for itself until it ends. One that only loads its weights shares it after
that with stages that need the same. If the server restarts, or its clock of weights
shows a load that is not this stage's, it is checked again and gets the weights again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import Any

import httpx
from pydantic import ValidationError

from components.params import VLLMParams
from components.policies.vllm.checks import State, mismatches
from components.policies.vllm.member import RELOAD_TIMEOUT_S, IsHealthy, Server, ServerError
from components.policies.vllm.shared_weights import NO_FILES, SharedWeights, WeightFiles, blocks

CLIENT_HEADER = "x-waymark-client"
ANSWER_TIMEOUT_S = 10.0
"""Limit of a request for a server's state."""
BUSY_TIMEOUT_S = 75.0
"""How long a stage waits for a server that it had already, and that another stage uses now: a killed one counts as
using it for a minute."""
POLL_S = 2.0
END_POLL_S = 0.1
GATEWAY_ERRORS = {httpx.codes.BAD_GATEWAY, httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.GATEWAY_TIMEOUT}
"""Statuses with which a proxy reports that it does not reach the server behind it."""


class _Away(ServerError):
    """The server does not answer now, or not as one of Waymark's: it may come back."""


class RemoteServer(Server):
    """A server at a URL."""

    health_path = "/status"
    max_starts = 1  # `start` itself waits for `start_timeout_s`

    def __init__(self, url: str, shared: SharedWeights, client: httpx.AsyncClient) -> None:
        super().__init__(client)
        self._url, self._shared = url, shared
        self._state: State | None = None
        self._life = object()
        self._lost = asyncio.Event()
        self._is_claimed = False

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return self._url

    @property
    def headers(self) -> dict[str, str]:
        """The key, and the name of the stage."""
        key = os.environ.get(self._params.key_variable, "").strip()
        return {"Authorization": f"Bearer {key}", CLIENT_HEADER: self._shared.client}

    @property
    def life(self) -> object:
        """Another object after each time that the server was lost."""
        return self._life

    async def problem(self) -> str | None:
        """What is wrong with the server: it is out of reach, refuses the key, or is another than the stage needs."""
        if not os.environ.get(self._params.key_variable):
            return (
                f"the environment variable {self._params.key_variable} (inference.vllm.key_variable) holds no key for "
                f"{self.url}: set it to the key with which `waymark serve` was started"
            )
        try:
            return await self._difference(await self._read_state())
        except ServerError as error:
            return str(error)

    async def claim(self) -> bool:
        """Whether this stage may use the server now. Before it loads weights it needs the server for itself."""
        state = await self._read_state()
        try:
            reply = await self._request("POST", "/client", {"exclusive": await self._is_exclusive(state)})
        except httpx.TransportError as error:
            raise self._away(error) from error
        if reply.status_code == httpx.codes.LOCKED:
            return False
        self._accept(reply)
        self._is_claimed = True
        return True

    async def start(self, is_healthy: IsHealthy) -> None:
        """Wait until the server is there, check it, and load the fleet's weights if it has others. If the server is
        lost meanwhile, this begins again.

        Raises:
            ServerError: it does not come back within `inference.vllm.start_timeout_s`, or cannot be used.
        """
        self._life, self._lost = object(), asyncio.Event()
        timeout_s = self._params.start_timeout_s
        end = time.monotonic() + timeout_s
        while True:
            try:
                return await self._take()
            except (_Away, httpx.TransportError) as error:
                if time.monotonic() > end:
                    last = error if isinstance(error, _Away) else self._away(error)
                    raise ServerError(
                        f"{self.url} has not come back within inference.vllm.start_timeout_s = {timeout_s:.0f} s: "
                        f"run the stage again when it is up, and the stage continues; the last error was: {last}"
                    ) from error
            await asyncio.sleep(POLL_S)

    async def show_life(self) -> None:
        """Ask for the server's state, so that the server knows that this stage still uses it. A failure is ignored."""
        with contextlib.suppress(httpx.HTTPError):
            await self._client.get(f"{self.url}/status", headers=self.headers, timeout=ANSWER_TIMEOUT_S)

    async def stop(self) -> None:
        """Let other stages use the server."""
        if self._state is None and not self._is_claimed:
            return
        with contextlib.suppress(httpx.HTTPError):  # if this fails, the server ends the claim after `CLIENT_TTL_S`
            await self._client.delete(f"{self.url}/client", headers=self.headers, timeout=ANSWER_TIMEOUT_S)

    async def end_life(self) -> None:
        """Does nothing. The server may still run, and this stage keeps its claim so that no other stage takes it."""

    def give_up(self) -> None:
        """Count the server as dead."""
        self._lost.set()

    async def wait_for_end(self, life: object, within_s: float) -> bool:
        """Wait for at most `within_s` seconds until the server is lost. Returns whether it was."""
        end = time.monotonic() + within_s
        while life is self._life and not self._lost.is_set():
            if time.monotonic() > end:
                return False
            await asyncio.sleep(END_POLL_S)
        return True

    def is_as_left(self, health: httpx.Response) -> bool:
        """Whether the server has not been restarted and has loaded nothing since; if not, it is lost."""
        try:
            state, left = State.model_validate_json(health.content), self._state
        except ValidationError:
            return False
        is_same = left is not None and (state.boot, state.clock) == (left.boot, left.clock)
        if not is_same and not self.loading:
            self.give_up()
        return is_same

    async def generate(self, question: dict[str, Any]) -> httpx.Response:
        """Send a request for a response. A connection to a machine that is gone may never break by itself.

        Raises:
            httpx.TransportError: the connection broke, or the server is lost.
        """
        answer = asyncio.create_task(self._generated(question))
        loss = asyncio.create_task(self._lost.wait())
        try:
            await asyncio.wait((answer, loss), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise httpx.ReadError(f"{self.url} is lost")
            return answer.result()
        finally:
            answer.cancel()
            loss.cancel()

    async def _generated(self, question: dict[str, Any]) -> httpx.Response:
        reply = await super().generate(question)
        if reply.status_code == httpx.codes.GATEWAY_TIMEOUT:  # the server lives: sent again, it would be too slow again
            raise ServerError(
                f"the proxy at {self.url} gave up waiting for an answer (504): raise its timeout above "
                "agent.inference_timeout_s"
            )
        return _from_server(reply)

    def weights_fields(self) -> dict[str, Any]:
        """The name of the weights."""
        return {"weights": self._state.weights if self._state is not None else ""}

    async def load(self) -> None:
        """Send the weights that the server lacks: the model, or the adapter.

        Raises:
            ServerError: the server refuses them.
            httpx.TransportError: the connection broke.
        """
        self._shared.has_model = True
        model, adapter = await self._shared.model(), await self._shared.adapter()
        assert self._state is not None
        present, _, present_adapter = self._state.weights.partition("+")
        if present != model.name:
            await self._send("model", model)
            present_adapter = ""
        if present_adapter != (adapter.name if adapter is not None else ""):
            await self._send("adapter", adapter or NO_FILES)
        expected = await self._shared.name()
        if self._state.weights != expected:
            raise ServerError(
                f"{self.url} has the weights {self._state.weights[:12]} after loading {expected[:12]}: use the same "
                "commit of Waymark on both machines"
            )

    def last_words(self) -> str:
        """Names the log to read."""
        return f"read the log of the server at {self.url}"

    @property
    def _in_use(self) -> str:
        return (
            f"{self.url} is in use by another stage: wait until that one ends, or name other servers in "
            "inference.vllm.urls"
        )

    @property
    def _params(self) -> VLLMParams:
        return self._shared.settings.vllm

    async def _is_exclusive(self, state: State) -> bool:
        """Whether this stage needs the server for itself, to load weights now or later."""
        if self._shared.changes:
            return True
        return self._shared.has_model and state.weights != await self._shared.name()

    async def _take(self) -> None:
        """Check the server, and load the fleet's weights if it has others.

        Raises:
            _Away: it is not there, or another stage uses it.
            ServerError: it cannot be used.
            httpx.TransportError: the connection broke.
        """
        try:
            state = await self._read_state()
        except ServerError as error:  # while the server is down, a proxy may answer with any status
            raise _Away(str(error)) from error
        if (problem := await self._difference(state)) is not None:
            raise ServerError(problem)
        is_exclusive = await self._is_exclusive(state)
        reply = await self._request("POST", "/client", {"exclusive": is_exclusive})
        if reply.status_code == httpx.codes.LOCKED:  # the other stage may load these weights; a later try shares them
            raise _Away(self._in_use)
        self._accept(reply)
        self._state = self._parsed(reply)
        if self._shared.has_model:
            await self.load()
        if is_exclusive and not self._shared.changes:
            self._state = await self._patiently("POST", "/client", {"exclusive": False})

    async def _difference(self, state: State) -> str | None:
        """Where the server differs from what the stage needs, with the fixes; None if nowhere."""
        try:
            differences = mismatches(state, await self._shared.requirements())
        except FileNotFoundError as error:
            return str(error)
        return f"{self.url} cannot be used: " + "; ".join(differences) if differences else None

    async def _send(self, kind: str, files: WeightFiles) -> None:
        await self._patiently("POST", "/client", {"exclusive": True})
        for name, path in files.paths.items():
            reply = await self._client.put(
                f"{self.url}/files/{files.hashes[name]}",
                content=blocks(path),
                headers=self.headers | {"Content-Length": str(path.stat().st_size)},
                timeout=RELOAD_TIMEOUT_S,
            )
            self._accept(_from_server(reply))
        self._state = await self._patiently("POST", "/load", {"kind": kind, "files": files.hashes})

    async def _request(self, method: str, path: str, body: dict[str, Any]) -> httpx.Response:
        url = f"{self.url}{path}"
        sent = self._client.request(method, url, json=body, headers=self.headers, timeout=RELOAD_TIMEOUT_S)
        return _from_server(await sent)

    async def _patiently(self, method: str, path: str, body: dict[str, Any]) -> State:
        """Send a request, and again while another stage uses the server."""
        end = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            reply = await self._request(method, path, body)
            if reply.status_code == httpx.codes.LOCKED and time.monotonic() < end:
                await asyncio.sleep(POLL_S)
                continue
            self._accept(reply)
            return self._parsed(reply)

    def _accept(self, reply: httpx.Response) -> None:
        """
        Raises:
            ServerError: the reply is a refusal.
        """
        if reply.status_code == httpx.codes.LOCKED:
            raise ServerError(self._in_use)
        if reply.status_code == httpx.codes.UNAUTHORIZED:
            raise ServerError(
                f"{self.url} refuses the key in {self._params.key_variable}: set the variable to the key with which "
                "`waymark serve` was started"
            )
        if reply.status_code != 200:
            raise ServerError(f"{self.url} refuses weights ({reply.status_code}): {reply.text[:500]}; read its log")

    async def _read_state(self) -> State:
        """
        Raises:
            ServerError: the server is out of reach, refuses the key, or is none of Waymark's.
        """
        try:
            reply = await self._client.get(f"{self.url}/status", headers=self.headers, timeout=ANSWER_TIMEOUT_S)
        except httpx.HTTPError as error:
            raise self._away(error) from error
        if reply.status_code == httpx.codes.NOT_FOUND:
            raise ServerError(await self._foreign())
        if reply.status_code >= 500:
            raise ServerError(f"{self.url} fails ({reply.status_code}): read its log and restart it")
        self._accept(reply)
        return self._parsed(reply)

    def _away(self, error: httpx.HTTPError) -> _Away:
        return _Away(
            f"{self.url} does not answer ({type(error).__name__}): start it with `waymark serve`, wait until it is "
            "up, and check that this machine reaches its host and port"
        )

    def _parsed(self, reply: httpx.Response) -> State:
        try:
            return State.model_validate_json(reply.content)
        except ValidationError as error:
            raise ServerError(
                f"{self.url} answers in another form than this version of Waymark: start it with `waymark serve` of "
                "the same commit"
            ) from error

    async def _foreign(self) -> str:
        """What to do with a server that `waymark serve` has not started."""
        try:
            reply = await self._client.get(f"{self.url}/version", headers=self.headers, timeout=ANSWER_TIMEOUT_S)
            version = reply.json().get("version")
        except (httpx.HTTPError, ValueError, AttributeError):
            version = None
        name = "another server" if version is None else f"vLLM's own server {version}"
        return (
            f"{self.url} is {name}, which tokenizes conversations itself and takes no weights: start `waymark serve` "
            "there; only to evaluate the model that it serves, name it as teacher.endpoint and run `waymark evaluate "
            "BENCHMARK --model teacher`"
        )


def _from_server(reply: httpx.Response) -> httpx.Response:
    """The reply, if it is the server's own.

    Raises:
        httpx.ReadError: it is that of a proxy which does not reach the server.
    """
    if reply.status_code in GATEWAY_ERRORS:
        raise httpx.ReadError(f"the proxy does not reach the server ({reply.status_code})", request=reply.request)
    return reply
