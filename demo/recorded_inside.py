"""What the tab Inside opens on before anything is computed. `python -m demo.recorded_inside` records it anew."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from demo.inside_request import InsideRequest
from demo.recorded import EXAMPLES
from models.inside.outputs import TokenizedText

_PATH = EXAMPLES / "inside.json"
_REQUEST = TypeAdapter(InsideRequest)
_TOKENIZED = TypeAdapter(tuple[TokenizedText, ...])


@dataclass(frozen=True)
class InsideExample:
    """A view to try, under a short label."""

    label: str
    request: InsideRequest


@cache
def inside_examples() -> tuple[InsideExample, ...]:
    """The views to try, the one that the tab opens on first."""
    return tuple(
        InsideExample(each["label"], _REQUEST.validate_python(each["request"])) for each in _read()["examples"]
    )


@cache
def recorded_tokens() -> tuple[TokenizedText, ...]:
    """The first step of the first example."""
    return _TOKENIZED.validate_python(_read()["recorded"])


def record() -> None:
    """Compute the first step of the first example and write it beside the examples."""
    from demo.inside import Inside
    from demo.settings import Settings
    from models.loading.store import ModelStore

    document = _read()
    inside = Inside(Settings(), ModelStore())
    request, _ = inside.checked(_REQUEST.validate_python(document["examples"][0]["request"]))
    document["recorded"] = _TOKENIZED.dump_python(inside.tokens(request), mode="json")
    _PATH.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _read() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_PATH.read_text(encoding="utf-8"))
    return document


if __name__ == "__main__":
    record()
