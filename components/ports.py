"""Ports of this machine for servers that cannot choose one themselves."""

from __future__ import annotations

import contextlib
import secrets
import socket

import psutil

PORTS = range(15_000, 32_000)
"""Below the ports that systems give to outgoing connections and to servers that leave the choice to them (from 32768 on
Linux, from 49152 elsewhere): one of those may take such a port before a slow server opens it."""


def free_port() -> int:
    """A port of 127.0.0.1 on which no process listens now, chosen at random.

    Raises:
        OSError: 1,000 ports in a row are taken.
    """
    for _ in range(1000):
        port = secrets.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"no free port between {PORTS.start} and {PORTS.stop} on 127.0.0.1: end servers that listen there")


def listeners(port: int) -> list[psutil.Process]:
    """The processes that listen on a port of this machine, as far as this user may see them."""
    processes: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):  # macOS shows connections to root alone
        for connection in psutil.net_connections("tcp"):
            is_listening = connection.status == psutil.CONN_LISTEN and connection.pid is not None
            if is_listening and connection.laddr and connection.laddr.port == port:
                processes.append(psutil.Process(connection.pid))
    return processes
