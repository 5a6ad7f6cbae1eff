"""Whether anyone still waits for what is being computed: whoever computes for long asks before each forward pass.

The answer comes from outside (a page that was closed, a button) and is wanted deep inside a loop, hence a context
variable, as for a deadline, rather than a parameter of every function in between.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from models.errors import Stopped

_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("wanted", default=None)


@contextmanager
def only_while(wanted: Callable[[], bool]) -> Iterator[None]:
    """Stop what this thread computes inside as soon as `wanted` says no, or what is around it does.

    A generator must not yield inside: each of its steps may run in another context.
    """
    around = _wanted.get()
    token = _wanted.set(wanted if around is None else lambda: around() and wanted())
    try:
        yield
    finally:
        _wanted.reset(token)


@contextmanager
def for_others() -> Iterator[None]:
    """Let nothing inside stop because this thread's own visitor has left: others wait for it, too."""
    token = _wanted.set(None)
    try:
        yield
    finally:
        _wanted.reset(token)


def asked_here() -> Callable[[], None]:
    """`go_on` as this thread would ask it, for another thread to ask on its behalf."""
    wanted = _wanted.get()

    def ask() -> None:
        if wanted is not None and not wanted():
            raise Stopped

    return ask


def go_on() -> None:
    """Raise `Stopped` where nobody waits any more."""
    asked_here()()
