"""What closed shadow roots show is listed, pressed and watched like the content of open ones."""

from __future__ import annotations

import itertools

import pytest

from components.browser import check_call, parse_elements
from components.browser.feedback import CHANGED, NO_EFFECT

_COUNT = itertools.count()
PRESS = "onclick=\"top.document.title='pressed '+this.textContent\""
FILL = """<script>function fill(host, html) { host.attachShadow({ mode: 'closed' }).innerHTML = html; }
customElements.define('x-card', class extends HTMLElement { connectedCallback() {
fill(this, `<p>head</p><slot></slot><slot name=foot></slot><button PRESS>in</button><x-inner></x-inner>`); } });
customElements.define('x-inner', class extends HTMLElement { connectedCallback() {
fill(this, `<button PRESS>deep</button>`); } });
</script>""".replace("PRESS", PRESS)


@pytest.fixture
def press(pages, visit):
    """`press(body, name)` clicks the line with a name: the title and the feedback after it, and the names before it."""

    def run(body: str, name: str) -> tuple[str, str, list[str]]:
        async def clicking(session, seen):
            lines = parse_elements(seen.text)
            names = [line.name for line in lines]
            if name not in names:
                return "no line", "", names
            line = lines[names.index(name)]
            result = await session.step([check_call("click", {"x": line.x, "y": line.y})])
            return result.observation.tabs[0].title, result.feedback[0], names

        return visit(pages.add(f"/closed{next(_COUNT)}", FILL + body), clicking)

    return run


@pytest.mark.parametrize("name", ["light", "foot", "in", "deep"])
def test_controls_of_closed_roots_and_their_slots_operate(press, name):
    body = f"<x-card><button {PRESS}>light</button><button slot=foot {PRESS}>foot</button></x-card>"
    title, line, names = press(body, name)
    assert title == f"pressed {name}"
    assert names == ["light", "foot", "in", "deep"]
    assert f'<button> "{name}"' in line


@pytest.mark.parametrize(
    "host",
    ["<div id=h></div>", "<div id=h><p>not drawn</p></div>", "<section id=h style='padding:9px'></section>"],
    ids=["empty", "with children outside of slots", "with padding"],
)
def test_controls_of_a_plain_host_operate(press, host):
    title, _, names = press(f"{host}<script>fill(h, `<button {PRESS}>in</button>`)</script>", "in")
    assert (title, names) == ("pressed in", ["in"])


def test_a_host_without_a_size_shows_what_is_placed_outside_of_it(press):
    placed = f"<button style='position:absolute;left:200px;top:100px' {PRESS}>in</button>"
    assert press(f"<x-host id=h></x-host><script>fill(h, `{placed}`)</script>", "in")[0] == "pressed in"
    defined = "<script>customElements.define('x-host', class extends HTMLElement {})</script>"
    assert press(f"{defined}<x-host id=h></x-host><script>fill(h, `{placed}`)</script>", "in")[0] == "pressed in"


def test_a_closed_root_in_a_frame_and_a_frame_in_it_are_listed(press, pages):
    inner = pages.add("/closed-inner", f"{FILL}<x-card></x-card>")
    frame = f"<iframe style='width:300px;height:200px' src='{inner}'></iframe>"
    assert press(frame, "deep")[0] == "pressed deep"
    assert press(f"<div id=h></div><script>fill(h, `{frame}`)</script>", "deep")[0] == "pressed deep"
    foreign = frame.replace("<iframe", "<iframe sandbox='allow-scripts'")
    assert press(foreign, "deep")[2] == ["in", "deep"]


def test_a_root_that_is_attached_later_is_a_change_with_lines(pages, visit):
    attach = f"fill(h, `<button {PRESS}>new</button>`)".replace('"', "&quot;")
    body = f'{FILL}<button onclick="{attach}">attach</button><div id=h></div>'

    async def attaching(session, seen):
        (line,) = parse_elements(seen.text)
        result = await session.step([check_call("click", {"x": line.x, "y": line.y})])
        return result.feedback[0], [item.name for item in parse_elements(result.observation.text)]

    line, names = visit(pages.add("/attached", body), attaching)
    assert line.endswith(CHANGED)
    assert names == ["attach", "new"]


@pytest.mark.parametrize(("script", "note"), [("this.previousSibling.textContent='b'", CHANGED), ("", NO_EFFECT)])
def test_a_change_in_a_closed_root_is_said_and_only_that(press, script, note):
    html = f"<p>a</p><button onclick=&quot;{script}&quot;>go</button>".replace("&quot;", '"')
    _, line, _ = press(f"<div id=h></div><script>fill(h, `{html}`)</script>", "go")
    assert line.endswith(note)


def test_the_page_cannot_tell_that_its_closed_roots_are_read(pages, visit):
    spy = """<script>const log = []; const { attachShadow } = Element.prototype;
const hook = (name, prototype) => { const { get } = Object.getOwnPropertyDescriptor(prototype, name);
Object.defineProperty(prototype, name, { get() { log.push(name); return get.call(this); } }); };
hook('shadowRoot', Element.prototype); hook('assignedSlot', Element.prototype);
hook('host', ShadowRoot.prototype);</script>"""

    async def reading(session, seen):
        names = [line.name for line in parse_elements(seen.text)]
        return names, await session.page.evaluate("log"), await session.page.evaluate("document.body.outerHTML")

    names, log, html = visit(pages.add("/spied", f"{spy}{FILL}<x-card></x-card>"), reading)
    assert names == ["in", "deep"]
    assert log == []
    assert html.endswith("<x-card></x-card></body>")
