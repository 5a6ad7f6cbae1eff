"""JSON for what is written with each answer: long answers have thousands of numbers."""

import json
import re

import orjson

_AS_JSON_DOES = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def as_json(value: object) -> str:
    """What `json.dumps` says, without spaces, and with null for a number that is none."""
    try:
        text = orjson.dumps(value, option=_AS_JSON_DOES).decode()
    except TypeError:
        # Half of a character, a whole number of more than 64 bits, or deeper than 254 levels.
        return json.dumps(value)
    return text if text.isascii() else _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
