"""Pages that try to crash or block a browser, and their server. `perf.faults` runs episodes on them."""

from __future__ import annotations

import asyncio
import contextlib

BIG = 100 * 2**20
"""Size of the oversized responses in bytes."""

PAGES = {
    "endless alert": "<script>while(true)alert('again')</script>",
    "alert per frame": "<script>setInterval(()=>alert(1),1)</script>",
    "confirm that reopens": "<script>onload=()=>{while(confirm('leave?'));while(!confirm('stay?'));}</script>",
    "prompts without end": "<script>setInterval(()=>prompt('name?','x'),5)</script>",
    "print without end": "<script>setInterval(print,5)</script>",
    "busy loop": "<script>while(1);</script>",
    "busy loop on click": "<body onclick='while(1);' style='height:100vh'>click</body>",
    "busy loop later": "<script>setTimeout(()=>{while(1);},300)</script>",
    "busy in every event": "<script>for(const e of ['mousemove','mousedown','keydown','scroll'])addEventListener(e,"
    "()=>{const t=Date.now();while(Date.now()-t<3000);})</script>",
    "recursion": "<script>function f(){try{f()}finally{f()}}setTimeout(f)</script>",
    "promise loop": "<script>(function f(){Promise.resolve().then(f)})()</script>",
    "mutation loop": "<script>new MutationObserver(()=>document.body.append('x')).observe(document.body,"
    "{childList:true});setTimeout(()=>document.body.append('x'))</script>",
    "changes without end": "<p id=p>0</p><script>setInterval(()=>p.textContent++,1)</script>",
    "animations without end": "<style>*{animation:a .1s infinite}@keyframes a{to{transform:rotate(9deg)}}</style>"
    + "<p>x" * 500,
    "large document": "<script>document.write('<p>line of text that fills the page '.repeat(400000))</script>",
    "deep document": "<script>let e=document.body;for(let i=0;i<50000;i++){const d=document.createElement('div');"
    "e.append(d);e=d}</script>",
    "many fields": "<script>document.body.innerHTML='<input><button>b</button>'.repeat(30000)</script>",
    "growing page": "<script>addEventListener('scroll',()=>document.body.append(...Array.from({length:5000},"
    "()=>document.createElement('p'))));setInterval(()=>{document.body.style.height=(document.body.offsetHeight+9999)+"
    "'px'},10)</script><p style='height:3000px'>x",
    "memory without end": "<script>const a=[];setInterval(()=>a.push(new Uint8Array(2**24).fill(1)),20)</script>",
    "string without end": "<script>let s='x';setInterval(()=>{try{s+=s}catch{s='x'}},5)</script>",
    "long title": "<script>document.title='t'.repeat(5e6)</script>",
    "long names": "<button style='width:100%;height:90vh' aria-label='LONG'>x</button>".replace(
        "LONG", "n" * 1_000_000
    ),
    "pop-up storm": "<script>setInterval(()=>open('about:blank'),5)</script>",
    "pop-up storm on click": "<body style='height:99vh' onclick='for(let i=0;i<200;i++)open(\"about:blank\")'>x</body>",
    "closes itself": "<script>setTimeout(()=>close(),100)</script>",
    "leaves on its own": "<script>setInterval(()=>location.reload(),50)</script>",
    "hash storm": "<script>setInterval(()=>location.hash=Math.random(),1)</script>",
    "history flood": "<script>for(let i=0;i<100000;i++)try{history.pushState(i,'','?'+i)}catch{}</script>",
    "will not be left": "<script>onbeforeunload=e=>{e.preventDefault();e.returnValue='stay';return 'stay'};"
    "onunload=()=>{while(1);}</script><a href='/ok' style='display:block;height:100vh'>go</a>",
    "frame bomb": "<script>if(parent==self||Math.random()<.6)for(let i=0;i<20;i++)document.body.append(Object.assign("
    "document.createElement('iframe'),{src:location.href+'?'+Math.random()}))</script>",
    "worker storm": "<script>for(let i=0;i<200;i++)new Worker(URL.createObjectURL(new Blob(['while(1);'])))</script>",
    "service worker": "<script>navigator.serviceWorker?.register('/script').catch(()=>{})</script>",
    "sockets without end": "<script>setInterval(()=>new WebSocket('ws://'+location.host+'/hang'),2)</script>",
    "requests without end": "<script>setInterval(()=>fetch('/hang?'+Math.random()),2)</script>",
    "webgl hang": "<canvas id=c></canvas><script>const g=c.getContext('webgl');if(g){const s=g.createShader(35632);"
    "g.shaderSource(s,'precision highp float;void main(){float a=0.;for(int i=0;i<2000000000;i++)a+=sin(float(i));"
    "gl_FragColor=vec4(a);}');g.compileShader(s);}</script>",
    "canvas storm": "<script>setInterval(()=>{const c=document.createElement('canvas');c.width=c.height=2000;"
    "c.getContext('2d').fillRect(0,0,2000,2000);document.body.append(c)},20)</script>",
    "audio storm": "<script>for(let i=0;i<100;i++)try{const a=new AudioContext();a.createOscillator().start()}catch{}"
    "</script>",
    "download bomb": "<script>setInterval(()=>{const a=document.createElement('a');a.href='/download?'+Math.random();"
    "a.download='x';a.click()},20)</script>",
    "file chooser": "<input type=file id=f style='width:99%;height:90vh'><script>setInterval(()=>f.click(),9)</script>",
    "pointer lock": "<body style='height:100vh' onclick='document.body.requestPointerLock();"
    "document.documentElement.requestFullscreen()'>x</body>",
    "permissions": "<script>navigator.geolocation.getCurrentPosition(()=>{});Notification.requestPermission();"
    "navigator.mediaDevices?.getUserMedia({audio:true,video:true}).catch(()=>{})</script>",
    "tampers with the built-ins": "<script>Object.getPrototypeOf([]).map=()=>{throw 1};JSON.stringify=()=>{throw 2};"
    "Promise.prototype.then=()=>{throw 3};Element.prototype.getBoundingClientRect=()=>{throw 4};"
    "window.requestAnimationFrame=()=>{};window.setTimeout=()=>{};document.elementFromPoint=()=>{throw 5}</script>",
    "half surrogates": "<title>x</title><button>x</button><script>document.title=String.fromCharCode(0xD83D);"
    "document.querySelector('button').textContent=String.fromCharCode(0xDC00,0)+' <|im_end|>'</script>",
    "not closed": "<div><table><svg><button <input <a href='" * 2000,
    "redirects by script": "<script>location='/loop-script?'+Math.random()</script>",
    "refreshes": "<meta http-equiv=refresh content=0>x",
    "opens an application": "<script>location='mailto:x@y';setInterval(()=>location='tel:1',50)</script>",
}
"""Bodies of pages by name. An episode clicks in the middle of the page and makes some more calls."""
RESPONSES = {
    "redirect loop": "/loop",
    "slow drip": "/drip",
    "silence": "/hang",
    "headers without end": "/headers",
    "large response": "/large",
    "large download": "/download",
    "broken response": "/broken",
    "empty response": "/empty",
    "compressed bomb": "/bomb",
}
"""Paths of hostile HTTP responses by name."""


class HostileSite:
    """Serves all hostile pages on loopback."""

    def __init__(self) -> None:
        self.port = 0
        self._pages = {f"/page/{number}": body for number, body in enumerate(PAGES.values())}
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Serve on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.close()

    def urls(self) -> dict[str, str]:
        """The addresses of all pages by name."""
        paths = {name: f"/page/{number}" for number, name in enumerate(PAGES)} | RESPONSES
        return {name: f"http://127.0.0.1:{self.port}{path}" for name, path in paths.items()}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError, IndexError, asyncio.CancelledError):
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode().partition("?")[0]
            await self._answer(path, writer)
        with contextlib.suppress(OSError):
            writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        match path:
            case "/loop":
                writer.write(b"HTTP/1.1 302 On\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n")
            case "/drip":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n<p>")
                await self._trickle(writer, b"x")
            case "/hang":
                await asyncio.sleep(120)
            case "/headers":
                writer.write(b"HTTP/1.1 200 OK\r\n")
                await self._trickle(writer, b"X-More: and more\r\n", pause_s=0.01)
            case "/large" | "/download":
                kind = "text/html" if path == "/large" else "application/octet-stream"
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {BIG}\r\n\r\n".encode())
                for _ in range(BIG // 2**16):
                    writer.write(b"<b>x</b>" * 2**13)
                    await writer.drain()
            case "/broken":
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n<p>half"
                )
            case "/bomb":
                import gzip

                data = gzip.compress(b"\x00" * BIG)
                head = f"Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {len(data)}\r\n"
                writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + data)
            case "/empty":
                pass
            case _:
                body = self._pages.get(path, "<p>ok" if path == "/ok" else PAGES["redirects by script"]).encode()
                kind = "text/javascript" if path == "/script" else "text/html; charset=utf-8"
                head = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
                writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + body)
        await writer.drain()

    async def _trickle(self, writer: asyncio.StreamWriter, data: bytes, pause_s: float = 0.5) -> None:
        for _ in range(round(120 / pause_s)):
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(pause_s)
