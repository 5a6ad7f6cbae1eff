"""Attention stays in memory as long as there is room for it."""

import numpy as np

from demo.attention import AttentionCache, AttentionSource
from models.outputs import Attention, Attentions, Token
from models.tasks import Task


def source(text: str) -> AttentionSource:
    return AttentionSource(Task.SENTIMENT, "a-checkpoint", (("text", text),), ())


def attentions(length: int) -> Attentions:
    """One layer and head over `length` tokens: 4 x length x length bytes."""
    tokens = tuple(Token("a", "a", 1) for _ in range(length))
    weights = np.full((1, 1, length, length), 1 / length, dtype=np.float32)
    return {"encoder": Attention("encoder", weights, tokens, tokens, np.zeros((length, length), dtype=bool))}


def test_the_least_recently_used_goes_when_the_bytes_run_out() -> None:
    cache = AttentionCache(max_bytes=2 * 4 * 10 * 10)
    held = {name: attentions(10) for name in "abc"}
    cache.put(source("a"), held["a"])
    cache.put(source("b"), held["b"])
    assert cache.get(source("a")) is held["a"]
    cache.put(source("c"), held["c"])
    assert cache.get(source("b")) is None
    assert cache.get(source("a")) is held["a"]
    assert cache.get(source("c")) is held["c"]


def test_attention_larger_than_the_cache_pushes_nothing_out() -> None:
    cache = AttentionCache(max_bytes=4 * 10 * 10)
    small = attentions(10)
    cache.put(source("small"), small)
    cache.put(source("large"), attentions(11))
    assert cache.get(source("large")) is None
    assert cache.get(source("small")) is small


def test_the_same_source_counts_once() -> None:
    cache = AttentionCache(max_bytes=2 * 4 * 10 * 10)
    first = attentions(10)
    for _ in range(5):
        cache.put(source("a"), first)
    cache.put(source("b"), attentions(10))
    assert cache.get(source("a")) is first
