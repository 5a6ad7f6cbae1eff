"""What code of each name consists of."""

from collections.abc import Callable

from models.kernels.processor import DECODER, ENCODER, HELPING


def functions_of(name: str) -> dict[str, Callable[..., None]]:
    """The functions of the code of this `name`, by the names that they have in it."""
    if name == HELPING:
        from models.kernels.helping import lead, serve

        return {"lead": lead, "serve": serve}
    if name == ENCODER:
        from models.kernels.encoder import share

        return {ENCODER: share}
    from models.kernels.decoder import share

    return {DECODER: share}
