"""The way from a view of the tab Inside to the numbers of its layers, heads and guesses."""

from dataclasses import replace
from typing import TYPE_CHECKING

from demo.inside import MOST_TOKENS, Inside
from demo.inside_request import InsideRequest
from models.errors import InputError
from models.inside.outputs import Look
from models.registry import REGISTRY, Task

if TYPE_CHECKING:
    from models.tasks.base import AnyTaskModel


def look(inside: Inside, request: InsideRequest, kind: str = "") -> Look:
    """What one forward pass shows of the layer, head and token of `request`; raises `InputError`.

    `kind` is one of the model's kinds of self-attention, the first one where it is empty.
    """

    def looked(model: "AnyTaskModel") -> Look:
        from models.inside.look import look_inside

        return look_inside(model, request.text, request.layer, request.head, request.position, kind)

    return inside.ask(request, looked, request.checkpoint)


def look_at_source(inside: Inside, request: InsideRequest) -> Look:
    """The same on the side of the visitor's own words, which of a translator is the encoder."""
    return look(inside, request, "encoder" if _translates(request) else "")


def look_at_guess(inside: Inside, request: InsideRequest) -> Look:
    """The same on the side of what is guessed, which of a translator is its first word, by the decoder."""
    # The guess is one for all layers and heads, and a decoder may have fewer than the encoder that was chosen from.
    return look(inside, replace(request, layer=0, head=0, position=0) if _translates(request) else request)


def within_reach(request: InsideRequest) -> InsideRequest:
    """The request with the last layer and head that its checkpoint has, where it asks for later ones."""
    from models.inside.parameters import shape_of

    shape = shape_of(REGISTRY[request.checkpoint])
    return replace(request, layer=min(request.layer, shape.layers - 1), head=min(request.head, shape.heads - 1))


def require_drawable(seen: Look) -> Look:
    """What was seen, if its tokens can be drawn; raises `InputError`."""
    if len(seen.tokens) > MOST_TOKENS:
        raise InputError(
            f"That is {len(seen.tokens)} tokens in the pieces of {REGISTRY[seen.checkpoint.name].title}, and at most "
            f"{MOST_TOKENS} are drawn here. Please shorten it.",
            "text",
        )
    return seen


def _translates(request: InsideRequest) -> bool:
    return REGISTRY[request.checkpoint].task is Task.TRANSLATION
