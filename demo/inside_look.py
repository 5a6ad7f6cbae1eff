"""The way from a view of the tab Inside to the numbers of its layers, heads and guesses."""

from typing import TYPE_CHECKING

from demo.inside import Inside
from demo.inside_request import InsideRequest
from models.inside.head_outputs import Look

if TYPE_CHECKING:
    from models.base import AnyTaskModel


def look(inside: Inside, request: InsideRequest, kind: str = "") -> Look:
    """What one forward pass shows of the layer, head and token of `request`; raises `InputError`.

    `kind` is one of the model's kinds of self-attention, the first one where it is empty.
    """

    def looked(model: "AnyTaskModel") -> Look:
        from models.inside.look import look_inside

        return look_inside(model, request.text, request.layer, request.head, request.position, kind)

    return inside.ask(request, looked, request.checkpoint)
