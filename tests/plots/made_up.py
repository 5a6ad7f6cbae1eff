"""Attention and outputs made up for figures, so that no model is needed to draw one."""

import numpy as np

from models.outputs import Attention, LoadedCheckpoint, QuestionAnsweringOutput, Token

CHECKPOINT = LoadedCheckpoint("clearhead-qa", "0123456789ab", "Apache-2.0")


def tokens_of(text: str) -> tuple[Token, ...]:
    """A token for each word between spaces; those in square brackets are special."""
    return tuple(Token(word, word, index, special=word[:1] == "[") for index, word in enumerate(text.split(" ")))


def attention_over(
    tokens: tuple[Token, ...], *, causal: bool = False, layers: int = 2, heads: int = 3, seed: int = 0
) -> Attention:
    """Random rows that sum to one, and nothing above the diagonal of causal attention."""
    length = len(tokens)
    weights = np.random.default_rng(seed).random((layers, heads, length, length), dtype=np.float32)
    masked = np.triu(np.ones((length, length), dtype=bool), k=1) if causal else np.zeros((length, length), dtype=bool)
    weights = np.where(masked, 0, weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return Attention("decoder" if causal else "encoder", weights.astype(np.float32), tokens, tokens, masked)


def answer_over(text: str, starts: list[float], ends: list[float]) -> QuestionAnsweringOutput:
    """An output with these start and end probabilities."""
    return QuestionAnsweringOutput(CHECKPOINT, tokens_of(text), (), 0.5, tuple(starts), tuple(ends), 1)
