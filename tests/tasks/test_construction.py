"""From tasks to a set with rubrics and subtasks (WebGym, algorithm 1), with models that answer late, wrongly or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from components.params import ConstructionParams
from components.records import FactGroup, Task
from components.tasks import (
    Answer,
    Constructed,
    Origin,
    Unusable,
    add_rubrics,
    decompose,
    level_counts,
    load_files,
    parse_rows,
    write_tasks,
)

PARAMS = ConstructionParams.model_validate(
    {"endpoint": {"url": "http://127.0.0.1/v1", "model": "m", "max_in_flight": 3}, "max_tries": 2}
)


def groups(*sizes: int) -> list[FactGroup]:
    return [
        FactGroup(id=f"G{n}", description=f"part {n}", facts=[f"fact {n}.{k}" for k in range(size)])
        for n, size in enumerate(sizes, start=1)
    ]


class WillingModel:
    """Gives a task one fact per word and a subset a text with its groups' names; later questions answer sooner."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.running = self.most = 0

    async def __call__(self, system: str, user: str) -> Answer:
        shown, _ = json.JSONDecoder().raw_decode(user)
        self.asked.append(shown)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.02 / len(self.asked))
        self.running -= 1
        return Answer(json.dumps(self.answer(shown)), usd=0.5)

    def answer(self, shown: dict) -> dict:
        if "keep" in shown:
            parts = [group["description"] for group in shown["keep"]]
            return {"task": f"Do {' and '.join(parts)}.", "quotes": {g["id"]: g["description"] for g in shown["keep"]}}
        facts = [{"fact": word, "quote": word} for word in shown["task"].split()]
        return {"groups": [{"description": "all", "facts": facts}]}


class ForgetfulModel(WillingModel):
    """Has no rubric for tasks with `vague` in them and no words for pairs of groups."""

    def answer(self, shown: dict) -> dict:
        if "vague" in shown.get("task", "") or len(shown.get("keep", [])) == 2:
            return {"groups": []}
        return super().answer(shown)


class RepetitiveModel(WillingModel):
    """Words every subset alike."""

    def answer(self, shown: dict) -> dict:
        return {"task": "Do it.", "quotes": {group["id"]: "it" for group in shown["keep"]}}


class BrokeModel(WillingModel):
    """Has no money left after two answers."""

    async def __call__(self, system: str, user: str) -> Answer:
        if len(self.asked) >= 2:
            raise RuntimeError("the budget is spent")
        return await super().__call__(system, user)


def rubrics(tasks: list[Task], model: WillingModel) -> Constructed:
    return asyncio.run(add_rubrics(tasks, {}, model, PARAMS, lambda done, of: None))


def decomposition(tasks: list[Task], model: WillingModel, params: ConstructionParams = PARAMS) -> Constructed:
    origins = {task.task_id: Origin("tasks.jsonl", row) for row, task in enumerate(tasks)}
    return asyncio.run(decompose(tasks, origins, model, params, 0, lambda done, of: None))


def test_a_published_difficulty_is_kept_with_the_rubric(task: Callable[..., Task]) -> None:
    row = {
        "benchmark_name": "Trains", "task_name": "Find a night train and its fares.", "website": "trains.example",
        "task_id": "t-9", "difficulty": 8,
        "evaluator_reference": [{"description": "train", "difficulty": 5}, {"description": "fares", "difficulty": 3}],
    }  # fmt: skip
    (published, counted), _ = parse_rows([row, row | {"task_id": "t-10", "difficulty": None}], "webgym", "rows.jsonl")
    assert (published.difficulty, counted.difficulty) == (8, 8)
    made, _, _ = rubrics([published, counted], WillingModel())
    assert [kept.difficulty for kept in made] == [8, 8]


def test_tasks_without_a_rubric_get_one_and_difficulty_is_its_facts(task: Callable[..., Task]) -> None:
    model = WillingModel()
    known = task("known", rubric=groups(2, 2))
    made, rejections, usd = rubrics(
        [task("a", intent="one two three"), known, task("b", intent="x", difficulty=9)], model
    )
    assert [(one.task_id, one.difficulty) for one in made] == [("a", 3), ("known", 4), ("b", 1)]
    assert made[1].rubric == known.rubric
    assert len(model.asked) == 2, "a rubric that is there is not asked for"
    assert (rejections, usd) == ([], 1.0)


def test_a_task_without_a_usable_rubric_is_rejected_and_its_cost_counts(
    task: Callable[..., Task],
) -> None:
    tasks = [task("a", intent="one"), task("b", intent="something vague")]
    made, (rejection,), usd = asyncio.run(
        add_rubrics(tasks, {"b": Origin("tasks.jsonl", 7, 8)}, ForgetfulModel(), PARAMS, lambda done, of: None)
    )
    assert [one.task_id for one in made] == ["a"]
    assert (rejection.file, rejection.row, rejection.line, rejection.field) == ("tasks.jsonl", 7, 8, "rubric")
    assert rejection.reason.startswith(
        "no usable answer in 2 tries; the last: groups: List should have at least 1 item"
    )
    assert "something vague" in rejection.raw
    assert usd == 1.5, "one answer for a, two for b"


def test_the_papers_rubric_becomes_its_five_tasks_behind_their_parent(task: Callable[..., Task]) -> None:
    tasks = [
        task("first", rubric=groups(1)),
        task("concert", rubric=groups(2, 3, 4)),
        task("last", rubric=groups(2, 2)),
    ]
    made, rejections, usd = decomposition(tasks, WillingModel())
    assert [one.task_id for one in made] == [
        "first", "concert", "concert#2", "concert#3", "concert#1+2", "concert#1+3", "concert#2+3", "last"
    ]  # fmt: skip
    assert [one.difficulty for one in made[2:7]] == [3, 4, 5, 6, 7]
    assert made[4].intent == "Do part 1 and part 2."
    assert {one.decomposed_from for one in made[2:7]} == {"concert"}
    assert (rejections, usd) == ([], 2.5)


def test_only_training_tasks_that_are_not_parts_themselves_are_decomposed(task: Callable[..., Task]) -> None:
    tasks = [
        task("evaluation", rubric=groups(3, 3), split="eval"),
        task("part", rubric=groups(3, 3), decomposed_from="whole"),
    ]
    model = WillingModel()
    assert decomposition(tasks, model).tasks == tasks
    assert model.asked == []


def test_decomposing_decomposed_tasks_adds_nothing(task: Callable[..., Task]) -> None:
    once = decomposition([task("t", rubric=groups(2, 3, 4))], WillingModel()).tasks
    model = WillingModel()
    assert decomposition(once, model).tasks == once
    assert model.asked == []


def test_subsets_that_cannot_be_worded_are_rejected_and_the_others_stay(task: Callable[..., Task]) -> None:
    made, rejections, usd = decomposition([task("x"), task("t", rubric=groups(2, 3, 4))], ForgetfulModel())
    assert [one.task_id for one in made] == ["x", "t", "t#2", "t#3"]
    assert [(one.file, one.row, one.reason.split(":")[0]) for one in rejections] == [
        ("tasks.jsonl", 1, "groups G1+G2"), ("tasks.jsonl", 1, "groups G1+G3"), ("tasks.jsonl", 1, "groups G2+G3")
    ]  # fmt: skip
    assert usd == 0.5 * (2 + 3 * 2)


def test_subsets_with_the_same_words_are_one_task(task: Callable[..., Task]) -> None:
    made, rejections, _ = decomposition([task("t", rubric=groups(2, 3, 4))], RepetitiveModel())
    assert [one.task_id for one in made] == ["t", "t#2"]
    assert len(rejections) == 4
    assert rejections[0].reason == "groups G3: the same words as other groups have"


def test_a_rubric_with_one_id_twice_is_rejected_and_its_task_stays(task: Callable[..., Task]) -> None:
    twice = task("t", rubric=[*groups(3), *groups(3)])
    made, (rejection,), _ = decomposition([twice], WillingModel())
    assert made == [twice]
    assert rejection.reason == "two fact groups have the same id"


def test_no_more_than_max_subtasks_are_requested(task: Callable[..., Task]) -> None:
    model = WillingModel()
    few = PARAMS.model_copy(update={"max_subtasks": 2})
    assert len(decomposition([task("t", rubric=groups(2, 3, 4))], model, few).tasks) == 1 + 2
    assert len(model.asked) == 2


def test_no_more_requests_run_at_once_than_allowed(task: Callable[..., Task]) -> None:
    model = WillingModel()
    rubrics([task(str(i), intent=f"word{i}") for i in range(12)], model)
    assert model.most == 3


def test_a_spent_budget_ends_the_work_with_its_own_error(task: Callable[..., Task]) -> None:
    model = BrokeModel()
    with pytest.raises(RuntimeError, match="the budget is spent"):
        rubrics([task(str(i), intent=f"word{i}") for i in range(12)], model)
    assert len(model.asked) == 2


def test_progress_counts_to_the_number_of_questions(task: Callable[..., Task]) -> None:
    seen: list[tuple[int, int]] = []
    tasks = [task(str(i), intent=f"word{i}") for i in range(4)]
    asyncio.run(add_rubrics(tasks, {}, WillingModel(), PARAMS, lambda done, of: seen.append((done, of))))
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_loader_of_task_files_reads_what_was_written(task: Callable[..., Task], tmp_path: Path) -> None:
    made = decomposition([task("t", intent="a\u2028b", rubric=groups(2, 3, 4))], WillingModel()).tasks
    write_tasks(tmp_path / "built" / "tasks.jsonl", made)
    loaded = load_files([tmp_path / "built" / "tasks.jsonl"])
    assert loaded.rejections == []
    assert loaded.tasks == made
    assert [path.name for path in (tmp_path / "built").iterdir()] == ["tasks.jsonl"]


def test_levels_are_counted(task: Callable[..., Task]) -> None:
    tasks = [task(str(i), difficulty=facts) for i, facts in enumerate([1, 3, 4, 7, None])]
    assert level_counts(tasks) == {"easy": 2, "medium": 1, "hard": 1, "none": 1}


def test_an_unusable_answer_costs_0_unless_given() -> None:
    assert Unusable("why").usd == 0
