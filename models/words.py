"""From pieces to words: attention over tokens as attention over the words they spell."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from models.outputs import Token

_CONTINUES = "##"
_ENDS = "</w>"


def _continuation_rule(tokens: Sequence[Token]) -> Callable[[Token, Token], bool]:
    """Whether a token belongs to the word before it, by the convention that these tokens are spelled in.

    WordPiece marks what continues a word, the first GPT what ends one, and the others begin one with a space.
    """
    if any(token.piece.endswith(_ENDS) for token in tokens):
        return lambda before, _token: not before.piece.endswith(_ENDS)
    if any(token.text.startswith(" ") for token in tokens):
        return lambda before, token: (
            not token.text[:1].isspace() and _has_letters(token) and (_has_letters(before) or before.text == " ")
        )
    return lambda _before, token: token.text.startswith(_CONTINUES)


def _has_letters(token: Token) -> bool:
    """Whether a token spells a part of a word or a number, rather than punctuation."""
    return any(character.isalnum() for character in token.text)


def words_of(tokens: Sequence[Token]) -> tuple[tuple[int, ...], ...]:
    """The places of the tokens that spell each word, in order; special tokens and punctuation stand alone."""
    continues = _continuation_rule(tokens)
    words: list[list[int]] = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        if before is not None and not token.special and not before.special and continues(before, token):
            words[-1].append(place)
        else:
            words.append([place])
    return tuple(tuple(word) for word in words)


def word_text(tokens: Sequence[Token], word: Sequence[int]) -> str:
    """How the word at these places reads."""
    first, *rest = (tokens[place].text for place in word)
    return (first + "".join(text.removeprefix(_CONTINUES) for text in rest)).strip() or first


def merge_words(
    matrix: NDArray[np.float32], queries: Sequence[Sequence[int]], keys: Sequence[Sequence[int]]
) -> NDArray[np.float32]:
    """Attention `[query, key]` over tokens as attention `[query, key]` over words; each row still sums to one.

    Attention to a word is the sum over its pieces, attention from it their mean (Clark et al., 2019, section 4).
    """
    summed = np.stack([matrix[:, list(word)].sum(axis=1) for word in keys], axis=1)
    return np.stack([summed[list(word)].mean(axis=0) for word in queries]).astype(np.float32)
