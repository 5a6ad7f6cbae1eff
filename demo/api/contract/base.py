"""The fields that all answers have, and the types that several answers share."""

from typing import TypedDict


class CheckpointUsed(TypedDict):
    """The checkpoint that answered: its name, the revision that was loaded, its licence, precision and engine."""

    name: str
    revision: str
    license: str
    precision: str
    engine: str


class Answered(TypedDict):
    """The fields that every answer has.

    `logged` says whether the run outlives a restart of the host: not while the database fails, nor where the caller
    wanted nothing kept.
    """

    run_id: str
    duration_ms: float
    logged: bool
    checkpoint: CheckpointUsed


class TokenScore(TypedDict):
    """A token and the probability that the model gives it."""

    token: str
    score: float
