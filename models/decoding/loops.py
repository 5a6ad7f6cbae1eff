"""A guard against loops: what would say the same few tokens in a row a third time is not drawn.

Paulus et al., 2017, let no three tokens in a row come a second time, as `no_repeat_ngram_size` in transformers does.
In a story names and phrases do come again; a third time is where a small model goes round in circles.
"""

from collections import Counter
from collections.abc import Sequence

LOOP_GUARD = 4
"""The size of runs that are watched where nobody asks for another."""

_TIMES = 2
"""How often the same tokens may stand in a text."""


def barred(written: Sequence[int], size: int, times: int = _TIMES) -> list[int]:
    """The tokens that would end a run of `size` tokens, one or more, which stands `times` in what is `written`."""
    if len(written) < size + times - 1:
        return []
    if size == 1:
        return [token for token, count in Counter(written).items() if count >= times]
    begun = list(written[1 - size :])
    last, followed = begun[-1], Counter[int]()
    place = size - 2
    while True:
        # Most tokens are not the last one, and `index` passes them over quickly.
        try:
            place = written.index(last, place, len(written) - 1) + 1
        except ValueError:
            return [token for token, count in followed.items() if count >= times]
        if list(written[place + 1 - size : place]) == begun:
            followed[written[place]] += 1
