"""Components of Gradio with a method or two of our own."""

from abc import ABCMeta
from typing import Any, TypeVar

from gradio.components import Component

SomeComponent = TypeVar("SomeComponent", bound=Component)


def component_class(base: type[SomeComponent], name: str, **own: Any) -> type[SomeComponent]:
    """A subclass of `base` that has `own` besides, which the page draws as it draws `base`.

    A class rather than a changed instance, because Gradio makes a component anew from its class whenever an event
    leaves it as it is; made without its metaclass, which would write a file beside this module.
    """
    # A template goes by its base's name, the one that the page knows.
    made: type[SomeComponent] = ABCMeta.__new__(
        type(base), name, (base,), {"is_template": True, "__module__": __name__, **own}
    )
    return made
