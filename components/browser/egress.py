"""The egress guard: a proxy in a process of its own (`egress_proxy`), through which all browser traffic goes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import sys
from pathlib import Path
from urllib.parse import urlsplit

from components.browser import egress_proxy
from components.browser.errors import SandboxError
from components.params import EgressParams
from components.params.harness import ascii_address

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0


def allows(params: EgressParams, url: str) -> bool:
    """Whether the guard's rules allow an address by its host name. The proxy also checks the resolved IP address at the
    time of the request (`egress_proxy.Rules`). An address that no browser can request is not allowed."""
    try:
        parts = urlsplit(ascii_address(url))
    except ValueError:
        return False
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    names = (host, f"{host}:{port}")
    return not egress_proxy.matches(names, params.blocked_hosts) and egress_proxy.matches(
        names, [*params.private_hosts, *params.allowed_hosts]
    )


class EgressGuard:
    """Starts and stops the proxy; `port` is where it listens."""

    def __init__(self, params: EgressParams) -> None:
        self.refusal_header = f"X-Waymark-Refusal-{secrets.token_hex(8)}"
        """Header that marks the guard's own answers and holds the reason. It is random, so no server can send it."""
        self._rules: dict[str, object] = {"refusal_header": self.refusal_header, **_rules(params)}
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0

    @property
    def pid(self) -> int | None:
        """Process id of the proxy; None if it does not run."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the proxy unless it runs.

        Raises:
            SandboxError: the proxy did not start.
        """
        if self.pid is not None:
            return
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            str(Path(egress_proxy.__file__)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # the stage handles an interrupt in the terminal
        )
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                stdin, stdout = self._process.stdin, self._process.stdout
                assert stdin is not None
                assert stdout is not None
                stdin.write(json.dumps(self._rules).encode() + b"\n")
                await stdin.drain()
                self.port = int(await stdout.readline())
        except BaseException as error:
            await self.stop()
            if isinstance(error, TimeoutError | ValueError | OSError):
                raise SandboxError(f"the egress guard did not start: {error}") from error
            raise

    async def replace_rules(self, params: EgressParams) -> None:
        """Use other rules from now on. Connections that are open stay open.

        Raises:
            SandboxError: the proxy did not answer.
        """
        self._rules |= _rules(params)
        if self.pid is None:
            return
        assert self._process is not None
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                stdin.write(json.dumps(self._rules).encode() + b"\n")
                await stdin.drain()
                if not await stdout.readline():
                    raise SandboxError("the egress guard ended")
        except (TimeoutError, OSError) as error:
            raise SandboxError(f"the egress guard did not take new rules: {error!r}") from error

    async def stop(self) -> None:
        """Stop the proxy."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _rules(params: EgressParams) -> dict[str, object]:
    """The fields of `egress_proxy.Rules` that a recipe sets."""
    return {"allowed": params.allowed_hosts, "blocked": params.blocked_hosts, "private": params.private_hosts}
