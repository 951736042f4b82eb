"""An episode with another answer, wherever a judge may read it: in the record, in the call of `done`, in its feedback
and in the response that made the call."""

from __future__ import annotations

import json

from components.records import Termination, ToolCall, Trajectory, Turn

DONE = "done"
DONE_FEEDBACK = "Succeed: task marked as done"


def with_answer(trajectory: Trajectory, answer: str) -> Trajectory:
    """The episode with another answer, after `done`. An episode that ended otherwise gets the call."""
    turns = list(trajectory.turns)
    if turns:
        turns[-1] = _answering(turns[-1], trajectory.answer or "", answer)
        if trajectory.termination is not Termination.DONE:
            turns[-1] = _ended(turns[-1], answer)
    return trajectory.model_copy(update={"turns": turns, "answer": answer, "termination": Termination.DONE})


def _answering(turn: Turn, before: str, answer: str) -> Turn:
    """The turn in which the agent called `done`, with another answer; a turn without the call as it is."""
    calls = [_done(answer) if call.name == DONE else call for call in turn.tool_calls]
    if calls == turn.tool_calls:
        return turn
    feedback = [_feedback(answer) if line.startswith(DONE_FEEDBACK) else line for line in turn.feedback]
    response = _replaced(turn.response, before, answer)
    return turn.model_copy(update={"tool_calls": calls, "feedback": feedback, "response": response})


def _ended(turn: Turn, answer: str) -> Turn:
    calls, feedback = [*turn.tool_calls, _done(answer)], [*turn.feedback, _feedback(answer)]
    return turn.model_copy(update={"tool_calls": calls, "feedback": feedback})


def _done(answer: str) -> ToolCall:
    return ToolCall(name=DONE, arguments={"answer": answer} if answer else {})


def _feedback(answer: str) -> str:
    """As the browser says it (`browser.feedback`)."""
    return f"{DONE_FEEDBACK}. Response: {' '.join(answer.split())}"


def _replaced(response: str, before: str, answer: str) -> str:
    """The response with another answer in the last place where the former one stands, as JSON or as it is."""
    for form, text in ((_escaped(before), _escaped(answer)), (before, answer)):
        head, match, tail = response.rpartition(form)
        if form and match:
            return head + text + tail
    return response


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
