"""Right-to-left text is laid out from the right."""

import unicodedata

_FROM_THE_LEFT, _FROM_THE_RIGHT = ("L",), ("R", "AL")


def direction(text: str) -> str:
    """The value of `dir` for a text: that of its first letter with a direction, as browsers find it for `dir="auto"`.

    Browsers pass over what stands in `<bdi>`, so for words that each have their own it must be found here.
    """
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in _FROM_THE_LEFT + _FROM_THE_RIGHT:
            return "ltr" if kind in _FROM_THE_LEFT else "rtl"
    return "ltr"
