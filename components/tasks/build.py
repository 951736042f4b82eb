"""Builds task files from task files (WebGym, section 3).

The commands are `waymark tasks propose | decompose | split | build | paraphrase`: `propose` adds rubrics to tasks that
have none, `decompose` adds the smaller tasks that rubrics contain, `split` draws a test set of websites that are never
trained on, `build` does all three, and `paraphrase` adds the tasks in other words. The result is JSONL in this
project's own schema, which `tasks.files` of a recipe reads. Rejected tasks go to `rejected.csv` beside it, and
`built.json` records the model, the seed, the cost and the counts.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from components.endpoint import ANSWERS, Endpoint, RequestRefused
from components.params import ConstructionParams, Params
from components.records import Rejection, Task
from components.store import digest, state_dir, write_json
from components.tasks.construction import (
    Advance,
    Origins,
    add_rubrics,
    decompose,
    level_counts,
    paraphrase,
    write_tasks,
)
from components.tasks.proposal import Answer, Ask, Unusable
from components.tasks.rejections import require_few_rejected, write_rejections_csv
from components.tasks.sources import load_files
from components.tasks.split import split_by_website

Step = Literal["propose", "decompose", "split", "build", "paraphrase"]
ShowProgress = Callable[[str], AbstractContextManager[Advance]]
"""Opens a progress display under a title; the value is called with the number of answers and their total."""


class BuiltTasks(NamedTuple):
    """The task files that were written, with their tasks, and what was rejected.

    `usd` is the price of the model's answers in US dollars, None if no model was asked.
    """

    files: dict[Path, list[Task]]
    rejected: int
    rejections_file: Path
    usd: float | None


async def build_tasks(
    step: Step,
    files: Sequence[Path],
    out: Path,
    recipe: Params,
    test_websites: int,
    split: Literal["train", "eval"] | None,
    show_progress: ShowProgress,
) -> BuiltTasks:
    """Run one step and write its files to `out`.

    Args:
        files: task files of any schema that `load_files` reads.
        recipe: has the section `construction`, unless the step is `split`.
        test_websites: the number of websites of the test set that `split` and `build` draw.
        split: replaces the split of all tasks; None keeps what their schema says.

    Raises:
        ValueError: a file is missing or would be replaced, or the split is impossible; all of these are checked before
            the model is asked. The split becomes impossible later if the model leaves too few websites with a task;
            a run with fewer `test_websites` then asks nothing again.
        TooManyRejected: more rows than `quality.max_rejected` allows; `rejected.csv` is written.
        EndpointError: the model cannot be used, or its budget is spent; earlier answers are kept.
    """
    loaded = load_files(files)
    if loaded.missing:
        raise ValueError(f"{', '.join(loaded.missing)}: no such file")
    names = ("train", "test") if step in ("split", "build") else ("tasks",)
    for file in files:
        if file.resolve() in [(out / f"{name}.jsonl").resolve() for name in names]:
            raise ValueError(f"{file} would be replaced by the new tasks: name another folder with --out")
    tasks, rejections = loaded.tasks, loaded.rejections
    if split is not None:
        tasks = [task.model_copy(update={"split": split}) for task in tasks]
    record: dict[str, Any] = {"step": step, "files": {str(file): digest(file) for file in files}, "seed": recipe.seed}
    if step == "build":
        split_by_website(tasks, test_websites, recipe.seed)  # raises before the model costs anything
    usd = None
    if step != "split":
        construction = recipe.construction
        assert construction is not None
        builder = _Builder(files, recipe, construction, loaded.origins, show_progress)
        tasks, refused, usd = await builder.run(step, tasks)
        rejections = [*rejections, *refused]
        record |= {"model": construction.endpoint.model, "usd": round(usd, 6)}
    rejections_file = out / "rejected.csv"
    write_rejections_csv(rejections_file, rejections)
    require_few_rejected(rejections, len(tasks) + len(rejections), recipe.quality.max_rejected, rejections_file)

    if step in ("split", "build"):
        parts = split_by_website(tasks, test_websites, recipe.seed)
        sets = {"train": parts.train, "test": parts.test}
        record["funnel"] = parts.funnel.rows()
    else:
        sets = {"tasks": tasks}
    for name, members in sets.items():
        _keep_former(out / f"{name}.jsonl", members)
        write_tasks(out / f"{name}.jsonl", members)
    record |= {"rejected": len(rejections), **{name: task_counts(members) for name, members in sets.items()}}
    write_json(out / "built.json", record)
    return BuiltTasks(
        {out / f"{name}.jsonl": tasks for name, tasks in sets.items()}, len(rejections), rejections_file, usd
    )


def _keep_former(path: Path, tasks: Sequence[Task]) -> None:
    """Rename a file with other tasks, which a person may have corrected: `tasks.jsonl` becomes `tasks.jsonl.bak`."""
    written = "".join(f"{task.model_dump_json()}\n" for task in tasks)
    if path.exists() and path.read_text(encoding="utf-8") != written:
        path.replace(path.with_name(f"{path.name}.bak"))
        print(f"{path} had other tasks, which are in {path.name}.bak now", file=sys.stderr)


def task_counts(tasks: Sequence[Task]) -> dict[str, int]:
    """Numbers of tasks, decomposed tasks, websites, and tasks per level of difficulty."""
    return {
        "tasks": len(tasks),
        "decomposed": sum(task.decomposed_from is not None for task in tasks),
        "websites": len({task.website for task in tasks}),
        **level_counts(tasks),
    }


class _Builder:
    """Asks the recipe's model. Answers that were paid for before are reused; the budget applies to one set of files."""

    def __init__(
        self,
        files: Sequence[Path],
        recipe: Params,
        construction: ConstructionParams,
        origins: Origins,
        show_progress: ShowProgress,
    ) -> None:
        self.files = files
        self.seed = recipe.seed
        self.construction = construction
        self.origins = origins
        self.show_progress = show_progress

    async def run(self, step: Step, tasks: list[Task]) -> tuple[list[Task], list[Rejection], float]:
        """The tasks after the step, what was rejected, and the price in US dollars."""
        rejections: list[Rejection] = []
        usd = 0.0
        async with self._model() as ask:
            if step in ("propose", "build"):
                with self.show_progress("rubrics") as advance:
                    tasks, refused, cost = await add_rubrics(tasks, self.origins, ask, self.construction, advance)
                rejections, usd = [*rejections, *refused], usd + cost
            if step in ("decompose", "build"):
                with self.show_progress("smaller tasks") as advance:
                    tasks, refused, cost = await decompose(
                        tasks, self.origins, ask, self.construction, self.seed, advance
                    )
                rejections, usd = [*rejections, *refused], usd + cost
            if step == "paraphrase":
                with self.show_progress("other wordings") as advance:
                    tasks, rejections, usd = await paraphrase(tasks, self.origins, ask, self.construction, advance)
        return tasks, rejections, usd

    @contextlib.asynccontextmanager
    async def _model(self) -> AsyncIterator[Ask]:
        ledger = state_dir("construction", digest(*self.files, self.seed)) / "spent.json"
        async with Endpoint(self.construction.endpoint, ledger=ledger, answers=ANSWERS) as endpoint:

            async def ask(system: str, user: str) -> Answer:
                messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
                try:
                    answer = await endpoint.ask(
                        messages,
                        max_tokens=self.construction.max_response_tokens,
                        temperature=self.construction.temperature,
                        seed=self.seed,
                    )
                except RequestRefused as error:
                    raise Unusable(str(error)) from error
                return Answer(answer.text, answer.usd)

            yield ask
