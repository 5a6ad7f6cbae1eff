"""Whether a text says anything that somebody could see."""

import unicodedata

_UNSEEN = ("Cc", "Cf")
"""Unicode's categories of controls and of marks without a shape, such as spaces of no width."""


def says_anything(text: str) -> bool:
    """Whether there is more to it than spaces and what nobody sees."""
    return any(not each.isspace() and unicodedata.category(each) not in _UNSEEN for each in text)
