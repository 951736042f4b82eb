"""A running server of the city and its visitors, over plain HTTP."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from pathlib import Path

import httpx

from components.worlds.city.image import environment, find_python

SHOP, DESK, FORUM = "shop.test", "desk.test", "forum.test"
PASSWORD = "sea-breeze"


class Server:
    """A running server and its control interface."""

    def __init__(self, image: Path) -> None:
        command = [find_python(), "-m", "city.serving", image]
        self.process = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.port, self.control_port, self.token = ready["port"], ready["control_port"], ready["token"]

    def control(self, command: str, token: str | None = None, **arguments: object) -> tuple[int, object]:
        connection = http.client.HTTPConnection("127.0.0.1", self.control_port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        connection.request("POST", f"/{command}", json.dumps(arguments), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def reset(self, seed: int = 0, **options: object) -> str:
        """A fresh copy; without a seed, with the data of the image, whose ids tests may name."""
        return self.control("reset", seed=seed, **options)[1]["key"]

    def diff(self, before: str, after: str) -> dict[str, list[dict]]:
        rows: dict[str, list[dict]] = {}
        for row in self.control("diff", before=before, after=after)[1]:
            rows.setdefault(row["table"], []).append(row)
        return rows

    def query(self, key: str, sql: str) -> list[dict]:
        status, rows = self.control("query", key=key, sql=sql)
        assert status == 200, rows
        return rows

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)


class Visitor:
    """A visitor with cookies, on one copy."""

    def __init__(self, server: Server, key: str, cookies: dict[str, dict[str, str]] | None = None) -> None:
        self.server, self.key = server, key
        self.cookies: dict[str, dict[str, str]] = cookies or {}

    def request(
        self,
        host: str,
        path: str,
        form: dict[str, str] | None = None,
        files: dict[str, tuple[str, bytes]] | None = None,
    ) -> tuple[int, str, dict[str, str]]:
        """The status, text and headers of an answer. `files`, by field, have a name and a content each."""
        sent = httpx.Request("POST", f"http://{host}{path}", data=form, files=files)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        jar = self.cookies.setdefault(host, {})
        cookie = "; ".join(f"{name}={value}" for name, value in {**jar, "city": self.key}.items())
        headers = {"Host": host, "Cookie": cookie, "Content-Type": sent.headers.get("Content-Type", "")}
        connection.request("POST" if form else "GET", path, sent.read() if form else None, headers)
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                cookie_name, _, rest = value.partition("=")
                jar[cookie_name] = rest.partition(";")[0]
        return answer.status, body, dict(answer.getheaders())

    def get(self, host: str, path: str) -> str:
        status, body, headers = self.request(host, path)
        if status in (301, 302):
            return self.get(host, headers["Location"])
        assert status == 200, (host, path, status, body[:300])
        return body

    def post(self, host: str, page: str, path: str, **form: str) -> int:
        """Send the form of a page, with its CSRF token."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(host, page))
        assert token is not None
        return self.request(host, path, {"csrfmiddlewaretoken": token[1], **form})[0]

    def add_to_basket(self, product: int) -> None:
        page = f"/catalogue/x_{product}/"
        assert self.post(SHOP, page, f"/basket/add/{product}/", quantity="1") == 302

    def log_in(self, host: str, username: str) -> None:
        page = "/accounts/login/"
        assert self.post(host, page, page, username=username, password=PASSWORD, next="/") == 302


def outside_links(page: str) -> list[str]:
    """The addresses in a page's attributes that are on no site of the city."""
    addresses = re.findall(r"""(?:href|src|action|formaction|content)=["']?((?:https?:)?//[^"'\s>]+)""", page)
    return [address for address in addresses if not re.match(r"(https?:)?//(\w+\.)*\w+\.test([:/]|$)", address)]


def changes(row: dict) -> dict[str, tuple[str | None, str | None]]:
    """The columns of a changed row that differ, with both values."""
    before, after = row["before"], row["after"]
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def visitor_with(server: Server, *modifiers: str, seed: int = 1, **logins: str) -> Visitor:
    """A visitor of a copy with modifiers, and with cookies of logged-in users."""
    status, ready = server.control("reset", seed=seed, modifiers=modifiers, logins=logins)
    assert status == 200, ready
    return Visitor(server, ready["key"], ready["cookies"])
