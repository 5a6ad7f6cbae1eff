"""Choose what the attention reader shows first: the token that matters for the answer, and the most telling head."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.outputs.attention import Attention
from models.outputs.base import TaskOutput
from models.outputs.encoders import FillMaskOutput, NamesOutput, QuestionAnsweringOutput
from models.outputs.surprise import SurpriseOutput, WrittenByOutput
from models.outputs.vectors import TeachOutput, WordInContextOutput
from models.outputs.writing import CompletionOutput, TranslationOutput
from models.text.words import ENGLISH, TRANSLATED_INTO, is_content_word, word_rows, word_text, words_of

# A head looks next door if more than this share of its weight goes to the previous, the next or the same token.
_LOOKS_NEXT_DOOR = 0.5


@dataclass(frozen=True)
class Opening:
    """The query token, the layer and head, and the first token of the word that it looks at (`key`), all from 0."""

    query: int
    layer: int
    head: int
    key: int


def opening(output: TaskOutput, attention: Attention) -> Opening:
    """The token that matters for `output`, and the head in which its word gives most weight to one content word.

    Heads that mostly look at the previous, the next or the same token are left out, since they do so whatever the text
    says. So are the word itself, marks, function words, and the first token of a text without marks, where idle heads
    rest as on [CLS]. If no word is left to look at, it is the head with the greatest weight on any word.
    """
    query = _token_that_matters(output, attention)
    word = next(places for places in words_of(attention.query_tokens) if query in places)
    keys, rows = word_rows(attention, word)
    telling = [_is_telling(attention, places, word) for places in keys]
    if not any(telling):
        telling = [True] * len(keys)
    greatest = rows[:, :, telling].max(axis=-1)
    chosen = np.where(_looks_next_door(attention), -1.0, greatest)
    layer, head = divmod(int(chosen.argmax()), attention.heads)
    seen = int(np.where(telling, rows[layer, head], -1.0).argmax())
    return Opening(query, layer, head, keys[seen][0])


def _token_that_matters(output: TaskOutput, attention: Attention) -> int:
    """The index, among the queries of `attention`, of the token that the answer depends on.

    By task, it is the first blank, the first token of the answer, that of the first name or likeliest name, the word
    that several sentences share, the first content word of a translation or of a text that a classifier taught with
    examples or the detector judges, the last word of a completion, the most surprising token, and otherwise the start
    token.
    """
    queries = attention.query_tokens
    # With no function words, this asks only for a letter or digit in the first token.
    begun = [(queries[places[0]], places) for places in words_of(queries)]
    words = [places for token, places in begun if not token.special and is_content_word(token.text, frozenset())]
    match output:
        case FillMaskOutput():
            found = [place for place, token in enumerate(queries) if token.is_blank]
        case QuestionAnsweringOutput() if output.answered:
            start = output.answers[0].start
            found = [place for place, token in enumerate(queries) if token.start <= start < token.end]
        case NamesOutput():
            start = output.decisive.token.start
            found = [place for place, token in enumerate(queries) if token.start == start]
        case WordInContextOutput():
            start, end = output.occurrences[0].start, output.occurrences[0].end
            found = [place for place, token in enumerate(queries) if token.start < end and start < token.end]
        case SurpriseOutput():
            counted = [each for each in output.text.tokens if each.token in queries]
            most = max(counted, key=lambda each: each.bits, default=None)
            found = [queries.index(most.token)] if most else []
        case TranslationOutput():
            small = ENGLISH if attention.kind == "encoder" else TRANSLATED_INTO
            found = [word[0] for word in words if is_content_word(word_text(queries, word), small)]
        case TeachOutput() | WrittenByOutput():
            found = [word[0] for word in words if is_content_word(word_text(queries, word))]
        case CompletionOutput():
            found = [word[0] for word in reversed(words)]
        case _:
            found = []
    return found[0] if found else 0


def _is_telling(attention: Attention, places: tuple[int, ...], word: tuple[int, ...]) -> bool:
    """Whether attention from `word` to the word at `places` says something about the text."""
    first = attention.key_tokens[places[0]]
    itself = attention.within_one_text and places == word
    rests = attention.kind == "decoder" and places[0] == 0
    return not (itself or rests or first.special) and is_content_word(word_text(attention.key_tokens, places))


def _looks_next_door(attention: Attention) -> NDArray[np.bool_]:
    """Whether most weight of a head goes to the previous, the next or the same token, `[layer, head]`."""
    if not attention.within_one_text:
        return np.zeros(attention.weights.shape[:2], dtype=np.bool_)
    shares = [
        np.diagonal(attention.weights, offset, axis1=2, axis2=3).sum(axis=-1) / len(attention.query_tokens)
        for offset in (-1, 0, 1)
    ]
    return np.asarray(np.max(shares, axis=0) > _LOOKS_NEXT_DOOR)
