"""Links to a shared run: its key in the query of the address, and the reader's settings in the fragment."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from models.explain.aggregation import WAYS

KEY = "shared"
"""The query parameter that holds the key of a shared run."""

_LOOKS_LIKE_A_KEY = r"[A-Za-z0-9_-]{1,64}"
_LONGEST_ADDRESS = 500
_MOST_STEPS = 9_999


@dataclass(frozen=True)
class ReaderSettings:
    """The settings of a reader: layers, heads and steps count from 1; step 0 is the whole text, layer 0 all layers."""

    kind: str = ""
    how: str = "mean"
    layer: int = 0
    head: int = 1
    words: bool = True
    specials: bool = True
    step: int = 0
    part: str = ""

    def as_fragment(self) -> str:
        """The settings as the fragment of an address (after `#`), which browsers do not send to the server."""
        settings = {name: int(value) if isinstance(value, bool) else value for name, value in vars(self).items()}
        for name in ("step", "part"):
            if not settings[name]:
                del settings[name]
        return urlencode(settings)


@dataclass(frozen=True)
class Link:
    """A parsed address: the key of a run, and the reader's settings to open it with."""

    key: str
    place: ReaderSettings


def link_of(address: str) -> Link:
    """Parse the query and fragment of an address; an invalid setting gets its default, an invalid key is empty."""
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
    """`text` as a whole number of digits only, up to `_MOST_STEPS`; else `otherwise`."""
    if text is None or not text.isascii() or not text.isdigit() or int(text) > _MOST_STEPS:
        return otherwise
    return int(text)
