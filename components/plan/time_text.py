"""The time and the cost of a run as text for the terminal, and as plain values for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from components.plan.rollout_time import Tokens
from components.plan.setting import RESOURCES
from components.plan.stages import IterationTime, StageTime
from components.plan.time_plan import TimePlan


def time_lines(plan: TimePlan) -> list[str]:
    """The tables of stages and of RL iterations, the cost, and the assumptions."""
    lines = [f"Time and cost: {_wall(plan)}, {_dollars(plan.cost.usd)}{_doubt(plan)}", ""]
    lines += _stage_lines(plan)
    for iteration in plan.iterations:
        lines += ["", *_iteration_lines(iteration)]
    if plan.changes:
        changes = ", ".join(f"{name} {change - 1:+.0%}" for name, change in sorted(plan.changes.items(), key=_by_gain))
        bottleneck = plan.bottleneck or "none: the rest of the iteration waits for no resource"
        lines += ["", f"With twice as many, an iteration takes: {changes}", f"Bottleneck: {bottleneck}"]
    lines += [
        "",
        *_cost_lines(plan),
        *_checkpoint_lines(plan),
        "",
        "Assumptions of time and cost",
        *(f"  - {line}" for line in plan.assumptions),
    ]
    return [line.replace("-", "−") if line.startswith("With twice") else line for line in lines]


def time_values(plan: TimePlan) -> dict[str, Any]:
    """The same as plain values; times are in seconds, utilisation is a share of 1."""
    return {
        "seconds": plan.seconds,
        "stage_seconds": plan.stage_seconds,
        "side_by_side": plan.side_by_side,
        "stages": [
            {
                "stage": stage.stage,
                "seconds": stage.seconds,
                "parts": stage.parts,
                "utilisation": stage.utilisation,
                "units": stage.units,
                "tokens": asdict(stage.timed.tokens),
            }
            for stage in plan.stages
        ],
        "iterations": [
            {
                "phase": iteration.phase,
                "seconds": iteration.seconds,
                "parts": {name: timed.usage.seconds for name, timed in iteration.parts.items()},
                "utilisation": iteration.utilisation,
                "groups": iteration.rolled.groups,
                "effective_groups": iteration.rolled.effective,
                "trajectories": iteration.rolled.trajectories,
                "waves": iteration.rolled.waves,
            }
            for iteration in plan.iterations
        ],
        "twice_as_many": plan.changes,
        "bottleneck": plan.bottleneck,
        "tokens": asdict(plan.tokens),
        "cost": {**asdict(plan.cost), "usd": plan.cost.usd},
        "prices": asdict(plan.prices),
        "checkpoints": {
            "bytes": sum(written.bytes for written in plan.checkpoints),
            "phases": [asdict(written) | {"bytes": written.bytes} for written in plan.checkpoints],
        },
        "assumptions": list(plan.assumptions),
    }


def duration(seconds: float) -> str:
    """Seconds in two units at most, such as `2 h 5 min` or `1.5 s`."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600:,} h {whole % 3600 // 60} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{seconds:.1f} s"


def _wall(plan: TimePlan) -> str:
    if plan.side_by_side == 1:
        return duration(plan.seconds)
    return (
        f"{duration(plan.seconds)} with {plan.side_by_side} stages at a time, {duration(plan.stage_seconds)} of stages"
    )


def _doubt(plan: TimePlan) -> str:
    return "" if plan.is_calibrated else " (no rate was measured: expect to be wrong by a factor of 2 to 4)"


def _stage_lines(plan: TimePlan) -> list[str]:
    """A row per stage: its time, its share of the run, its busiest resources and its largest parts."""
    width = max(len(stage.stage) for stage in plan.stages)
    lines = [f"  {'stage':<{width}}  {'time':>12}  {'share':>5}  {'utilisation':<43}  parts"]
    for stage in plan.stages:
        share = stage.seconds / plan.stage_seconds if plan.stage_seconds else 0.0
        lines.append(
            f"  {stage.stage:<{width}}  {duration(stage.seconds):>12}  {share:>5.0%}  {_utilisation(stage, 3):<43}  "
            f"{_parts(stage.parts, 3)}"
        )
    return lines


def _iteration_lines(iteration: IterationTime) -> list[str]:
    rolled = iteration.rolled
    parts = {name: timed.usage.seconds for name, timed in iteration.parts.items()}
    waves = f"{rolled.waves} batch{'es' if rolled.waves != 1 else ''} of episodes" if rolled.waves else "a stream"
    return [
        f"RL iteration, {iteration.phase}: {duration(iteration.seconds)}",
        f"  {rolled.trajectories:,} trajectories in {rolled.groups} groups, {rolled.effective} of them effective, in "
        f"{waves}; {rolled.turns:.1f} turns each",
        f"  {_parts(parts, len(parts))}",
        f"  utilisation: {_utilisation(iteration, len(RESOURCES))}",
    ]


def _utilisation(timed: StageTime | IterationTime, most: int) -> str:
    shares = sorted(timed.utilisation.items(), key=lambda item: -item[1])[:most]
    return ", ".join(f"{name} {share:.0%}" for name, share in shares) or "–"


def _parts(parts: dict[str, float], most: int) -> str:
    largest = sorted(parts.items(), key=lambda item: -item[1])[:most]
    return ", ".join(f"{name} {duration(seconds)}" for name, seconds in largest if seconds)


def _by_gain(change: tuple[str, float]) -> float:
    return change[1]


def _cost_lines(plan: TimePlan) -> list[str]:
    cost, tokens = plan.cost, plan.tokens
    devices = f"{cost.device_hours:,.1f} device hours {_dollars(cost.device_usd)}, " if cost.device_hours else ""
    return [
        f"Tokens: {_token_text(tokens)}",
        f"Cost: {devices}{cost.browser_hours:,.1f} browser hours {_dollars(cost.browser_usd)}, endpoints "
        f"{_dollars(cost.endpoint_usd)}",
    ]


def _checkpoint_lines(plan: TimePlan) -> list[str]:
    """What checkpoints write over the run, in 10^9 bytes; none without RL."""
    if not plan.checkpoints:
        return []
    phases = ", ".join(
        f"{written.phase} {_gigabytes(written.bytes)} ({written.number} of {_gigabytes(written.each)})"
        for written in plan.checkpoints
    )
    total = sum(written.bytes for written in plan.checkpoints)
    return [f"Checkpoints write {_gigabytes(total)}: {phases}"]


def _gigabytes(size: float) -> str:
    gigabytes = size / 1e9
    return f"{gigabytes:,.0f} GB" if gigabytes >= 100 else f"{gigabytes:.3g} GB"


def _token_text(tokens: Tokens) -> str:
    judge = f"; {tokens.judge_calls:,.0f} judge calls with {_count(tokens.judge_prompt)} prompt and "
    judge += f"{_count(tokens.judge_response)} response tokens"
    text = (
        f"{_count(tokens.prompt)} in prompts, {_count(tokens.response)} in responses, {_count(tokens.trained)} trained"
    )
    return text + (judge if tokens.judge_calls else "; no judge calls")


def _count(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"


def _dollars(usd: float) -> str:
    return f"${usd:,.2f}" if 0 < usd < 100 else f"${usd:,.0f}"
