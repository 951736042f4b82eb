"""Shops on loopback whose pages show prices, tasks about them, and the responses of a model that solves the tasks.

Each shop has its own address (127.0.0.2, .3, …). It is therefore a host of its own to browsers, to robots.txt and to
the politeness limit. The model reads its prompt as any model does: it clicks the link that the task names, reads the
price on the page that opens, and calls `done`.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field

from tests.endpoint_server import text_of
from tests.loopback import Handler, Loopback

PRICES = {"lamp": "12 euros", "chair": "30 euros", "table": "99 euros", "shelf": "45 euros"}
TRUE_PRICES = PRICES | {"table": "98 euros"}
"""The expected answers. The page of the table shows another price, so the task about the table fails."""


@dataclass
class Visits:
    """Start pages that were opened on one host: (time, item)."""

    opened: list[tuple[float, str]] = field(default_factory=list)


class Shop(Loopback):
    """One host. `/lamp` is the start page of the task about lamps; `robots` is the text of its robots.txt."""

    def __init__(self, host: str, robots: str | None = None, port: int = 0, robots_status: int = 200) -> None:
        self.visits, shop = Visits(), self
        self.asked_robots = 0

        class Serving(Handler):
            def do_GET(self) -> None:
                name = self.path.strip("/")
                if name == "robots.txt":
                    shop.asked_robots += 1
                    self._answer(robots or "", robots_status if robots is not None else 404, "text/plain")
                elif name in PRICES:
                    shop.visits.opened.append((time.monotonic(), name))
                    self._answer(f"<title>{name}</title><h1>{name}</h1><a href='/{name}/price'>Price</a>")
                elif name.endswith("/price"):
                    item = name.removesuffix("/price")
                    self._answer(f"<title>{item}</title><button>It costs {PRICES[item]}</button>")
                else:
                    self._answer("<title>Not found</title>", 404)

            def _answer(self, text: str, status: int = 200, kind: str = "text/html") -> None:
                self.send_body(text.encode(), f"{kind}; charset=utf-8", status)

        super().__init__(Serving, host, port)


def answer(asked: dict) -> str:
    """The model's response to a prompt: `done` with the price if the page shows it, else a click on the link to it."""
    seen = text_of(asked)
    price = re.findall(r"It costs (\d+ euros)", seen)
    if price:
        return call("done", answer=price[-1])
    link = re.findall(r'link "Price" (\d+) (\d+)', seen)
    return call("click", x=int(link[-1][0]), y=int(link[-1][1])) if link else call("wait", seconds=1)


def verdict(asked: dict) -> str:
    """The verdict of a judge that knows the price of a lamp."""
    is_right = f"Answer: {PRICES['lamp']}" in text_of(asked)
    return f"The price is known.\nVerdict: {'SUCCESS' if is_right else 'NOT SUCCESS'}"


def call(name: str, **arguments: object) -> str:
    """A response with one call."""
    return f"<think>\nOn.\n</think>\n<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def task_row(shop: Shop, item: str) -> dict:
    """A task in our own schema, which WebArena's `string_match` judges."""
    return {
        "task_id": f"{shop.host}/{item}",
        "intent": f"What does the {item} cost?",
        "start_url": f"{shop.origin}/{item}",
        "website": shop.host,
        "split": "eval",
        "evaluator": {
            "type": "webarena",
            "eval": {
                "eval_types": ["string_match"],
                "reference_answers": {"exact_match": TRUE_PRICES[item]},
                "reference_url": "",
                "program_html": [],
            },
        },
    }
