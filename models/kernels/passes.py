"""What code of each name consists of."""

from collections.abc import Callable

from models.kernels.processor import ATTENTION, DECODER, ENCODER, HELPING


def functions_of(name: str) -> dict[str, Callable[..., None]]:
    """The functions of the code of this `name`, by the names that they have in it."""
    if name == HELPING:
        from models.kernels.helping import lead, serve

        return {"lead": lead, "serve": serve}
    if name == DECODER:
        from models.kernels.decoder import share

        return {DECODER: share}
    from models.kernels.encoder import share_for_answers, share_for_attention

    return {name: {ENCODER: share_for_answers, ATTENTION: share_for_attention}[name]}
