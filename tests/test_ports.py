from __future__ import annotations

import os
import socket

import pytest

from components import ports


def test_a_free_port_is_none_that_the_system_gives_away():
    given = [ports.free_port() for _ in range(50)]
    assert len(set(given)) > 40
    with socket.socket() as chosen_by_system:
        chosen_by_system.bind(("127.0.0.1", 0))
        assert chosen_by_system.getsockname()[1] not in ports.PORTS
    for port in given:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))


def test_a_taken_port_is_passed_over_and_none_left_is_an_error(monkeypatch):
    first = ports.free_port()
    monkeypatch.setattr(ports, "PORTS", range(first, first + 1))
    with socket.socket() as server:
        server.bind(("127.0.0.1", first))
        with pytest.raises(OSError, match=rf"{first} and {first + 1} .* end servers"):
            ports.free_port()
    assert ports.free_port() == first


def test_the_processes_that_listen_on_a_port_are_found():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        assert ports.listeners(port) == []
        server.listen()
        assert [process.pid for process in ports.listeners(port)] == [os.getpid()]
