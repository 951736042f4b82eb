"""The port in front of an application's copies, on real connections."""

from __future__ import annotations

import asyncio

from components.worlds.own_site.front import COOKIE, Front

HEAD = (
    f"GET /live HTTP/1.1\r\nHost: notes.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: {COOKIE}=a\r\n\r\n"
)


def test_an_open_connection_ends_with_its_episode() -> None:
    """A WebSocket would bring what the old page sends into the data of the next episode."""
    received: list[bytes] = []

    async def application(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while data := await reader.read(100):
            received.append(data)
        writer.close()

    async def main() -> bytes:
        server = await asyncio.start_server(application, "127.0.0.1", 0)
        front = Front()
        await front.start()
        front.routes["a"] = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(HEAD.encode())
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"during the episode")
        async with asyncio.timeout(10):
            while not received:
                await asyncio.sleep(0.01)
        front.close("a")
        async with asyncio.timeout(10):
            end = await reader.read()
        writer.write(b"after its end")
        await asyncio.sleep(0.2)
        writer.close()
        await front.stop()
        server.close()
        return end

    assert asyncio.run(main()) == b""
    assert received == [b"during the episode"]
