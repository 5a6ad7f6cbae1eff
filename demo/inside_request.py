"""What the tab Inside is asked to show, and the same as the end of an address."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from urllib.parse import urlencode

from models.inside.places import FROM_THE_MODEL

STEP_IN_QUERY = "inside"
"""The name of the step in an address: `?inside=tokens&text=…`."""


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
        """The end of an address that opens this view, from its question mark on."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return "?" + urlencode({STEP_IN_QUERY: named.pop("step"), **named})


def from_query(query: Mapping[str, str], otherwise: InsideRequest) -> InsideRequest | None:
    """The view that an address asks for, what it leaves out as in `otherwise`; none where it names no step."""
    if STEP_IN_QUERY not in query:
        return None
    return InsideRequest(
        query[STEP_IN_QUERY],
        query.get("text", otherwise.text),
        query.get("checkpoint", otherwise.checkpoint),
        *(_number(query.get(name, ""), getattr(otherwise, name)) for name in ("layer", "head", "position")),
    )


def _number(written: str, otherwise: int) -> int:
    """A number of at most six digits as it stands in an address, `otherwise` where there is none."""
    digits = written.removeprefix("-")
    return int(written) if digits.isascii() and digits.isdigit() and len(digits) <= 6 else otherwise
