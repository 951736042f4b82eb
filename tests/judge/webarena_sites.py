"""The parts of a forum, a shop with a REST interface and a project page that WebArena's rules read, on loopback."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

from tests.loopback import Handler, Loopback

MEMBERS = """<table>{}</table>"""
MEMBER = (
    "<tr><td data-label=Account><span class=gl-avatar-labeled-sublabel>@{}</span></td>"
    "<td class=col-max-role><span>{}</span></td></tr>"
)


class Sites(Loopback):
    """The running server. `posts`, `orders`, `reviews` and `members` hold its state, which episodes change."""

    def __init__(self) -> None:
        self.posts: list[str] = []
        self.orders: list[str] = []
        self.reviews: list[tuple[str, int]] = []
        self.members: dict[str, str] = {}
        self.outage = False
        """Whether the shop's REST interface answers with 503."""
        sites = self

        class Serving(_Handler):
            state = sites

        super().__init__(Serving)


class _Handler(Handler):
    state: Sites

    def do_GET(self) -> None:
        url, state = urlsplit(self.path), self.state
        match url.path.strip("/").split("/"):
            case ["rest", "V1", *_] if state.outage:
                self._send("{}", 503)
            case ["rest", "V1", *_] if self.headers.get("Authorization") != "Bearer t0ken":
                self._send("{}", 401)
            case ["rest", "V1", "orders"]:
                newest_first = "DESC" in parse_qs(url.query)["searchCriteria[sortOrders][0][direction]"]
                items = [{"increment_id": f"{number:09}"} for number in range(1, len(state.orders) + 1)]
                self._send(json.dumps({"items": items[::-1][:1] if newest_first else items}))
            case ["rest", "V1", "products", _, "reviews"]:
                reviews = [
                    {"nickname": name, "ratings": [{"rating_name": "Rating", "percent": percent}]}
                    for name, percent in state.reviews
                ]
                self._send(json.dumps(reviews))
            case ["sales", "order", "view", "order_id", number]:
                self._page(f"<div class='order-details-items ordered'>{state.orders[int(number) - 1]}</div>")
            case ["f", "books", "submit"]:
                state.posts.append(parse_qs(url.query)["title"][0])
                self._send("", 303, Location=f"/f/books/{len(state.posts)}/a-title")
            case ["f", "books", number, *_] if int(number) <= len(state.posts):
                self._page(f"<div class=submission__inner>{state.posts[int(number) - 1]}</div>")
            case ["members"]:
                rows = "".join(MEMBER.format(name, role) for name, role in state.members.items())
                self._page(MEMBERS.format(rows))
            case [""] | ["home"]:
                self._page("<h1>home</h1>")
            case _:
                self._page("not found", 404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = self.path == "/rest/default/V1/integration/admin/token" and asked["username"] == "admin"
        self._send('"t0ken"' if known else "{}", 200 if known else 401)

    def _page(self, body: str, status: int = 200) -> None:
        self._send(f"<!DOCTYPE html><title>a site</title>{body}", status)

    def _send(self, text: str, status: int = 200, **headers: str) -> None:
        kind = "text/html" if text.startswith("<!") else "application/json"
        self.send_body(text.encode(), kind, status, headers)
