"""A scroll turns the wheel at a point: it works where a person's wheel works, and a boundary is claimed only at one."""

import pytest

from components.browser import check_call
from components.browser.feedback import AT_BOUNDARY, TOOK_WHEEL

TALL = "<div style='height:3000px;background:linear-gradient(red,blue)'></div>"
BOX = "<div id=box style='width:400px;height:200px;overflow:auto'>" + TALL + "</div>"


def wheel(direction="down", amount=0.5, **point):
    return check_call("scroll", {"direction": direction, "amount": amount, **point})


@pytest.fixture
def scroll(pages, visit):
    """Scrolls in a body of HTML; returns the lines of feedback and the values of expressions afterwards."""

    def run(body, calls, *expressions):
        async def steps(session, _):
            lines = [(await session.step([call])).feedback[0] for call in calls]
            return lines, [await session.page.evaluate(expression) for expression in expressions]

        return visit(pages.add("/scroll", body), steps)

    return run


def test_the_page_scrolls_by_a_part_of_the_viewport(scroll):
    lines, values = scroll(TALL, [wheel(amount=0.5)], "scrollY")
    assert (lines, values) == (["Succeed: `scroll` down by 50% executed."], [300])


def test_an_inner_scroller_scrolls_by_a_part_of_itself(scroll):
    lines, values = scroll(BOX + TALL, [wheel(amount=0.5, x=200, y=100)], "box.scrollTop", "scrollY")
    assert (lines, values) == (["Succeed: `scroll` down by 50% executed."], [100, 0])


def test_without_a_point_the_page_scrolls_and_not_what_is_in_its_centre(scroll):
    body = f"<div style='padding:250px 200px'>{BOX}</div>{TALL}"
    assert scroll(body, [wheel()], "box.scrollTop", "scrollY")[1] == [0, 300]


def test_without_a_point_what_has_the_focus_scrolls(scroll):
    body = BOX.replace(TALL, f"<button autofocus>b</button>{TALL}") + TALL
    assert scroll(body, [wheel()], "box.scrollTop", "scrollY")[1] == [100, 0]


def test_an_application_scrolls_in_its_main_part(scroll):
    body = f"<style>body{{overflow:hidden}}</style><main id=box style='height:100vh;overflow:auto'>{TALL}</main>"
    assert scroll(body, [wheel()], "box.scrollTop")[1] == [300]


def test_a_scroller_in_a_shadow_root_scrolls(scroll):
    body = f"<x-y></x-y><script>document.querySelector('x-y').attachShadow({{mode:'open'}}).innerHTML=`{BOX}`</script>"
    lines, values = scroll(body, [wheel(x=200, y=100)], "document.querySelector('x-y').shadowRoot.firstChild.scrollTop")
    assert (lines, values) == (["Succeed: `scroll` down by 50% executed."], [100])


def test_a_frame_of_the_same_origin_scrolls(scroll, pages):
    inner = pages.add("/inner", TALL)
    body = f"<iframe src='{inner}' style='width:400px;height:400px;border:0'></iframe>"
    lines, values = scroll(body, [wheel(x=200, y=100)], "frames[0].scrollY")
    assert (lines, values) == (["Succeed: `scroll` down by 50% executed."], [200])


def test_a_number_field_that_the_wheel_changes_is_named(scroll):
    field = "<input id=number type=number value=11 autofocus style='position:fixed;inset:0;width:100vw;height:100vh'>"
    lines, values = scroll(field + "<script>onwheel = () => {}</script>" + TALL, [wheel()], "number.value")
    assert values == ["10"]
    assert lines[0].endswith('Note: the wheel changed the focused number field from "11" to "10".')


def test_a_boundary_is_claimed_only_when_the_wheel_met_one(scroll):
    lines, _ = scroll(TALL, [wheel("up"), wheel("down", 9), wheel("down", 1)])
    assert [AT_BOUNDARY in line for line in lines] == [True, False, True]


def test_a_boundary_is_claimed_though_the_wheel_caused_a_request(scroll, pages):
    pages.add("/metric", "ok")
    body = TALL + "<script>addEventListener('wheel', () => fetch('/metric'), {passive: true})</script>"
    lines, _ = scroll(body, [wheel("up"), wheel("down", 9), wheel("down", 1)])
    assert [AT_BOUNDARY in line for line in lines] == [True, False, True]


def test_a_map_that_zooms_by_the_wheel_meets_no_boundary(scroll):
    body = "<h1 id=zoom style='height:300px'>1</h1>" + TALL
    body += "<script>zoom.addEventListener('wheel',e=>{e.preventDefault();zoom.textContent=e.deltaY})</script>"
    lines, values = scroll(body, [wheel(x=500, y=200)], "zoom.textContent", "scrollY")
    assert lines == ["Succeed: `scroll` down by 50% executed. The page changed."]
    assert values == ["300", 0]


def test_a_listener_that_keeps_the_wheel_for_itself_is_named(scroll):
    body = TALL + "<script>addEventListener('wheel',e=>e.preventDefault(),{passive:false})</script>"
    assert scroll(body, [wheel()])[0] == [f"Succeed: `scroll` down by 50% executed. {TOOK_WHEEL}"]


def test_a_page_that_scrolls_itself_smoothly_is_observed_at_rest(pages, visit):
    body = TALL + "<script>addEventListener('wheel',e=>{e.preventDefault();"
    body += "scrollTo({top:1500,behavior:'smooth'})},{passive:false})</script>"

    async def steps(session, _):
        line = (await session.step([wheel()])).feedback[0]
        return line, await session.page.evaluate("scrollY")

    assert visit(pages.add("/smooth", body), steps) == ("Succeed: `scroll` down by 50% executed.", 1500)


def test_snapping_has_ended_before_the_observation(pages, visit):
    slides = "".join(f"<section style='height:600px;scroll-snap-align:start'>{number}</section>" for number in range(5))
    body = f"<style>html{{scroll-snap-type:y mandatory}}</style>{slides}"

    async def steps(session, _):
        await session.step([wheel(amount=0.7)])
        return await session.page.evaluate("scrollY")

    assert visit(pages.add("/snap", body), steps) == 600


def test_page_texts_bring_no_line_break_into_the_feedback(pages, visit):
    async def steps(session, _):
        calls = [
            check_call("click", {"x": 500, "y": 20}),
            check_call("write", {"text": "first\nsecond"}),
            check_call("done", {"answer": "one\ntwo"}),
            check_call("scroll", {"direction": "down", "amount": 1}),
        ]
        return (await session.step(calls)).feedback

    lines = visit(
        pages.add("/lines", "<textarea style='width:100%;height:200px' aria-label='a\n b'></textarea>"), steps
    )
    assert all(len(line.splitlines()) == 1 for line in lines)
    assert lines[1].startswith('Succeed: `write` typed "first\\nsecond" into <textarea> "a b".')
    assert lines[2] == "Succeed: task marked as done. Response: one\\ntwo"


def test_the_wheel_waits_for_the_scroll_of_a_key(pages, visit):
    async def steps(session, _):
        await session.page.evaluate("scrollTo({top: 200, behavior: 'smooth'})")
        await session.page.evaluate("new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))")
        await session.step([wheel(amount=0.5)])
        return await session.page.evaluate("scrollY")

    assert visit(pages.add("/keys", TALL), steps) == 500
