"""`python -m city.serving`: serves an image on one port, and its control interface on another.

A request names its copy by the cookie `city`, which pages cannot read (HttpOnly) and applications do not see. The host
names the site. Static files are served without a copy. Everything else waits its turn (`copies`).
"""

from __future__ import annotations

import argparse
import json
import mimetypes
import os
import resource
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Any

from city import entropy, modifiers

if TYPE_CHECKING:
    from city.copies import Copy

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
COOKIE = "city"
THREADS = 64
"""More than one copy has requests at a time, because a request may wait (`modifiers.slow`) before it takes its turn."""
IDLE_S = 10 * 365 * 24 * 3600
"""waitress closes connections that were idle for longer. A request moves the clock of the whole process to its copy's
time, so with a shorter limit a connection may look idle that is not. Chromium closes its connections by itself."""


CONNECTIONS = 4096
"""waitress accepts no more at once; further pages wait until Chromium closes idle connections, which takes minutes. A
browser context keeps up to six to each of the sites that it has opened."""


OTHER_FILES = 256
"""Open files of the server beside connections to pages."""


def main() -> None:
    """Serve until standard input ends, which the death of the parent does too.

    Prints one line of JSON with the ports and the control interface's token.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("image", type=Path, help="the folder that city.building made")
    parser.add_argument("--port", type=int, default=0, help="of the pages; 0 chooses a free one")
    parser.add_argument("--control-port", type=int, default=0, help="of the control interface; 0 chooses a free one")
    options = parser.parse_args()
    connections = connection_limit()
    os.environ["CITY_IMAGE"] = str(options.image.resolve())
    entropy.install()
    setup()
    import waitress

    from city.control import Control
    from city.copies import Copies

    copies = Copies((options.image / "city.sqlite3").read_bytes())
    token = secrets.token_hex(16)
    control = Control(copies, token)
    pages = waitress.create_server(
        City(copies),
        host="127.0.0.1",
        port=options.port,
        threads=THREADS,
        clear_untrusted_proxy_headers=True,
        channel_timeout=IDLE_S,
        connection_limit=connections,
        asyncore_use_poll=True,  # select knows 1024 connections at most
    )
    commands = waitress.create_server(
        control, host="127.0.0.1", port=options.control_port, threads=4, channel_timeout=IDLE_S
    )
    for server in (pages, commands):
        threading.Thread(target=server.run, daemon=True).start()
    ready = {"port": int(pages.effective_port), "control_port": int(commands.effective_port), "token": token}
    print(json.dumps(ready), flush=True)
    sys.stdin.read()


def connection_limit() -> int:
    """`CONNECTIONS`, or what the system lets this process open, less what it needs itself."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return CONNECTIONS if most == resource.RLIM_INFINITY else max(1, min(CONNECTIONS, most - OTHER_FILES))


def setup() -> None:
    """Load Django with the settings of all sites."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "city.settings"
    import django

    django.setup()


class City:
    """The WSGI application of all sites."""

    def __init__(self, copies: Any) -> None:
        from django.conf import settings
        from django.core.handlers.wsgi import WSGIHandler
        from whitenoise import WhiteNoise

        from city import sites

        self._copies = copies
        self._hosts = {site.HOST: f"{site.__name__}.urls" for site in sites.found()}
        self._django = WSGIHandler()
        self._static = WhiteNoise(self._page, root=settings.STATIC_ROOT, prefix="static/")
        self._static.add_headers_function = lambda headers, path, url: None

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        return self._static(environ, start_response)

    def _page(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        from city.copies import UnknownCopyError

        try:
            return self._answer(self._copies.find(take_key(environ)), environ, start_response)
        except UnknownCopyError:
            return plain(start_response, "403 Forbidden", "This address belongs to an episode of the city.")

    def _answer(self, copy: Copy, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "").partition(":")[0]
        if host not in self._hosts:
            return plain(start_response, "404 Not Found", f"The city has no site {host}.")
        path = environ.get("PATH_INFO", "/")
        purpose = f"{environ['REQUEST_METHOD']} {host}{path}?{environ.get('QUERY_STRING', '')}"
        is_media = path.startswith("/media/")
        if copy.modifiers and not is_media:
            request = f"{copy.writes} {purpose}"
            time.sleep(sum(modifier.delay(request) for modifier in modifiers.load(copy.modifiers, copy.seed)))
        with copy.bound(purpose):
            if is_media:
                return self._media(path.removeprefix("/media/"), start_response)
            return self._respond(environ, start_response, self._hosts[host])

    def _respond(self, environ: Environ, start_response: StartResponse, urls: str) -> Iterable[bytes]:
        from django.urls import set_urlconf

        from city.middleware import REQUEST_URLS

        token = REQUEST_URLS.set(urls)
        set_urlconf(urls)
        try:
            response = self._django(environ, start_response)
            try:
                return [b"".join(response)]  # all of it, while the copy is bound
            finally:
                response.close()
        finally:
            set_urlconf(None)
            REQUEST_URLS.reset(token)

    def _media(self, name: str, start_response: StartResponse) -> Iterable[bytes]:
        from django.core.files.storage import default_storage

        content = default_storage.read(name)  # a CopyStorage
        if content is None:
            return plain(start_response, "404 Not Found", "There is no such file.")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        start_response("200 OK", [("Content-Type", kind), ("Content-Length", str(len(content)))])
        return [content]


def take_key(environ: Environ) -> str:
    """The key of the copy from the request's cookies, from which it is removed."""
    try:
        cookies = SimpleCookie(environ.get("HTTP_COOKIE", ""))
    except CookieError:
        return ""
    key = cookies.pop(COOKIE, None)
    environ["HTTP_COOKIE"] = "; ".join(f"{name}={morsel.coded_value}" for name, morsel in cookies.items())
    return key.value if key is not None else ""


def plain(start_response: StartResponse, status: str, text: str) -> list[bytes]:
    """A short answer of the server's own."""
    body = text.encode()
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]


if __name__ == "__main__":
    main()
