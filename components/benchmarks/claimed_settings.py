"""Whether a result was measured as a reproduction pins it: harness, decoding, step budget and judge.

A setting that a result does not record, as those of earlier versions do not, counts as another one: what was measured
is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from components.benchmarks.results import BenchmarkResult
from components.benchmarks.spec import Benchmark
from components.params import OPENWEBRL_KEYS, ObservationParams
from components.records import Record

BY_LAST_NAME = (
    "agent.protocol",
    "agent.prompt",
    "agent.max_context_tokens",
    "browser.viewport",
    "browser.scroll_bars",
    "model.think_prefix",
)
"""Keys of the harness that the settings of a result have under their last names."""
RECORDED_KEYS = (
    *BY_LAST_NAME,
    *(f"agent.{key}" for key in OPENWEBRL_KEYS),
    *(f"observation.{key}" for key in ObservationParams.model_fields),
)
"""Keys of a recipe whose values a result records."""


class Deviation(Record):
    """In what a result was measured otherwise than it is claimed.

    `status` is `of another …` if a setting differs, and `of an unrecorded …` if the result does not say whether one
    does. `problem` names the settings.
    """

    status: str
    problem: str


def deviation(result: BenchmarkResult, benchmark: Benchmark, harness: Mapping[str, Any]) -> Deviation | None:
    """In what a result deviates from the benchmark and the pinned harness; None if in nothing."""
    settings = result.settings
    judge = {"judge": benchmark.judge} | _claimed_judge_model(benchmark, settings)
    decoding = _dotted("sampling", benchmark.decoding["official"].model_dump()) | {"max_steps": benchmark.max_steps}
    parts = [
        ("harness", harness, _recorded_harness(settings)),
        ("decoding or step budget", decoding, _dotted("sampling", settings.get("sampling")) | settings),
        ("judge", judge, settings | {"judge": result.judge}),
    ]
    different = {name: [*_different(claimed, recorded)] for name, claimed, recorded in parts}
    unrecorded = {name: [key for key in claimed if key not in recorded] for name, claimed, recorded in parts}
    for kind, settings_by_part in (("another", different), ("an unrecorded", unrecorded)):
        for name, deviating in settings_by_part.items():
            if deviating:
                return Deviation(status=f"of {kind} {name}", problem=_problem(different, unrecorded))
    return None


def _claimed_judge_model(benchmark: Benchmark, settings: Mapping[str, Any]) -> dict[str, str]:
    """The model that a result must name. Rules ask one about few tasks, and without one leave these undecided."""
    is_without_model = benchmark.judge == "rules" and settings.get("judge_model", "unrecorded") is None
    return {} if benchmark.judge_model is None or is_without_model else {"judge_model": benchmark.judge_model}


def _different(claimed: Mapping[str, Any], recorded: Mapping[str, Any]) -> Iterable[str]:
    for key, value in claimed.items():
        if key in recorded and recorded[key] != value:
            yield f"{key} is {recorded[key]!r} and not {value!r}"


def _problem(different: Mapping[str, list[str]], unrecorded: Mapping[str, list[str]]) -> str:
    texts = [text for part in different.values() for text in part]
    keys = [key for part in unrecorded.values() for key in part]
    if keys:
        texts.append(f"not recorded: {', '.join(keys)}")
    return "; ".join(texts)


def _recorded_harness(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The harness that a result records, by keys of the recipe."""
    last_names = {key: key.rpartition(".")[2] for key in BY_LAST_NAME}
    return {
        **{key: settings[name] for key, name in last_names.items() if name in settings},
        **_dotted("agent", settings.get("context")),
        **_dotted("observation", settings.get("observation")),
    }


def _dotted(section: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {f"{section}.{key}": value for key, value in (values or {}).items()}
