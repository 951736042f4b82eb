"""Tokens of texts are kept within a bound, whatever the length of the texts."""

from components.model import Encoder, encoding
from tests.vlm import random_vlm


def test_kept_tokens_are_bounded_and_the_same(monkeypatch):
    monkeypatch.setattr(encoding, "KEPT_TOKENS", 200)
    small, calls = Encoder(random_vlm()), []
    tokenizer = small.tokenizer

    def counted(text, **options):
        calls.append(text)
        return tokenizer(text, **options)

    small.tokenizer = counted
    texts = [f'- button "ok" {number} 5\n' * 5 for number in range(50)]
    first = [small.tokens(text) for text in texts]
    assert small.tokens(texts[-1]) == first[-1]
    assert calls == texts, "the last text was kept"
    assert small.tokens(texts[0]) == first[0]
    assert calls[50:] == texts[:1], "the first one was not"
    assert small.tokens(long := "ok " * 1000) == tokenizer(long, add_special_tokens=False)["input_ids"]
