"""The tasks of all splits: no instance, which is a template with its facts, is in two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from components.records import Split
from components.worlds import even_counts
from components.worlds.city.instances import WORLD, suitable
from components.worlds.city.params import SEEDS_PER_TASK, CityParams
from components.worlds.city.server_process import CityServer
from components.worlds.city.tasks.template import Template

Modifiers = Sequence[tuple[str, ...]]
PLAIN: Modifiers = ((),)


@dataclass(frozen=True)
class Part:
    """Tasks of one template in one split.

    Attributes:
        modifiers: each task has one of these, in turn by its seed.
    """

    split: Split
    template: Template
    first_seed: int
    count: int
    modifiers: Modifiers


def parts(params: CityParams, trained: Sequence[Template], heldout: Sequence[Template]) -> Iterator[Part]:
    """The parts of training, evaluation and held-out tasks, in this order. Parts of one template share no seed."""
    evaluated, unseen, first = params.eval_per_template, params.heldout_per_template, params.eval_seed_start
    for kind in trained:
        yield Part("train", kind, params.train_seed_start, params.train_per_template, _sometimes(params))
    for kind in trained:
        yield Part("eval", kind, first, evaluated, _sometimes(params))
    for kind in heldout:
        yield Part("heldout", kind, first, unseen, PLAIN)
    for number, name in enumerate(params.heldout_modifiers):
        after = first + SEEDS_PER_TASK * (evaluated + number * unseen)
        for kind in trained:
            yield Part("heldout", kind, after, unseen, [(name,)])


def validation_parts(
    params: CityParams, trained: Sequence[Template], heldout: Sequence[Template], tasks: int, heldout_tasks: int
) -> Iterator[Part]:
    """The parts of the tasks that RL validates with."""
    first = params.validation_seed_start
    counts = even_counts([kind.name for kind in trained], tasks)
    for kind in trained:
        yield Part("validation", kind, first, counts[kind.name], _sometimes(params))
    counts = even_counts([kind.name for kind in heldout], heldout_tasks)
    for kind in heldout:
        yield Part("heldout_validation", kind, first, counts[kind.name], PLAIN)


def draw(server: CityServer, part: Part, taken: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """The task rows of a part, and a row with `error` for each task that its seeds do not give.

    Args:
        taken: keys of the instances of earlier parts, which are left out here; those of this part are added. Training
            tasks, which come first, are those of the first suitable seeds: two may have the same facts.
    """
    seeds = range(part.first_seed, part.first_seed + SEEDS_PER_TASK * part.count)
    count = 0
    for instance in suitable(server, part.template, seeds, part.modifiers) if part.count else ():
        if part.split != "train" and instance.key in taken:
            continue
        taken.add(instance.key)
        yield instance.row(part.split)
        count += 1
        if count == part.count:
            return
    name = part.template.name
    reason = (
        f"{name} has {count} of {part.count} instances for {part.split} that no earlier task has, "
        f"in {len(seeds)} seeds: ask for fewer tasks per template"
    )
    for number in range(count, part.count):
        yield {"task_id": f"{WORLD}/{name}/{part.split}-{number}", "website": f"{WORLD}/{name}", "error": reason}


def _sometimes(params: CityParams) -> Modifiers:
    return [(), *((name,) for name in params.modifiers)]
