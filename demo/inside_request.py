"""What the tab Inside is asked to show, and the same as the end of an address."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from urllib.parse import urlencode

from models.inside.texts import FROM_THE_MODEL

STEP_IN_QUERY = "inside"
"""The name of the step in an address: `?inside=tokens&text=…`."""

_COUNTED_FROM = "from"
"""What layers, heads and tokens count from in an address: 1 as on the page; addresses without it are older, and 0."""

_COUNTED = ("layer", "head", "position")


@dataclass(frozen=True)
class InsideRequest:
    """One step of one text through one checkpoint.

    `layer` and `head` count from 0; `position` is the place of a token from 0. `FROM_THE_MODEL` is where the model
    makes its guess, and numbers below that count from the end.
    """

    step: str
    text: str
    checkpoint: str
    layer: int = 0
    head: int = 0
    position: int = FROM_THE_MODEL

    def to_query(self) -> str:
        """The end of an address that opens this view, from its question mark on; it counts from 1, as the page does."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        counted = {name: named[name] + 1 if named[name] >= 0 else named[name] for name in _COUNTED}
        return "?" + urlencode({STEP_IN_QUERY: named.pop("step"), **named, **counted, _COUNTED_FROM: 1})


def from_query(query: Mapping[str, str], otherwise: InsideRequest) -> InsideRequest | None:
    """The view that an address asks for, what it leaves out as in `otherwise`; none where it names no step."""
    if STEP_IN_QUERY not in query:
        return None
    first = 1 if query.get(_COUNTED_FROM) == "1" else 0
    return InsideRequest(
        query[STEP_IN_QUERY],
        query.get("text", otherwise.text),
        query.get("checkpoint", otherwise.checkpoint),
        *(_from_0(query.get(name, ""), getattr(otherwise, name), first) for name in _COUNTED),
    )


def _from_0(written: str, otherwise: int, first: int) -> int:
    """A place from 0 as an address has it, counted from `first`; `otherwise` where there is none."""
    number = _number(written, otherwise + first if otherwise >= 0 else otherwise)
    return max(0, number - first) if number >= 0 else number


def _number(written: str, otherwise: int) -> int:
    """A number of at most six digits as it stands in an address, `otherwise` where there is none."""
    digits = written.removeprefix("-")
    return int(written) if digits.isascii() and digits.isdigit() and len(digits) <= 6 else otherwise
