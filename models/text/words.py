"""Words: tokens merged into words, function words, and figures and addresses that spans must not cut."""

import codecs
import re
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.outputs.attention import Attention
from models.outputs.base import Token
from models.text.characters import BYTE_LEVEL, JOINERS, fallback_byte, is_joint

_CONTINUES = "##"
_ENDS = "</w>"
_SPACE = "Ġ"


def words_of(tokens: Sequence[Token]) -> tuple[tuple[int, ...], ...]:
    """Return the places of the tokens that spell each word, in order; special tokens and punctuation stand alone.

    Marks that belong to the character before them (accents, the joints of emoji) stay with it. WordPiece marks pieces
    that continue a word, the first GPT those that end one; the others begin a word with a space.
    """
    spelt = _spelt(tokens)
    marks_ends = any(token.piece.endswith(_ENDS) for token in tokens)
    marks_spaces = any(text.startswith(" ") or not text for text in spelt)
    words: list[list[int]] = []
    # The last text that is not empty: of a character in several tokens, the first has it all.
    before = ""
    for place, token in enumerate(tokens):
        if marks_ends:
            continues = place > 0 and not tokens[place - 1].piece.endswith(_ENDS)
        elif marks_spaces:
            continues = _goes_on(before, spelt[place])
        else:
            continues = spelt[place].startswith(_CONTINUES)
        if place and continues and not _stands_alone(token) and not _stands_alone(tokens[place - 1]):
            words[-1].append(place)
        else:
            words.append([place])
        before = spelt[place] or before
    return tuple(map(tuple, words))


def word_text(tokens: Sequence[Token], word: Sequence[int]) -> str:
    """Return the text of the word at these places of `tokens`."""
    first, *rest = _spelt([tokens[place] for place in word])
    return (first + "".join(text.removeprefix(_CONTINUES) for text in rest)).strip() or first


def _goes_on(before: str, text: str) -> bool:
    """Return whether `text` continues the word `before` it, in a vocabulary whose words begin with a space."""
    if not text or is_joint(text[0]):
        return True
    if text[0].isspace():
        return False
    if before == " " or before.endswith(tuple(JOINERS)):
        return True
    return _has_letters(text) and bool(before) and (_has_letters(before) or is_joint(before[-1]))


def _spelt(tokens: Sequence[Token]) -> list[str]:
    """The text of each token; if the bytes of a character are in several, the first has it all and the others nothing.

    Byte-level vocabularies (Radford et al., 2019) may split the bytes of accents, emoji and other scripts, and
    SentencePiece spells text in bytes if it has no piece for it.
    """
    texts = [token.text for token in tokens]
    fallback = [fallback_byte(token.piece) for token in tokens]
    if any(byte is not None for byte in fallback):
        return _decoded([b"" if byte is None else bytes([byte]) for byte in fallback], texts)
    if any(not token.special and any(character not in BYTE_LEVEL for character in token.piece) for token in tokens):
        return texts
    parts = [b"" if token.special else bytes(BYTE_LEVEL[each] for each in token.piece) for token in tokens]
    spaced = any(token.piece.startswith(_SPACE) and token.text.startswith(" ") for token in tokens)
    whole = b"".join(parts)
    try:
        # The last character may be unfinished where a model was stopped.
        codecs.getincrementaldecoder("utf-8")().decode(whole)
    except UnicodeDecodeError:
        if not spaced:
            return texts
    return texts if whole.isascii() else _decoded(parts, texts)


def _decoded(parts: Sequence[bytes], texts: Sequence[str]) -> list[str]:
    """Return `texts` with the UTF-8 text of each token's bytes, `parts`, in place of its own, where it has any."""
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
    return token.is_mark or token.is_blank


def _has_letters(text: str) -> bool:
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
    """Return the words of the keys as places of tokens, and each head's weights `[layer, head, word]` on them.

    The weights are those of the query `word`, merged as `merge_words` does: the mean over its pieces, the sum over a
    key's.
    """
    keys = words_of(attention.key_tokens)
    given = attention.weights[:, :, list(word)].mean(axis=2)
    return keys, np.add.reduceat(given, [places[0] for places in keys], axis=-1)


_ENGLISH = """a an the this that these those some any each every no not n't and or but nor so yet if then than as of to
in on at by for with from into onto over under about after before between through during without within up down out
off i you he she it we they me him her us them my your his its our their mine yours who whom whose which what where
when why how is am are was were be been being do does did done have has had having will would shall should can could
may might must there here very too also just only because while until once all both such own same one's 's 't 're 've
'd 'll 'm s t d ll m re ve don didn doesn isn wasn"""
_FRENCH = """le la les un une des du de au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos
leur leurs et ou mais ni donc or car si que qui quoi dont où quand comment pourquoi je tu il elle on nous vous ils elles
me te se lui y en ne pas plus est sont était étaient être suis es sommes êtes sera seront a ai as avons avez ont avait
avoir fait dans sur sous avec sans pour par vers chez entre avant après trop très aussi comme parce puis l d j m t s
n c qu"""
_GERMAN = """der die das den dem des ein eine einen einem einer eines und oder aber denn wenn weil dass ob als wie ich
du er sie es wir ihr mich dich sich uns euch ihm ihn ihnen mein dein sein unser euer kein keine nicht auch nur sehr zu
zum zur in im an am auf aus bei mit nach von vom vor über unter für durch um ist sind war waren bin bist wird werden
wurde hat haben hatte hatten kann was wer wo wann warum"""

ENGLISH = frozenset(_ENGLISH.split())
"""The most frequent function words of English, which every model here reads."""

TRANSLATED_INTO = frozenset(f"{_FRENCH} {_GERMAN}".split())
"""Function words of French and German, the target languages. Some are content words in English: “car”, “die”, “son”."""


def is_content_word(text: str, function_words: frozenset[str] = ENGLISH) -> bool:
    """Return whether the word `text` has a letter or digit and is none of the `function_words`."""
    word = text.strip().removeprefix("##").replace("’", "'").casefold()
    # “n'ai” is made of two function words, “l'animal” of one and of a content word.
    return word not in function_words and any(
        part not in function_words and any(map(str.isalnum, part)) for part in word.split("'")
    )


_CURRENCY = "$€£¥¢₹₩₽₺₪₫₴₦฿"
_SPACES = " \u00a0\u202f\u2009"
_DOMAINS = "com|org|net|edu|gov|int|info|io|eu|uk|de|fr|example"
# No address ends with the punctuation of the sentence that it stands in.
_PATH = r"[^\s<>\"”»]*[^\s<>\"”».,;:!?'’)\]}…]"
_URL = rf"(?:https?://|ftp://|www\.){_PATH}"
# The lookbehind makes a match begin only at the start of a run of letters, so that a long run is scanned once.
_EMAIL = r"(?<![\w.%+-])[\w.%+-]+@[\w-]+(?:\.[\w-]+)+"
_DOMAIN = rf"(?<![\w.-])(?:[\w-]+\.)+(?:{_DOMAINS})\b(?:[/?#]{_PATH})?"
_NUMBER = (
    # A dash after a word, a figure or a bracket is a hyphen or a range: "A-12", "10-12".
    r"(?<![\w.,%)\]])[-+−–±~≈<>≤≥]?"
    rf"(?:[A-Z]{{0,3}}[{_CURRENCY}][{_SPACES}]?[-−]?)?"
    r"(?:\d{4}-\d\d-\d\d(?!\d)|\.?\d+(?:[.,:/'’]\d+|[\u00a0\u202f\u2009]\d{3}(?!\d))*)"
    rf"(?:[{_SPACES}]?(?:[%‰]|°(?:[{_SPACES}]?[CFK]\b)?|[{_CURRENCY}](?!\d)))?"
)
_WHOLE = re.compile("|".join((_URL, _EMAIL, _DOMAIN, _NUMBER)))


def whole_spans(text: str) -> list[tuple[int, int]]:
    """The characters `start` to `end` (exclusive) of each number, e-mail address and URL in `text`, in order."""
    return [match.span() for match in _WHOLE.finditer(text)]


def grown(span: tuple[int, int], whole: list[tuple[int, int]]) -> tuple[int, int]:
    """Return `span` extended to contain each of `whole`, from `whole_spans`, that it begins or ends in."""
    start, end = span
    first = bisect_right(whole, start, key=lambda each: each[0]) - 1
    last = bisect_right(whole, end - 1, key=lambda each: each[0]) - 1
    if first >= 0 and start < whole[first][1]:
        start = whole[first][0]
    if last >= 0 and end < whole[last][1]:
        end = whole[last][1]
    return start, end
