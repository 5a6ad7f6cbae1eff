"""Numbers with their sign, e-mail addresses and URLs: what an answer has whole or not at all."""

import re
from bisect import bisect_right

_CURRENCY = "$€£¥¢₹₩₽₺₪₫₴₦฿"
_SPACES = " \u00a0\u202f\u2009"
_DOMAINS = "com|org|net|edu|gov|int|info|io|eu|uk|de|fr|example"
# No address ends with the punctuation of the sentence that it stands in.
_PATH = r"[^\s<>\"”»]*[^\s<>\"”».,;:!?'’)\]}…]"
_URL = rf"(?:https?://|ftp://|www\.){_PATH}"
# The characters before a match are looked at, so that a long run of letters is read once and not from each of them.
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
    """`span` grown to contain each of `whole`, as `whole_spans` gives them, that it begins or ends in."""
    start, end = span
    first = bisect_right(whole, start, key=lambda each: each[0]) - 1
    last = bisect_right(whole, end - 1, key=lambda each: each[0]) - 1
    if first >= 0 and start < whole[first][1]:
        start = whole[first][0]
    if last >= 0 and end < whole[last][1]:
        end = whole[last][1]
    return start, end
