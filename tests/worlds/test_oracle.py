"""The oracle: it finds its targets in element lists, scrolls for them, and errs when it is told to."""

from __future__ import annotations

import random

from components.browser import Listed
from components.worlds.oracle import Oracle, choose, click, fill, press


def line(role: str, name: str, x: int = 10, y: int = 20, value: str = "") -> Listed:
    return Listed(role, name, value, frozenset(), x, y)


def oracle(*steps, answer: str = "42", noise: float = 0.0, seed: int = 0) -> Oracle:
    return Oracle(steps, answer, random.Random(seed), noise)


def calls(turn) -> list[tuple[str, dict]]:
    return [(call.name, call.arguments) for call in turn.calls]


def test_a_target_may_be_the_one_after_another_line():
    page = [line("link", "Rope"), line("button", "Add", 1, 1), line("link", "Kettle"), line("button", "Add", 2, 2)]
    assert calls(oracle(click("button", "Add", after="Kettle")).next(page)) == [("click", {"x": 2, "y": 2})]
    assert calls(oracle(click("button", "Add", number=1)).next(page)) == [("click", {"x": 2, "y": 2})]


def test_a_field_is_clicked_and_written_in_one_turn():
    teacher = oracle(fill("Search", "kettle"), choose("Sort by", "Price"), press("Enter"))
    page = [line("field", "search", 5, 5), line("select", "sort by", 6, 6)]
    assert calls(teacher.next(page)) == [("click", {"x": 5, "y": 5}), ("write", {"text": "kettle"})]
    assert calls(teacher.next(page)) == [("click", {"x": 6, "y": 6}), ("write", {"text": "Price"})]
    assert calls(teacher.next(page)) == [("press_keys", {"keys": ["Enter"]})]
    assert calls(teacher.next(page)) == [("done", {"answer": "42"})]


def test_a_target_out_of_sight_is_scrolled_for():
    teacher = oracle(click("button", "Save"))
    assert teacher.next([line("link", "a")]).calls[0].name == "scroll"
    assert teacher.next([line("link", "b")]).calls[0].arguments["direction"] == "down"
    assert calls(teacher.next([line("button", "Save")])) == [("click", {"x": 10, "y": 20})]


def test_a_target_that_is_nowhere_ends_the_episode():
    teacher, page = oracle(click("button", "Save")), [line("link", "a")]
    names = [teacher.next(page).calls[0] for _ in range(8)]
    assert [call.name for call in names] == ["scroll", "scroll", "scroll", "wait", "scroll", "scroll", "scroll", "done"]
    assert names[-1].arguments == {"answer": "N/A"}


def test_noise_is_one_mistake_by_seed():
    page = [line("button", "Save", 1, 1), line("button", "Delete", 2, 2), line("field", "Title", 3, 3)]

    def episode(seed: int, noise: float) -> list:
        teacher, turns = oracle(fill("Title", "Rope"), click("button", "Save"), noise=noise, seed=seed), []
        while not turns or turns[-1][-1][0] != "done":
            turns.append(calls(teacher.next(page)))
        return turns

    right = episode(0, 0.0)
    noisy = [episode(seed, 1.0) for seed in range(30)]
    assert noisy == [episode(seed, 1.0) for seed in range(30)]
    assert all(turns != right for turns in noisy if len(turns) == 3 and turns[0][1][1] != {"text": "Rope"})
    assert any(turns[0][1][1] == {"text": "Rop"} for turns in noisy)
    assert any(len(turns) == 2 for turns in noisy)
    assert any(len(turns) == 3 and turns[1] == [("click", {"x": 2, "y": 2})] for turns in noisy)
