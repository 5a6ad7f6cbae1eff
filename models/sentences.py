"""Where a text's sentences end, for models that were trained on one sentence at a time."""

import re

from models.visible import says_anything

# A full stop, question or exclamation mark (with closing quotes or brackets), then space and something that can begin
# a sentence; or a line break.
_END = re.compile(r"(?P<stop>[.!?…]+[\"'”’»)\]]*)(?=\s+[\"'“‘«(\[¿¡]*[^\W_])|\n+")
_ABBREVIATIONS = frozenset(["mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "approx", "e.g", "i.e", "mt"])
_OF_NUMBERS = frozenset(["no", "nos", "vol", "fig", "p", "pp", "ch"])
"""What is short for something else before a number, and nowhere else."""
_LAST_WORD = re.compile(r"([^\W\d_](?:[^\W\d_]|\.)*)$")


def sentences_of(text: str) -> tuple[tuple[int, int], ...]:
    """The characters `start` to `end` (exclusive) of each sentence, without the spaces around it; none is empty."""
    found, start = [], 0
    for match in _END.finditer(text):
        if match["stop"] is not None and not _ends_a_sentence(text, match.start(), match.end()):
            continue
        found.append((start, match.end()))
        start = match.end()
    found.append((start, len(text)))
    return tuple(
        (first + len(part) - len(part.lstrip()), first + len(part.rstrip()))
        for first, last in found
        if says_anything(part := text[first:last])
    )


def _ends_a_sentence(text: str, stop: int, after: int) -> bool:
    """Whether the mark at `stop` ends a sentence, rather than an abbreviation, an initial or a pause."""
    follows = text[after:].lstrip("\"'“‘«([¿¡ \t\r\n")[:1]
    if follows.islower():
        return False
    if text[stop] != ".":
        return True
    word = _LAST_WORD.search(text[:stop])
    if word is None:
        return True
    if word[1].lower() in _OF_NUMBERS:
        return not follows.isdigit()
    alone = len(word[1]) == 1 and word[1].isupper() and word[1] != "I"
    return not alone and word[1].lower() not in _ABBREVIATIONS
