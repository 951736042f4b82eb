"""`python -m city.building FOLDER`: makes the image, the folder that `city.serving` serves.

It migrates an empty database, lets each site fill it, collects static files, and visits every page once, so that
thumbnails and whatever else an application makes at the first view are part of the image.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import shutil
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

from city import entropy, sites

PAGES = 400
"""At most this many pages of a site are visited."""


def main() -> None:
    """Build into a folder that appears at the end, whole."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    os.environ["CITY_IMAGE"] = str(part)
    entropy.install()
    from city.serving import setup

    setup()
    build(part)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


def build(folder: Path) -> None:
    """Fill an empty folder with an image."""
    from django.core.management import call_command

    from city.copies import START, Copies, Copy, open_database

    began = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - began:5.1f} s  {what}", file=sys.stderr, flush=True)

    call_command("collectstatic", interactive=False, verbosity=0)
    tell("static files")
    copy = Copy(open_database(None), seed=0, now=START - dt.timedelta(hours=1))
    with copy.bound("migrate"):
        call_command("migrate", verbosity=0)
    tell("tables")
    with copy.bound("people"):
        from city import people

        people.seed()
    for site in sites.found():
        with copy.bound(f"seed {site.HOST}"):
            seed_site(site)
        tell(site.HOST)
    copies = Copies(bytes(copy.connection.serialize()))
    base = copies.reset(0)
    base.media.update(copy.media)
    for site in sites.found():
        tell(f"{visit(copies, base.key, site.HOST)} pages of {site.HOST} visited")
    base.media.update({name: data for name, data in base.media.items() if data})
    for name, data in base.media.items():
        path = folder / "media" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    with base.bound("clean up"):
        clean_up()
    base.connection.execute("VACUUM")
    (folder / "city.sqlite3").write_bytes(bytes(base.connection.serialize()))
    tell("done")


def seed_site(site: Any) -> None:
    """Let a site fill the database, in one transaction."""
    import importlib

    from django.db import transaction
    from django.urls import set_urlconf

    set_urlconf(f"{site.__name__}.urls")
    try:
        with transaction.atomic():
            importlib.import_module(f"{site.__name__}.seed").seed()
    finally:
        set_urlconf(None)


def visit(copies: Any, key: str, host: str) -> int:
    """Open the pages of a site that links lead to, without logging in; returns their number."""
    from city.serving import COOKIE, City

    application, pending = City(copies), ["/"]
    seen: set[str] = set()
    while pending and len(seen) < PAGES:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        status: list[str] = []
        headers: list[tuple[str, str]] = []
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path.partition("?")[0],
            "QUERY_STRING": path.partition("?")[2],
            "SERVER_NAME": host,
            "SERVER_PORT": "80",
            "HTTP_HOST": host,
            "HTTP_COOKIE": f"{COOKIE}={key}",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(),
            "wsgi.errors": sys.stderr,
        }

        def start_response(line: str, fields: list[tuple[str, str]], status=status, headers=headers) -> None:
            status.append(line)
            headers.extend(fields)

        body = b"".join(application(environ, start_response))
        if status[0].startswith(("4", "5")):
            raise RuntimeError(f"http://{host}{path} answers {status[0]}")
        targets = [value for name, value in headers if name == "Location"]
        targets += re.findall(r'href="([^"#]+)"', body.decode(errors="replace")) if b"<html" in body[:2000] else []
        for target in targets:
            target = target.removeprefix(f"http://{host}").replace("&amp;", "&")
            if target.startswith("?"):
                target = path.partition("?")[0] + target
            if target.startswith("/") and not target.startswith(("//", "/static/", "/media/")):
                pending.append(target)
    return len(seen)


def clean_up() -> None:
    """Remove what the visit left: sessions and counts of views."""
    from django.apps import apps
    from django.contrib.sessions.models import Session

    Session.objects.all().delete()
    for model in apps.get_app_config("analytics").get_models():
        model._default_manager.all().delete()


if __name__ == "__main__":
    main()
