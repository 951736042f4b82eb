"""How an episode ended, in a sentence and as the exit status of `waymark run`."""

from __future__ import annotations

from components.records import Termination

MODEL, LIMIT, AGENT, ENVIRONMENT, STOPPED = 1, 3, 4, 5, 130
"""Exit statuses besides 0 (`done`) and 2 (wrong arguments). 1 also means that the run could not begin."""

_STATUS = {
    Termination.DONE: 0,
    Termination.MAX_STEPS: LIMIT,
    Termination.TASK_TIMEOUT: LIMIT,
    Termination.RESPONSE_LENGTH: AGENT,
    Termination.CONTEXT_LENGTH: AGENT,
    Termination.FORMAT_ERROR: AGENT,
    Termination.INFERENCE_TIMEOUT: AGENT,
    Termination.REQUEST_REFUSED: MODEL,
    Termination.ABORTED: STOPPED,
}

_SENTENCES = {
    Termination.DONE: "The agent called done.",
    Termination.MAX_STEPS: "The step limit is reached; --max-steps raises it.",
    Termination.TASK_TIMEOUT: "The time limit is reached; --minutes raises it.",
    Termination.RESPONSE_LENGTH: "A response reached agent.max_response_tokens and could not be used.",
    Termination.CONTEXT_LENGTH: "The next prompt does not fit into agent.max_context_tokens.",
    Termination.FORMAT_ERROR: "Too many responses in a row could not be read; does the model know this protocol?",
    Termination.INFERENCE_TIMEOUT: "The model did not answer within evaluation.inference_timeout_s.",
    Termination.REQUEST_REFUSED: "The model's endpoint refused the request; the trajectory has its reason.",
    Termination.ENV_ERROR: "The page stopped answering.",
    Termination.ENV_INIT_ERROR: "The first page could not be opened.",
    Termination.BLOCKED: "The site answered with a block page or a CAPTCHA.",
    Termination.SANDBOX_ERROR: "The browser died.",
    Termination.ABORTED: "The run was stopped.",
}


def exit_status(termination: Termination) -> int:
    """The exit status: 0 done, 1 the model, 3 a limit, 4 the agent, 5 the page or the browser, 130 stopped by the
    person."""
    return _STATUS.get(termination, ENVIRONMENT)


def sentence(termination: Termination) -> str:
    """What a termination means for the person who watches."""
    return _SENTENCES.get(termination, "The harness failed; the trajectory has the traceback.")
