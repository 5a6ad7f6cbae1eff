"""From pieces to words: attention over tokens as attention over the words they spell."""

import codecs
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from models.byte_pieces import BYTE_LEVEL, fallback_byte
from models.characters import JOINERS, is_joint
from models.outputs import Attention, Token

_CONTINUES = "##"
_ENDS = "</w>"
_SPACE = "Ġ"


def words_of(tokens: Sequence[Token]) -> tuple[tuple[int, ...], ...]:
    """The places of the tokens that spell each word, in order; special tokens and punctuation stand alone.

    Marks that belong to the character before them (accents, the joints of emoji) stay with it.
    """
    spelt = _spelt(tokens)
    continues = _continuation_rule(tokens, spelt)
    words: list[list[int]] = []
    for place, token in enumerate(tokens):
        if place and not _stands_alone(token) and not _stands_alone(tokens[place - 1]) and continues(place):
            words[-1].append(place)
        else:
            words.append([place])
    return tuple(tuple(word) for word in words)


def word_text(tokens: Sequence[Token], word: Sequence[int]) -> str:
    """How the word at these places reads."""
    first, *rest = _spelt([tokens[place] for place in word])
    return (first + "".join(text.removeprefix(_CONTINUES) for text in rest)).strip() or first


def _continuation_rule(tokens: Sequence[Token], spelt: Sequence[str]) -> Callable[[int], bool]:
    """Whether the token at a place belongs to the word before it, by the convention that these tokens are spelled in.

    WordPiece marks what continues a word, the first GPT what ends one, and the others begin one with a space.
    """
    if any(token.piece.endswith(_ENDS) for token in tokens):
        return lambda place: not tokens[place - 1].piece.endswith(_ENDS)
    if any(text.startswith(" ") for text in spelt) or "" in spelt:
        return lambda place: _goes_on(next((text for text in reversed(spelt[:place]) if text), ""), spelt[place])
    return lambda place: spelt[place].startswith(_CONTINUES)


def _goes_on(before: str, text: str) -> bool:
    """Whether a text goes on with the word before it, where words begin with a space."""
    if not text or is_joint(text[0]):
        return True
    if text[0].isspace():
        return False
    if before == " " or before.endswith(tuple(JOINERS)):
        return True
    return _has_letters(text) and bool(before) and (_has_letters(before) or is_joint(before[-1]))


def _spelt(tokens: Sequence[Token]) -> list[str]:
    """What each token spells; of a character whose bytes are in several, the first has it all and the others nothing.

    Byte-level vocabularies (Radford et al., 2019) may part the bytes of accents, emoji and other scripts, and
    SentencePiece spells in bytes what it has no piece for.
    """
    texts = [token.text for token in tokens]
    fallback = [fallback_byte(token.piece) for token in tokens]
    if any(byte is not None for byte in fallback):
        return _decoded([[] if byte is None else [byte] for byte in fallback], texts)
    parts = [[] if token.special else [BYTE_LEVEL.get(character) for character in token.piece] for token in tokens]
    if any(None in part for part in parts):
        return texts
    spaced = any(token.piece.startswith(_SPACE) and token.text.startswith(" ") for token in tokens)
    whole = bytes(byte for part in parts for byte in part if byte is not None)
    try:
        # The last character may be unfinished, as the text is where a model was stopped.
        codecs.getincrementaldecoder("utf-8")().decode(whole)
    except UnicodeDecodeError:
        if not spaced:
            return texts
    if whole.isascii():
        return texts
    return _decoded([[byte or 0 for byte in part] for part in parts], texts)


def _decoded(parts: Sequence[Sequence[int]], texts: Sequence[str]) -> list[str]:
    """`texts` with what the bytes of each token spell in place of its own, where it has some."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    spelt = ["" if part else text for part, text in zip(parts, texts, strict=True)]
    begun = 0
    for place, part in enumerate(parts):
        if not part:
            spelt[begun] += decoder.decode(b"", final=True)
        for byte in part:
            if not decoder.getstate()[0]:
                begun = place
            spelt[begun] += decoder.decode(bytes([byte]))
    spelt[begun] += decoder.decode(b"", final=True)
    return spelt


def _stands_alone(token: Token) -> bool:
    """Whether a token is never a part of a word: special tokens are none, but for a piece that is unknown."""
    return token.is_mark or token.is_blank


def _has_letters(text: str) -> bool:
    """Whether a text spells a part of a word or a number, rather than punctuation."""
    return any(character.isalnum() for character in text)


def merge_words(
    matrix: NDArray[np.float32], queries: Sequence[Sequence[int]], keys: Sequence[Sequence[int]]
) -> NDArray[np.float32]:
    """Attention `[query, key]` over tokens as attention `[query, key]` over words; each row still sums to one.

    Attention to a word is the sum over its pieces, attention from it their mean (Clark et al., 2019, section 4).
    """
    summed = np.stack([matrix[:, list(word)].sum(axis=1) for word in keys], axis=1)
    return np.stack([summed[list(word)].mean(axis=0) for word in queries]).astype(np.float32)


def word_rows(attention: Attention, word: Sequence[int]) -> tuple[tuple[tuple[int, ...], ...], NDArray[np.float32]]:
    """The words of the keys as places of tokens, and the weights `[layer, head, word]` that each head gives them.

    They are those of the query `word`, merged as `merge_words` does: the mean over its pieces, the sum over a key's.
    """
    keys = words_of(attention.key_tokens)
    given = attention.weights[:, :, list(word)].mean(axis=2)
    return keys, np.add.reduceat(given, [places[0] for places in keys], axis=-1)
