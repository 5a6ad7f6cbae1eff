"""From a checkpoint of the registry to a model in memory."""

from collections.abc import Callable

Progress = Callable[[float, str], None]
"""Told how much of a download is done, from 0 to 1, and what is happening in words."""


def silent(_fraction: float, _message: str) -> None:
    """The `Progress` of callers that show none."""
