"""Hypothesis strategies for records with any content."""

from __future__ import annotations

from hypothesis import strategies as st

from components.records import (
    BranchPoint,
    Ending,
    ErrorCause,
    FactGroup,
    Image,
    Observation,
    Outcome,
    Reading,
    Record,
    Reward,
    Tab,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
    Verdict,
)

INTS = st.integers(-(2**62), 2**62)
TEXT = st.text(max_size=20)
MAYBE = st.none() | TEXT
FLOATS = st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
JSON_OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
IMAGES = st.binary(max_size=40).map(Image.of)
TASKS = st.builds(
    Task,
    task_id=st.text(min_size=1, max_size=20),
    **dict.fromkeys(("intent", "start_url", "website", "source"), TEXT),
    **dict.fromkeys(("domain", "subdomain", "reference_answer", "decomposed_from"), MAYBE),
    split=st.sampled_from(["train", "eval", "heldout"]),
    difficulty=st.none() | st.integers(0, 99),
    horizon=st.none() | st.integers(1, 99),
    seed=st.none() | INTS,
    rubric=st.lists(st.builds(FactGroup, id=TEXT, description=TEXT, facts=st.lists(TEXT, max_size=2)), max_size=2),
    evaluator=JSON_OBJECT,
)
OBSERVATIONS = st.builds(
    Observation,
    url=TEXT,
    tabs=st.lists(st.builds(Tab, index=INTS, title=TEXT, url=TEXT, active=st.booleans()), max_size=2),
    viewport=st.tuples(INTS, INTS),
    screenshot=IMAGES,
    text=MAYBE,
)
TURNS = st.builds(
    Turn,
    index=INTS,
    observation=OBSERVATIONS,
    prompt_sha256=TEXT,
    prompt_tokens=INTS,
    response=TEXT,
    token_ids=st.lists(st.integers(0, 2**31 - 1), max_size=3),
    logprobs=st.lists(st.floats(width=32, allow_nan=False), max_size=3),  # the policy computes them in float32
    finish_reason=st.sampled_from(["stop", "length"]),
    tool_calls=st.lists(st.builds(ToolCall, name=TEXT, arguments=JSON_OBJECT, error=MAYBE), max_size=2),
    feedback=st.lists(TEXT, max_size=2),
    parse_error=MAYBE,
    timings=st.dictionaries(TEXT, FLOATS, max_size=2),
)
READINGS = st.builds(Reading, text=MAYBE, error=MAYBE, **dict.fromkeys(("url", "locator", "address"), TEXT))
TRAJECTORIES = st.builds(
    Trajectory,
    task=TASKS,
    turns=st.lists(TURNS, max_size=2),
    termination=st.sampled_from(Termination),
    answer=MAYBE,
    site_reward=st.none() | FLOATS,
    late_actions=st.none() | st.integers(0, 9),
    final_screenshot=st.none() | IMAGES,
    ending=st.none() | st.builds(Ending, url=TEXT, readings=st.lists(READINGS, max_size=2)),
    branch_of=st.none() | st.builds(BranchPoint, parent=TEXT, turn=st.integers(1, 99), difference=MAYBE),
    diagnostics=JSON_OBJECT,
    **dict.fromkeys(("trajectory_id", "policy", "protocol"), TEXT),
    **dict.fromkeys(("attempt", "seed"), INTS),
)
VERDICTS = st.builds(
    Verdict,
    error_cause=st.none() | st.sampled_from(ErrorCause),
    outcome=st.sampled_from(Outcome),
    tokens=INTS,
    cost_usd=FLOATS,
    latency_s=FLOATS,
    **dict.fromkeys(("trajectory_id", "rationale", "judge", "judge_version"), TEXT),
)
REWARDS = st.builds(
    Reward,
    trajectory_id=TEXT,
    value=FLOATS,
    masked=st.booleans(),
    format_ok=st.booleans(),
    outcome=st.none() | st.sampled_from(Outcome),
)
RECORDS: dict[type[Record], st.SearchStrategy] = {
    Task: TASKS,
    Trajectory: TRAJECTORIES,
    Verdict: VERDICTS,
    Reward: REWARDS,
}
