"""Decides whether a failed request to an endpoint is sent again, and after how many seconds.

The rules are those of OpenAI's client. Its own retries are not used, because it waits inside its call, and a caller
cannot tell the time of this wait from the time that the endpoint needs to answer.
"""

from __future__ import annotations

import email.utils
import math
import random
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import openai

MAX_ASKED_S = 120.0
"""The longest wait that an endpoint may ask for. If it asks for a longer one, the request has failed."""
FIRST_BACK_OFF_S = 0.5
MAX_BACK_OFF_S = 8.0
JITTER = 0.25
"""The largest share by which a wait is shortened at random, so that requests do not come back together."""
MAY_PASS = (408, 409, 429)
"""Statuses below 500 that may pass: a time limit, a lock, a rate limit."""


def retry_delay(error: openai.OpenAIError, retries: int) -> float | None:
    """Seconds until a failed request is sent again: what the endpoint asks for, or exponential back-off with jitter.
    None if the request has failed for good.

    Args:
        retries: how often the request was sent again before.
    """
    import openai

    if isinstance(error, openai.APIConnectionError):
        return back_off(retries)
    if not isinstance(error, openai.APIStatusError) or is_out_of_credit(error):
        return None
    headers = error.response.headers
    asked_s = _asked_for(headers)
    if asked_s is not None and asked_s > MAX_ASKED_S:
        return None
    advice = headers.get("x-should-retry")
    may_pass = error.status_code in MAY_PASS or error.status_code >= 500
    if advice == "false" or (advice != "true" and not may_pass):
        return None
    return asked_s if asked_s is not None and asked_s > 0 else back_off(retries)


def is_out_of_credit(error: openai.OpenAIError) -> bool:
    """Whether the account has no credit. The status is that of a rate limit, but waiting does not help."""
    import openai

    return isinstance(error, openai.APIError) and error.code == "insufficient_quota"


def back_off(retries: int) -> float:
    """Seconds until the next try if the endpoint asks for none."""
    seconds = min(FIRST_BACK_OFF_S * 2 ** min(retries, 10), MAX_BACK_OFF_S)
    return seconds * (1 - JITTER * random.random())


def _asked_for(headers: Mapping[str, str]) -> float | None:
    """The wait of the header `Retry-After`, a number of seconds or a date, or of `Retry-After-Ms`."""
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) else None
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    return None if date is None else email.utils.mktime_tz(date) - time.time()
