"""Where a reader of attention opens: the token that matters for the answer, and the head that says most about it."""

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

# A head that gives more than half of its weight to the token before, after or itself, wherever it looks from.
_LOOKS_NEXT_DOOR = 0.5


@dataclass(frozen=True)
class Opening:
    """A query token's place, the layer and head to show it in, all from 0, and where the word it looks at begins."""

    query: int
    layer: int
    head: int
    key: int


def opening(output: TaskOutput, attention: Attention) -> Opening:
    """The token that matters for `output`, and the head that gives most of its weight to one content word.

    Heads that look next door from everywhere are left aside, for they do so whatever the text says. So are the word
    itself, marks, function words, and the first token of a text without marks, where idle heads rest as on [CLS]. Where
    no word is left to look at, it is the head with the greatest weight on any token.
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
    """The place among the queries of `attention` of the token that the answer hangs on.

    It is the first blank, the first token of the answer or of the first name that was found, the word that several
    sentences share, the start token that a classifier judges by, the first content word of a translation or of a text
    to judge with what was taught, the last word that was written of a completion, and the most surprising token of a
    text that was measured.
    """
    queries = attention.query_tokens
    # The words whose first token has a letter or digit.
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
    """Whether it says something about the text that `word` looks at the word at `places`."""
    first = attention.key_tokens[places[0]]
    itself = attention.within_one_text and places == word
    rests = attention.kind == "decoder" and places[0] == 0
    return not (itself or rests or first.special) and is_content_word(word_text(attention.key_tokens, places))


def _looks_next_door(attention: Attention) -> NDArray[np.bool_]:
    """Bool `[layer, head]`: whether most weight of a head goes to the token before, the one after, or the same."""
    if not attention.within_one_text:
        return np.zeros(attention.weights.shape[:2], dtype=np.bool_)
    shares = [
        np.diagonal(attention.weights, offset, axis1=2, axis2=3).sum(axis=-1) / len(attention.query_tokens)
        for offset in (-1, 0, 1)
    ]
    return np.asarray(np.max(shares, axis=0) > _LOOKS_NEXT_DOOR)
