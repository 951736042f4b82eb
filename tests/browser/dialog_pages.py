"""Pages with dialogs, visited in an episode that asks the agent for answers."""

from __future__ import annotations

import asyncio

from components.browser import BrowserPool, check_call

from .conftest import PARAMS, task

BUTTON = '<button style="position:absolute;left:360px;top:285px;width:80px;height:30px" onclick="{}">Go</button>'
CLICK = check_call("click", {"x": 500, "y": 500})
ASK = PARAMS.model_copy(update={"dialogs": "ask"})
CAREFUL = {"dialogs": "ask_or_dismiss"}
WAIT = check_call("wait", {"seconds": 0})


def keys(*names):
    """A call of `press_keys`."""
    return check_call("press_keys", {"keys": list(names)})


def write(text):
    """A call of `write`."""
    return check_call("write", {"text": text})


def visitor(pages):
    """`visit(body, steps)`, which runs `await steps(session)` on a page, in an episode that asks for answers."""

    def run(body, steps, text="elements", **params):
        async def episode():
            async with BrowserPool(ASK.model_copy(update=params), text=text) as pool, pool.session() as session:
                await session.start(task(pages.add("/dialog", body)))
                return await steps(session)

        return asyncio.run(episode())

    return run
