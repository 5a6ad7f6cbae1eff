"""Examples to teach with: the ready sets, and examples by their classes, as the form shows them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from demo.theme import ASSETS

READY = "ready"
"""The field of a recorded example that names a ready set in place of its examples."""

SETS = ASSETS / "teach"
TEACH, TEST = "teach", "test"


def ready_set(name: str) -> dict[str, list[list[str]]]:
    """The `examples` of a ready set and those `kept_out`, each a text and its label, as JSON has them.

    A line of its file is a label, a text, and whether it is to teach or to test.
    """
    lines = (SETS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return {
        field: [[text, label] for label, text, use in rows if use == wanted]
        for field, wanted in (("examples", TEACH), ("kept_out", TEST))
    }


def expanded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` with the examples of the ready set that they name, if they name one."""
    return {
        "texts": fields.get("texts", []),
        **(ready_set(fields[READY]) if READY in fields else {}),
        **{name: value for name, value in fields.items() if name != READY},
    }


def by_class(pairs: object) -> dict[str, list[str]]:
    """The texts of each class, in the order in which the pairs name them; anything but a pair is left out.

    A run that was refused may hold anything.
    """
    found: dict[str, list[str]] = {}
    for pair in pairs if isinstance(pairs, list | tuple) else ():
        if isinstance(pair, list | tuple) and len(pair) == 2:
            found.setdefault(str(pair[1]), []).append(str(pair[0]))
    return found


def in_lines(texts: Iterable[str]) -> str:
    """The texts, one on each line, without line breaks of their own."""
    return "\n".join(" ".join(text.split()) for text in texts)


def form_text(inputs: Mapping[str, Any]) -> str:
    """The text of all fields of the form, from top to bottom."""
    parts = [f"{label} {in_lines(texts)}" for label, texts in by_class(inputs.get("examples")).items()]
    return " ".join([*parts, *texts_of(inputs)])


def texts_of(inputs: Mapping[str, Any]) -> Sequence[str]:
    """The texts to judge, as strings; empty where the field is no list."""
    texts = inputs.get("texts")
    return [str(text) for text in texts] if isinstance(texts, list | tuple) else []
