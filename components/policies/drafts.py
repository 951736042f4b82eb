"""Draft tokens for speculative decoding, from the responses so far."""

from __future__ import annotations

from collections.abc import Sequence


class NgramDrafts:
    """Predicts the next tokens of a response: what followed the same `ORDER` tokens the last two times.

    There is no draft where the form of a call ends and a name or a number begins, because reading a wrong draft costs
    as much as reading a right one.
    """

    ORDER = 3
    MAX_CONTEXTS = 200_000
    """Contexts that are stored, about 50 MB, before all are deleted."""

    def __init__(self) -> None:
        self._next: dict[tuple[int, ...], tuple[int, bool]] = {}
        """The token that followed a context the last time, and whether it also did the time before."""

    def learn(self, ids: Sequence[int]) -> None:
        """Add a response."""
        if len(self._next) > self.MAX_CONTEXTS:
            self._next.clear()
        for index, token in enumerate(ids):
            context = tuple(ids[max(0, index - self.ORDER) : index])
            self._next[context] = (token, self._next.get(context, (None,))[0] == token)

    def draft(self, ids: Sequence[int], count: int) -> list[int]:
        """At most `count` tokens that may follow `ids`, the beginning of a response."""
        context = tuple(ids[-self.ORDER :])
        tokens: list[int] = []
        while len(tokens) < count:
            token, is_sure = self._next.get(context, (0, False))
            if not is_sure:
                break
            tokens.append(token)
            context = (*context, token)[-self.ORDER :]
        return tokens
