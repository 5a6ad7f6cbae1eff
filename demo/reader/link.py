"""Links to a shared run, and what they say about the view."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from models.explain.aggregation import WAYS

KEY = "shared"
"""The name of a link's key in the page's address."""

_LOOKS_LIKE_A_KEY = r"[A-Za-z0-9_-]{1,64}"
_LONGEST_ADDRESS = 500
_MOST_STEPS = 9_999


@dataclass(frozen=True)
class ReaderSettings:
    """The settings of a reader: layers, heads and steps count from 1; step 0 is the whole text, layer 0 all of them."""

    kind: str = ""
    how: str = "mean"
    layer: int = 0
    head: int = 1
    words: bool = True
    specials: bool = True
    step: int = 0
    part: str = ""

    def as_fragment(self) -> str:
        """The place as the part of an address behind `#`, which browsers keep to themselves."""
        settings = {name: int(value) if isinstance(value, bool) else value for name, value in vars(self).items()}
        for name in ("step", "part"):
            if not settings[name]:
                del settings[name]
        return urlencode(settings)


@dataclass(frozen=True)
class Link:
    """An address taken apart: the key of a run, and the place to open it at."""

    key: str
    place: ReaderSettings


def link_of(address: str) -> Link:
    """The link in an address's query and fragment; what is no setting of the reader there counts as not given."""
    before, _, fragment = address[:_LONGEST_ADDRESS].partition("#")
    given = dict(parse_qsl(fragment))
    plain = ReaderSettings()
    how = given.get("how", plain.how)
    place = ReaderSettings(
        given.get("kind", plain.kind),
        how if how in WAYS else plain.how,
        _number(given.get("layer"), plain.layer),
        _number(given.get("head"), plain.head),
        given.get("words") != "0",
        given.get("specials") != "0",
        _number(given.get("step"), plain.step),
        given.get("part", "") if given.get("part", "") in ("a", "b", "a-b", "b-a") else "",
    )
    key = dict(parse_qsl(before.partition("?")[2])).get(KEY, "")
    return Link(key if re.fullmatch(_LOOKS_LIKE_A_KEY, key) else "", place)


def _number(text: str | None, otherwise: int) -> int:
    """A whole number as links have them."""
    if text is None or not text.isascii() or not text.isdigit() or int(text) > _MOST_STEPS:
        return otherwise
    return int(text)
